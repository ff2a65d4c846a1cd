// The chip: shared memory and registers with what is resident, how full they are, and the statistics of a few rows.
import { fillTemplate, setAll, setRect, setText, show, subscript, svgNode } from "./svg.js";
import {
  KIND, TENSOR, TENSOR_LETTERS, TENSOR_NAMES, hasNumbers, heldInSlot, isMove, isPair, isResident, kindOf, rowsOfTile,
  slotOwner, tensorOf,
} from "./walk.js";
import { layoutChip } from "./slots.js";

export function createChip(svg, walk, layout, texts) {
  const { chip, narrow } = layout;
  const places = layoutChip(walk, chip, narrow);
  const group = svgNode(svg, "g", { class: "chip" });
  svgNode(group, "rect", { ...chip, rx: 6, class: "surface" });
  svgNode(group, "text", { x: places.header.x, y: places.header.y, class: "name" }, texts.onChip);
  const status = svgNode(group, "text", { x: places.header.right, y: places.header.y, class: "note end" });
  const gauges = places.compartments.map((place, memory) => createGauge(group, walk, place, memory, texts, narrow));
  const slots = Object.keys(places.slots)
    .map(Number)
    .filter((tensor) => slotOwner(walk, tensor) === tensor)
    .map((tensor) => createSlot(group, walk, places.slots[tensor], tensor));
  const table = createFoot(group, walk, places.table, texts, narrow);

  return {
    slotRect: (tensor) => places.slots[tensor],
    draw(position, settled) {
      gauges.forEach((gauge) => gauge.draw(position));
      slots.forEach((slot) => slot.draw(position, settled));
      table.draw(position);
      const arithmetic = position > 0 && !isMove(walk, position - 1);
      if (!narrow) setText(status, arithmetic ? texts.nothingMoves : texts.oneBlock);
    },
  };
}

/** m, l and rescale where a walk changes them, else why it has none. */
function createFoot(group, walk, place, texts, narrow) {
  if (walk.updates) return createTable(group, walk, place, texts, narrow);
  if (!place || narrow) return { draw() {} };
  return createNote(group, place, walk.storesScores ? texts.simplified : texts.recomputed);
}

/** Label of a tile on the chip: Q₉; tiles of a pair stand alone, since the map says where. */
export function tileLabel(walk, index, tensor) {
  if (tensor === TENSOR.STATISTICS) return statisticsName(walk, index);
  const letter = TENSOR_LETTERS[tensor];
  if (isPair(tensor) || hasNumbers(tensor)) return letter;
  return letter + subscript(walk.tileInSlot[tensor][index]);
}

function statisticsName(walk, index) {
  const closed = walk.statisticsPerRow === 1 && (isMove(walk, index) || !walk.updates);
  return closed && tensorOf(walk, index) === TENSOR.STATISTICS ? "L" : walk.updates || walk.statisticsPerRow === 2 ? "mℓ" : "L";
}

/** What stands in a slot: `S→P` while one tensor becomes the other. */
function slotLabel(walk, index, owner, held) {
  const made = tensorOf(walk, index);
  const becomes = made === held && held !== owner && !isMove(walk, index);
  if (becomes) return `${TENSOR_LETTERS[owner]}→${TENSOR_LETTERS[held]}`;
  return keptLabel(walk, index, held) ?? tileLabel(walk, index, held);
}

/** A slot that keeps all its tiles says up to which: K₀₋₅. */
function keptLabel(walk, index, tensor) {
  const slot = walk.slots.find((each) => each.tensor === tensor);
  if (!slot.keepsAll || isPair(tensor)) return null;
  const tile = walk.tileInSlot[tensor][index];
  return TENSOR_LETTERS[tensor] + (tile > 0 ? `₀₋${subscript(tile)}` : "₀");
}

function createSlot(group, walk, rect, tensor) {
  const name = TENSOR_NAMES[tensor];
  const empty = svgNode(group, "rect", { class: "slot-empty", rx: 3 });
  const ring = svgNode(group, "rect", { class: "slot-ring", rx: 5 });
  const tile = svgNode(group, "rect", { class: `tile ${name}`, rx: 3 });
  const label = svgNode(group, "text", {
    x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 + 5, class: "tile-label middle",
  });
  [empty, tile].forEach((node) => setRect(node, rect));
  setRect(ring, { x: rect.x - 4, y: rect.y - 4, width: rect.width + 8, height: rect.height + 8 });
  const named = (index) => slotOwner(walk, tensorOf(walk, index)) === tensor;

  return {
    draw(position, settled) {
      const index = position - 1;
      const held = heldInSlot(walk, index, tensor);
      const holds = held >= 0;
      const travels = holds && isMove(walk, index) && named(index);
      const arrives = holds && !settled && isMove(walk, index - 1) && kindOf(walk, index - 1) === KIND.LOAD
        && named(index - 1) && !keepsMany(walk, index, tensor);
      const outline = (travels || arrives) && !(travels && keepsMany(walk, index, tensor));
      show(tile, holds);
      show(empty, !holds);
      setAll(tile, { class: `tile ${name}${outline ? " outline" : ""}` });
      setAll(label, { class: `tile-label middle ${holds ? (outline ? `${name}-text` : name) : "faint"}` });
      setText(label, holds ? slotLabel(walk, index, tensor, held) : emptyLabel(walk, tensor));
      label.style.fontSize = fitting(label.textContent, rect.width);
      show(ring, holds && !isMove(walk, index) && worksOn(walk, index, tensor));
    },
  };
}

/** A smaller label where the slot has no room for the usual one. */
function fitting(text, width) {
  const usual = 15;
  return `${Math.min(usual, Math.max(11, (width - 4) / (0.62 * text.length)))}px`;
}

function emptyLabel(walk, tensor) {
  if (tensor !== TENSOR.STATISTICS) return TENSOR_LETTERS[tensor];
  return walk.updates || walk.statisticsPerRow === 2 ? "mℓ" : "L";
}

function keepsMany(walk, index, tensor) {
  const slot = walk.slots.find((each) => each.tensor === tensor);
  return slot.keepsAll && walk.keyTile[index] > 0;
}

/** The slots that an arithmetic step changes. */
function worksOn(walk, index, tensor) {
  const kind = kindOf(walk, index);
  const statistics = kind === KIND.SOFTMAX || kind === KIND.MERGE;
  return slotOwner(walk, tensorOf(walk, index)) === tensor || (statistics && tensor === TENSOR.STATISTICS);
}

function createGauge(group, walk, place, memory, texts, narrow) {
  const limit = memory === 0 ? walk.sharedLimit : walk.registerLimit;
  const limitText = memory === 0 ? walk.sharedLimitText : walk.registerLimitText;
  svgNode(group, "text", { ...place.title, class: "compartment" }, memory === 0 ? texts.shared : texts.registers);
  svgNode(group, "rect", { ...place.gauge, rx: 3, class: "gauge" });
  const bar = svgNode(group, "rect", { ...place.gauge, rx: 3, class: "gauge-used" });
  const used = svgNode(group, "text", { x: place.used.x, y: place.used.y, class: "note" });
  const limitNode = svgNode(group, "text", {
    x: place.limit.x, y: place.limit.y, class: `note ${place.limit.anchor === "start" ? "" : "end"}`,
  });
  if (place.divider) {
    svgNode(group, "path", { d: `M${place.divider.x} ${place.divider.y}h${place.divider.width}`, class: "divider" });
  }
  const within = fillTemplate(memory === 0 ? texts.ofBlock : texts.ofSm, { limit: limitText });
  return {
    draw(position) {
      const [, ...held] = position > 0 ? walk.sizes[walk.size[position - 1]] : [0, 0, 0, "0 B", "0 B"];
      const bytes = held[memory];
      const over = bytes > limit;
      const share = Math.min(bytes / limit, 1.06);
      setAll(bar, { width: share * place.gauge.width });
      setAll(bar, { class: `gauge-used${over ? " over" : ""}` });
      setText(used, over && !narrow ? fillTemplate(texts.needs, { used: held[2 + memory] }) : held[2 + memory]);
      setAll(used, { class: `note${over ? " over" : " strong"}` });
      setText(limitNode, over && !narrow ? fillTemplate(memory === 0 ? texts.blockGets : texts.smHas, { limit: limitText }) : within);
    },
  };
}

function createNote(group, place, text) {
  const frame = svgNode(group, "foreignObject", { x: place.x, y: place.y + 8, width: place.width, height: place.height - 8 });
  const note = document.createElement("p");
  note.className = "chip-note";
  note.textContent = text;
  frame.append(note);
  return { draw() {} };
}

/** Running maximum, sum and rescale of the first rows of the query tile that the step works on. */
function createTable(group, walk, place, texts, narrow) {
  if (!walk.replayable) return createNote(group, place, texts.notReplayed);
  const rows = narrow ? 1 : walk.shownRows;
  const columns = narrow ? null : [0, 0.45, 0.7, 1].map((share) => place.x + share * place.width);
  const cells = narrow ? narrowCells(group, place) : wideCells(group, place, columns, rows, texts);
  const more = narrow ? null : svgNode(group, "text", { x: place.x, y: place.y + 44 + rows * 21, class: "note" });
  return {
    draw(position) {
      const index = position - 1;
      const query = position > 0 ? walk.queryTile[index] : -1;
      const [first, last] = query >= 0 ? rowsOfTile(walk, query) : [0, 0];
      for (let row = 0; row < rows; row++) {
        const inTile = row < last - first;
        const number = inTile ? String(first + row) : "–";
        const figures = inTile ? rowTexts(walk, index, row) : ["–", "–", "–"];
        [narrow ? `${texts.row} ${number}` : number, ...figures].forEach((text, column) => setText(cells[row][column], text));
      }
      if (more) {
        setText(more, last - first > rows ? fillTemplate(texts.moreRows, { rows: last - first - rows }) : "");
      }
    },
  };
}

/** m, l and the rescale factor, which belongs to the tile pair of this step alone. */
function rowTexts(walk, index, row) {
  const softmax = walk.rowsOfStep[index];
  if (softmax < 0 || walk.rows.length === 0 || !isResident(walk, index, TENSOR.STATISTICS)) return ["–", "–", "–"];
  const [max, total, rescale] = walk.rows.subarray((softmax * walk.shownRows + row) * 3);
  const samePair = walk.keyTile[walk.softmaxSteps[softmax]] === walk.keyTile[index];
  return [signed(max), sum(total), samePair ? signed(rescale) : "–"];
}

function wideCells(group, place, columns, rows, texts) {
  [texts.row, "m", "ℓ", texts.rescale].forEach((text, column) =>
    svgNode(group, "text", { x: columns[column], y: place.y + 22, class: `note strong ${column ? "end" : ""}` }, text),
  );
  return Array.from({ length: rows }, (_, row) =>
    columns.map((x, column) =>
      svgNode(group, "text", { x, y: place.y + 44 + row * 21, class: `figure ${column ? "end" : ""}` }),
    ),
  );
}

function narrowCells(group, place) {
  const right = place.x + place.width;
  const title = svgNode(group, "text", { x: right, y: place.y - 4, class: "note end" });
  const numbers = ["m", "ℓ", "×"].map((name, row) => {
    svgNode(group, "text", { x: place.x, y: place.y + 40 + row * 24, class: "note strong" }, name);
    return svgNode(group, "text", { x: right, y: place.y + 40 + row * 24, class: "figure end" });
  });
  return [[title, ...numbers]];
}

function signed(value) {
  if (!Number.isFinite(value)) return value < 0 ? "−∞" : "∞";
  return value.toFixed(3).replace("-", "−");
}

const sum = (value) => (value < 100 ? value.toFixed(2) : value.toFixed(1));
