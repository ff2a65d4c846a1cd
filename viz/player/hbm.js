// HBM: the tensors in true proportion, which parts of S were visited, and where the step is.
import { fillTemplate, rectPath, setRect, setText, show, svgNode } from "./svg.js";
import { KIND, TENSOR, TENSOR_NAMES, isResident, isSkipped, isVisited, kindOf, pairsDone } from "./walk.js";
import { tileRect } from "./layout.js";

const STRIPS = [TENSOR.QUERY, TENSOR.KEY, TENSOR.VALUE, TENSOR.OUTPUT, TENSOR.STATISTICS];
const SEAM = 3; // px: thinner tiles are drawn without seams between them
let patterns = 0;

export function createHbm(svg, walk, layout, texts) {
  const { hbm, tensors } = layout;
  const group = svgNode(svg, "g", { class: "hbm" });
  svgNode(group, "rect", { ...hbm, rx: 6, class: "surface" });
  svgNode(group, "text", { x: hbm.x + 14, y: hbm.y + 22, class: "name" }, "HBM");
  const place = svgNode(group, "text", { x: hbm.x + hbm.width - 14, y: hbm.y + 22, class: "note end" });
  const foot = walk.storesScores ? texts.scoresStored : texts.scoresNeverStored;
  svgNode(group, "text", { x: hbm.x + hbm.width / 2, y: hbm.y + hbm.height - 11, class: "note middle" }, foot);

  const maps = (walk.storesScores ? [0, 1] : [0]).map((map) => createMap(group, walk, tensors, map));
  const strips = STRIPS.filter((tensor) => tensor !== TENSOR.STATISTICS || walk.storesStatistics).map((tensor) =>
    createStrip(group, walk, tensors, tensor),
  );
  drawLabels(group, walk, tensors);

  return {
    draw(position) {
      maps.forEach((map) => map.draw(position));
      strips.forEach((strip) => strip.draw(position));
      setText(place, placeText(walk, position, texts));
    },
  };
}

function placeText(walk, position, texts) {
  if (position === 0) return "";
  const [q, k] = [walk.queryTile[position - 1], walk.keyTile[position - 1]];
  const template = q < 0 ? texts.atKey : k < 0 ? texts.atQuery : texts.atPair;
  return fillTemplate(template, { q, k });
}

function drawLabels(group, walk, tensors) {
  const label = (tensor, x, y, text, anchor = "end") =>
    svgNode(group, "text", { x, y, class: `letter ${TENSOR_NAMES[tensor]} ${anchor}` }, text);
  const middle = (rect) => rect.y + rect.height / 2 + 5;
  const at = (tensor) => tensors[tensor];
  label(TENSOR.QUERY, at(TENSOR.QUERY).x - 7, middle(at(TENSOR.QUERY)), "Q");
  label(TENSOR.KEY, at(TENSOR.KEY).x - 8, middle(at(TENSOR.KEY)), "Kᵀ");
  label(TENSOR.VALUE, at(TENSOR.VALUE).x - 8, middle(at(TENSOR.VALUE)), "V");
  const output = at(TENSOR.OUTPUT);
  label(TENSOR.OUTPUT, output.x + output.width / 2, output.y - 7, "O", "middle");
  if (walk.storesStatistics) {
    const statistics = at(TENSOR.STATISTICS);
    const name = walk.statisticsPerRow === 2 ? "m, ℓ" : "L";
    label(TENSOR.STATISTICS, statistics.x + statistics.width / 2, statistics.y + statistics.height + 16, name, "middle");
  }
  if (walk.storesScores) {
    const [scores, weights] = [at(TENSOR.SCORES), at(TENSOR.PROBABILITIES)];
    label(TENSOR.SCORES, scores.x + scores.width / 2, scores.y + scores.height + 17, "S = QKᵀ", "middle");
    label(TENSOR.SCORES, weights.x + weights.width / 2, weights.y - 8, "P", "middle");
  }
}

/** Q, K, V pale with the tile in use in full colour; O and statistics hollow until they are written. */
function createStrip(group, walk, tensors, tensor) {
  const name = TENSOR_NAMES[tensor];
  const written = walk.writtenAt[tensor];
  const alongKeys = tensor === TENSOR.KEY || tensor === TENSOR.VALUE;
  const tiles = alongKeys ? walk.keyTiles : walk.queryTiles;
  const rectOf = (tile) => tileRect(walk, tensors, tensor, tile, tile);
  const seamless = tileLength(rectOf(0), alongKeys) < SEAM;
  const inset = (rect) => (seamless ? rect : { ...rect, ...shrunk(rect, alongKeys) });

  const path = (chosen) => joinedPath(chosen, rectOf, inset);
  const all = Array.from({ length: tiles }, (_, tile) => tile);
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
      show(mark, tile >= 0);
      if (tile >= 0) setRect(mark, atLeast(rectOf(tile), 4));
    },
  };
}

const tileLength = (rect, alongKeys) => (alongKeys ? rect.width : rect.height);
const shrunk = (rect, alongKeys) =>
  alongKeys ? { x: rect.x + 0.5, width: rect.width - 1 } : { y: rect.y + 0.5, height: rect.height - 1 };
const joinedPath = (tiles, rectOf, inset) => tiles.map((tile) => rectPath(inset(rectOf(tile)))).join("");

function atLeast(rect, size) {
  const grow = (length) => Math.max(size - length, 0) / 2;
  const [dx, dy] = [grow(rect.width), grow(rect.height)];
  return { x: rect.x - dx, y: rect.y - dy, width: rect.width + 2 * dx, height: rect.height + 2 * dy };
}

function markedTile(walk, position, tensor) {
  const index = position - 1;
  if (!isResident(walk, index, tensor)) return -1;
  const slot = walk.slots.find((each) => each.tensor === tensor);
  return slot.keepsAll ? walk.keyTile[index] : walk.tileInSlot[tensor][index];
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
  if (!walk.storesScores) return walk.keyTile[index] >= 0;
  if (map === 0) return isResident(walk, index, TENSOR.SCORES) || kindOf(walk, index) === KIND.SOFTMAX;
  return isResident(walk, index, TENSOR.PROBABILITIES);
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

/** What the causal mask hides: skipped cells lose their grid, the rest of the mask is hatched over its cells. */
function drawMask(group, walk, tensors, tensor, hatch) {
  const whole = tensors[tensor];
  const skipped = regionPath(walk, tensors, tensor, (q, k) => isSkipped(walk, q, k));
  if (skipped) svgNode(group, "path", { d: skipped, class: "skipped" });
  const x = (key) => whole.x + (Math.min(Math.max(key, 0), walk.keyLen) / walk.keyLen) * whole.width;
  const y = (query) => whole.y + (Math.min(Math.max(query, 0), walk.queryLen) / walk.queryLen) * whole.height;
  const shift = walk.keyLen - walk.queryLen; // the last query sees the last key
  const from = Math.max(0, -shift);
  const points = [[x(walk.keyLen), y(0)], [x(walk.keyLen), y(walk.queryLen)], [x(from + shift), y(from)]];
  if (shift < 0) points.push([x(0), y(0)]);
  else points.push([x(shift), y(0)]);
  const d = points.map(([px, py], index) => `${index ? "L" : "M"}${px} ${py}`).join("") + "z";
  if (!walk.storesScores) svgNode(group, "path", { d, class: "masked" });
  svgNode(group, "path", { d, fill: `url(#${hatch})` });
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
  const y = (q) => whole.y + (Math.min(q * walk.queryRows, walk.queryLen) / walk.queryLen) * whole.height;
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
