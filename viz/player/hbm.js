// HBM: the tensors in true proportion, which parts of S were visited, and where the step is.
import { fillTemplate, rectPath, setRect, setText, show, svgNode } from "./svg.js";
import {
  KIND, TENSOR, TENSOR_LETTERS, TENSOR_NAMES, alongKeys, isOnPair, isPartial, isResident, isSkipped, isVisited,
  kindOf, pairsDone, tilesOf,
} from "./walk.js";
import { createWrongRows } from "./broken.js";
import { sidesOf, tileRect } from "./layout.js";

const SEAM = 3; // px: thinner tiles are drawn without seams between them
const HEAD_SHOWN = 6; // px: the border of a thinner head is not drawn
let patterns = 0;

export function createHbm(svg, walk, layout, texts) {
  const { hbm, tensors } = layout;
  const group = svgNode(svg, "g", { class: "hbm" });
  svgNode(group, "rect", { ...hbm, rx: 6, class: "surface" });
  svgNode(group, "text", { x: hbm.x + 14, y: hbm.y + 22, class: "name" }, "HBM");
  const place = svgNode(group, "text", { x: hbm.x + hbm.width - 14, y: hbm.y + 22, class: "note end" });
  const foot = walk.storesScores ? texts.scoresStored : texts.scoresNeverStored;
  svgNode(group, "text", { x: hbm.x + hbm.width / 2, y: hbm.y + hbm.height - 11, class: "note middle" }, foot);

  if (tensors.slim) {
    svgNode(group, "text", { x: hbm.x + hbm.width / 2, y: hbm.y + hbm.height - 29, class: "note middle" }, texts.slim);
  }

  const maps = (walk.storesScores ? [0, 1] : [0]).map((map) => createMap(group, walk, tensors, map));
  const strips = Object.values(sidesOf(walk)).flat().map((tensor) => createStrip(group, walk, tensors, tensor));
  const wrongRows = createWrongRows(group, walk, tensors);
  drawLabels(group, walk, tensors);

  return {
    draw(position) {
      maps.forEach((map) => map.draw(position));
      strips.forEach((strip) => strip.draw(position));
      wrongRows.draw(position);
      setText(place, placeText(walk, position, texts));
    },
  };
}

function placeText(walk, position, texts) {
  if (position === 0) return "";
  const index = position - 1;
  const [q, k] = [walk.queryTile[index], walk.keyTile[index]];
  const ofSplit = k >= 0 && q >= 0 && !isOnPair(walk, index);
  const template = ofSplit ? texts.atSplit : q < 0 ? texts.atKey : k < 0 ? texts.atQuery : texts.atPair;
  const head = walk.heads > 1 && q >= 0 ? fillTemplate(texts.atHead, { head: Math.floor(q / walk.tilesInHead) }) : "";
  return head + fillTemplate(template, { q, k });
}

function drawLabels(group, walk, tensors) {
  const label = (tensor, x, y, anchor, text = nameInHbm(walk, tensor)) =>
    svgNode(group, "text", { x, y, class: `letter ${TENSOR_NAMES[tensor]} ${anchor}` }, text);
  const { left, right, above, below } = sidesOf(walk);
  for (const tensor of [...above, ...below]) label(tensor, tensors[tensor].x - 8, tensors[tensor].y + tensors[tensor].height / 2 + 5, "end");
  for (const tensor of left) {
    const { x, y, width, height } = tensors[tensor];
    if (left.length === 1) label(tensor, x - 7, y + height / 2 + 5, "end");
    else label(tensor, x + width / 2, tensor === TENSOR.QUERY_GRADIENT_SUM ? y + height + 15 : y - 6, "middle");
  }
  for (const tensor of right) {
    const { x, y, width, height } = tensors[tensor];
    const isNumber = tensor === TENSOR.STATISTICS || tensor === TENSOR.DELTA;
    label(tensor, x + width / 2, isNumber ? y + height + 16 : y - 7, "middle");
  }
  if (walk.storesScores) {
    const [scores, weights] = [tensors[TENSOR.SCORES], tensors[TENSOR.PROBABILITIES]];
    label(TENSOR.SCORES, scores.x + scores.width / 2, scores.y + scores.height + 17, "middle", "S = QKᵀ");
    label(TENSOR.SCORES, weights.x + weights.width / 2, weights.y - 8, "middle", "P");
  }
}

function nameInHbm(walk, tensor) {
  if (tensor === TENSOR.STATISTICS) return walk.statisticsPerRow === 2 ? "m, ℓ" : "L";
  const above = tensor === TENSOR.KEY || tensor === TENSOR.KEY_GRADIENT;
  return TENSOR_LETTERS[tensor] + (above ? "ᵀ" : "");
}

/** What is read alone is pale with the tile in use in full colour; what is written is hollow until then. */
function createStrip(group, walk, tensors, tensor) {
  const name = TENSOR_NAMES[tensor];
  const written = walk.writtenAt[tensor];
  const [across, down] = tilesOf(walk, tensor);
  const rectOf = (tile) => tileRect(walk, tensors, tensor, down > 1 ? Math.floor(tile / across) : -1, across > 1 ? tile % across : -1);
  const first = rectOf(0);
  const seam = { x: across > 1 && first.width >= SEAM, y: down > 1 && first.height >= SEAM };
  const path = (chosen) => chosen.map((tile) => rectPath(shrunk(rectOf(tile), seam))).join("");
  const all = Array.from({ length: across * down }, (_, tile) => tile);
  svgNode(group, "path", { class: `strip ${written ? "hollow" : "pale"} ${name}`, d: path(all) });
  const filled = svgNode(group, "path", { class: `strip filled ${name}` });
  const mark = svgNode(group, "rect", { class: `tile ${name}`, rx: 2 });
  let drawn = -1;
  return {
    draw(position) {
      if (written) {
        const done = all.filter((tile) => written[tile] < position);
        if (done.length !== drawn) filled.setAttribute("d", path(done));
        drawn = done.length;
      }
      const tile = markedTile(walk, position, tensor);
      show(mark, tile !== null);
      if (tile) setRect(mark, atLeast(tileRect(walk, tensors, tensor, ...tile), 4));
    },
  };
}

function shrunk(rect, seam) {
  const [dx, dy] = [seam.x ? 0.5 : 0, seam.y ? 0.5 : 0];
  return { x: rect.x + dx, y: rect.y + dy, width: rect.width - 2 * dx, height: rect.height - 2 * dy };
}

function atLeast(rect, size) {
  const grow = (length) => Math.max(size - length, 0) / 2;
  const [dx, dy] = [grow(rect.width), grow(rect.height)];
  return { x: rect.x - dx, y: rect.y - dy, width: rect.width + 2 * dx, height: rect.height + 2 * dy };
}

/** The tile of a strip that is on the chip: [query tile, key tile]; null where none is. */
function markedTile(walk, position, tensor) {
  const index = position - 1;
  if (!isResident(walk, index, tensor)) return null;
  const slot = walk.slots.find((each) => each.tensor === tensor);
  const tile = slot.keepsAll ? walk.keyTile[index] : walk.tileInSlot[tensor][index];
  if (tile < 0) return null;
  if (isPartial(tensor)) return [walk.queryTile[index], tile];
  return alongKeys(tensor) ? [-1, tile] : [tile, -1];
}

/** The S map, or the P map of an algorithm that stores P: cells to come, visited, current, masked, skipped. */
function createMap(group, walk, tensors, map) {
  const tensor = TENSOR.SCORES + map;
  const whole = tensors[tensor];
  const ids = { todo: `fa-todo-${patterns}`, seen: `fa-seen-${patterns}`, hatch: `fa-hatch-${patterns++}` };
  const cell = tileRect(walk, tensors, tensor, 0, 0);
  cellPattern(group, ids.todo, cell, "cell-todo");
  cellPattern(group, ids.seen, cell, "cell-seen");
  hatchPattern(group, ids.hatch);

  if (!walk.storesScores) {
    svgNode(group, "rect", { ...grown(whole, 3.5), rx: 3, class: "never-stored" });
  }
  const visitable = regionPath(walk, tensors, tensor, (q, k) => !isSkipped(walk, q, k));
  svgNode(group, "path", { d: visitable, fill: `url(#${ids.todo})` });
  const seen = svgNode(group, "path", { fill: `url(#${ids.seen})` });
  const current = svgNode(group, "rect", { class: "cell-current" });
  if (walk.causal) drawMask(group, walk, tensors, tensor, ids.hatch);
  const frontier = svgNode(group, "path", { class: "frontier" });
  if (whole.height / walk.heads >= HEAD_SHOWN) drawHeads(group, walk, whole);
  const edge = svgNode(group, "rect", { class: "cell-edge", rx: 1 });
  if (walk.storesScores) svgNode(group, "rect", { ...whole, class: "map-edge" });

  let drawn = -1;
  return {
    draw(position) {
      const visited = (q, k) => isVisited(walk, map, q, k, position);
      const count = pairsDone(walk, map, position);
      if (count !== drawn) {
        seen.setAttribute("d", regionPath(walk, tensors, tensor, visited));
        frontier.setAttribute("d", frontierPath(walk, tensors, tensor, visited));
        drawn = count;
      }
      const index = position - 1;
      const here = index >= 0 && isHere(walk, index, map);
      show(current, here);
      show(edge, here);
      if (here) {
        const rect = tileRect(walk, tensors, tensor, walk.queryTile[index], walk.keyTile[index]);
        setRect(current, rect);
        setRect(edge, atLeast(rect, 5));
      }
    },
  };
}

/** Whether the step works on a cell of this map; in a row-wise softmax, on a whole row of both. */
function isHere(walk, index, map) {
  if (walk.queryTile[index] < 0) return false;
  if (!walk.storesScores) return isOnPair(walk, index);
  if (map === 0) return isResident(walk, index, TENSOR.SCORES) || kindOf(walk, index) === KIND.SOFTMAX;
  return isResident(walk, index, TENSOR.PROBABILITIES);
}

/** Lines between the heads that share K and V. */
function drawHeads(group, walk, whole) {
  const lines = Array.from({ length: walk.heads - 1 }, (_, head) => whole.y + ((head + 1) / walk.heads) * whole.height);
  svgNode(group, "path", { class: "head-line", d: lines.map((y) => `M${whole.x - 6} ${y}h${whole.width + 12}`).join("") });
}

function grown(rect, by) {
  return { x: rect.x - by, y: rect.y - by, width: rect.width + 2 * by, height: rect.height + 2 * by };
}

function cellPattern(group, id, cell, className) {
  const pattern = svgNode(group, "pattern", { id, patternUnits: "userSpaceOnUse", ...cell });
  const seam = Math.min(cell.width, cell.height) < SEAM ? 0 : 0.5;
  svgNode(pattern, "rect", { width: cell.width, height: cell.height, class: `${className} seam` });
  setRect(svgNode(pattern, "rect", { class: className }), {
    x: seam, y: seam, width: cell.width - 2 * seam, height: cell.height - 2 * seam,
  });
}

function hatchPattern(group, id) {
  const pattern = svgNode(group, "pattern", {
    id, patternUnits: "userSpaceOnUse", width: 6, height: 6, patternTransform: "rotate(45)",
  });
  svgNode(pattern, "rect", { width: 1.2, height: 6, class: "hatch" });
}

/** What the mask hides: skipped cells lose their grid, the rest of the mask is hatched over its cells. */
function drawMask(group, walk, tensors, tensor, hatch) {
  const skipped = regionPath(walk, tensors, tensor, (q, k) => isSkipped(walk, q, k));
  if (skipped) svgNode(group, "path", { d: skipped, class: "skipped" });
  const heads = Array.from({ length: walk.heads }, (_, head) => maskOfHead(walk, tensors[tensor], head));
  const d = heads.join("");
  if (!walk.storesScores) svgNode(group, "path", { d, class: "masked" });
  svgNode(group, "path", { d, fill: `url(#${hatch})` });
}

function maskOfHead(walk, whole, head) {
  const x = (key) => whole.x + (Math.min(Math.max(key, 0), walk.keyLen) / walk.keyLen) * whole.width;
  const y = (query) => {
    const row = head * walk.queryLen + Math.min(Math.max(query, 0), walk.queryLen);
    return whole.y + (row / walk.rowCount) * whole.height;
  };
  const shift = walk.keyLen - walk.queryLen; // the last query sees the last key
  const from = Math.max(0, -shift);
  const points = [[x(walk.keyLen), y(0)], [x(walk.keyLen), y(walk.queryLen)], [x(from + shift), y(from)]];
  if (shift < 0) points.push([x(0), y(0)]);
  else points.push([x(shift), y(0)]);
  const corners = walk.window === null ? [points] : [points, windowPoints(walk, shift).map(([key, query]) => [x(key), y(query)])];
  return corners.map((each) => each.map(([px, py], index) => `${index ? "L" : "M"}${px} ${py}`).join("") + "z").join("");
}

/** Corners, as key and query, of what the window has passed by. */
function windowPoints(walk, shift) {
  const from = Math.min(Math.max(walk.window - shift, 0), walk.queryLen);
  return [[0, from], [from + shift - walk.window, from], [walk.keyLen - walk.window, walk.queryLen], [0, walk.queryLen]];
}

/** Cells that satisfy `inside`, as one path of runs along the rows. */
function regionPath(walk, tensors, tensor, inside) {
  let path = "";
  for (let q = 0; q < walk.queryTiles; q++) {
    for (let k = 0; k < walk.keyTiles; k++) {
      if (!inside(q, k)) continue;
      const first = tileRect(walk, tensors, tensor, q, k);
      while (k + 1 < walk.keyTiles && inside(q, k + 1)) k++;
      const last = tileRect(walk, tensors, tensor, q, k);
      path += rectPath({ ...first, width: last.x + last.width - first.x });
    }
  }
  return path;
}

/** Border between visited cells and the rest, without lines inside. */
function frontierPath(walk, tensors, tensor, visited) {
  const at = (q, k) => q >= 0 && k >= 0 && q < walk.queryTiles && k < walk.keyTiles && visited(q, k);
  const whole = tensors[tensor];
  const x = (k) => whole.x + (Math.min(k * walk.keyRows, walk.keyLen) / walk.keyLen) * whole.width;
  const y = (q) => (q < walk.queryTiles ? tileRect(walk, tensors, tensor, q, 0).y : whole.y + whole.height);
  let path = "";
  for (let q = 0; q <= walk.queryTiles; q++) {
    for (let k = 0; k < walk.keyTiles; k++) {
      if (at(q - 1, k) === at(q, k)) continue;
      const start = k;
      while (k + 1 < walk.keyTiles && at(q - 1, k + 1) !== at(q, k + 1)) k++;
      path += `M${x(start)} ${y(q)}H${x(k + 1)}`;
    }
  }
  for (let k = 0; k <= walk.keyTiles; k++) {
    for (let q = 0; q < walk.queryTiles; q++) {
      if (at(q, k - 1) === at(q, k)) continue;
      const start = q;
      while (q + 1 < walk.queryTiles && at(q + 1, k - 1) !== at(q + 1, k)) q++;
      path += `M${x(k)} ${y(start)}V${y(q + 1)}`;
    }
  }
  return path;
}
