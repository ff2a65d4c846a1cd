// Where things stand, in pixels: pure functions of a walk and the room there is.
import { TENSOR } from "./walk.js";

const PAD = 14;
const HEAD = 30;
const FOOT = 26;
const LABEL = 20;
const GAP = 9;
const WIDE_GAP = 14; // between a map and O
const MAP_GAP = 34; // between S and P
const STATISTICS_WIDTH = 5;
const THINNEST = 3; // px, of what would be too slim to see at true proportion
const [LOWEST, HIGHEST] = [424, 500]; // of a scene on a desktop
const COMPACT_HEIGHT = 372; // where two scenes, their transport and their ledger share a screen
const CHIP_BESIDE_SLOTS = 306; // px down the chip for titles, gauges and the table
export const NARROW = 480;

/** HBM, bus and chip side by side, or one above the other on a phone. */
export function layoutScene(walk, width, narrow, compact) {
  if (narrow) {
    const hbm = { x: 0, y: 0, width, height: Math.min(width * 0.8, 330) };
    const bus = { x: 0, y: hbm.height, width, height: 60 };
    const chip = { x: 0, y: bus.y + bus.height, width, height: 150 };
    return { width, height: chip.y + chip.height, narrow, hbm, bus, chip, tensors: layoutHbm(walk, hbm) };
  }
  const busWidth = compact ? 92 : 104;
  const chipWidth = Math.max(compact ? 206 : 250, Math.min(320, width * 0.33));
  const hbm = { x: 0, y: 0, width: width - busWidth - chipWidth, height: 0 };
  hbm.height = compact ? COMPACT_HEIGHT : Math.min(Math.max(heightAtFullWidth(walk, hbm), LOWEST), HIGHEST);
  const { height } = hbm;
  const bus = { x: hbm.width, y: 0, width: busWidth, height };
  const chip = { x: hbm.width + busWidth, y: 0, width: chipWidth, height };
  return { width, height, narrow, hbm, bus, chip, tensors: layoutHbm(walk, hbm) };
}

/** Room that is not tensors, across and down. */
function spareRoom(walk) {
  const maps = walk.storesScores ? 2 : 1;
  const gaps = GAP + WIDE_GAP + (maps - 1) * MAP_GAP + (walk.storesStatistics ? GAP + STATISTICS_WIDTH : 0);
  return { maps, gaps, across: 2 * PAD + LABEL + gaps, down: HEAD + FOOT + 2 * GAP + 8 };
}

/** How high HBM is when its tensors use all of its width. */
function heightAtFullWidth(walk, hbm) {
  const { maps, across, down } = spareRoom(walk);
  const scale = (hbm.width - across) / (maps * walk.keyLen + 2 * walk.headDim);
  return down + scale * (walk.queryLen + 2 * walk.headDim);
}

/** Rectangles of the tensors in HBM at one scale: Q left of S, K above, V below, O and statistics right. */
function layoutHbm(walk, hbm) {
  const { maps, gaps, across, down } = spareRoom(walk);
  const roomX = hbm.width - across;
  const roomY = hbm.height - down;
  const scale = Math.min(
    roomX / (maps * walk.keyLen + 2 * walk.headDim),
    roomY / (walk.queryLen + 2 * walk.headDim),
  );
  const thick = Math.max(walk.headDim * scale, THINNEST);
  const mapWidth = Math.max(walk.keyLen * scale, THINNEST);
  const mapHeight = Math.max(walk.queryLen * scale, THINNEST);
  const used = LABEL + 2 * thick + maps * mapWidth + gaps;
  const left = hbm.x + (hbm.width - used) / 2 + LABEL;
  const top = hbm.y + HEAD + 4 + (roomY - (mapHeight + 2 * thick)) / 2;

  const mapY = top + thick + GAP;
  const scores = { x: left + thick + GAP, y: mapY, width: mapWidth, height: mapHeight };
  const weights = maps === 2 ? { ...scores, x: scores.x + mapWidth + MAP_GAP } : scores;
  const output = { x: weights.x + mapWidth + WIDE_GAP, y: mapY, width: thick, height: mapHeight };
  return {
    scale,
    [TENSOR.QUERY]: { x: left, y: mapY, width: thick, height: mapHeight },
    [TENSOR.KEY]: { x: scores.x, y: top, width: mapWidth, height: thick },
    [TENSOR.VALUE]: { x: weights.x, y: mapY + mapHeight + GAP, width: mapWidth, height: thick },
    [TENSOR.SCORES]: scores,
    [TENSOR.PROBABILITIES]: weights,
    [TENSOR.OUTPUT]: output,
    [TENSOR.STATISTICS]: { x: output.x + thick + GAP, y: mapY, width: STATISTICS_WIDTH, height: mapHeight },
  };
}

const alongKeys = (tensor) => tensor === TENSOR.KEY || tensor === TENSOR.VALUE;
const isMap = (tensor) => tensor === TENSOR.SCORES || tensor === TENSOR.PROBABILITIES;

/** Start and length of a tile along a tensor that is `extent` px long; the last tile is shorter. */
function span(tile, rows, length, extent) {
  const first = tile < 0 ? 0 : tile * rows;
  const last = tile < 0 ? length : Math.min(first + rows, length);
  return [(first / length) * extent, ((last - first) / length) * extent];
}

/** Rectangle of a tile in HBM; -1 means all along that side. */
export function tileRect(walk, tensors, tensor, queryTile, keyTile) {
  const whole = tensors[tensor];
  const [x, width] =
    alongKeys(tensor) || isMap(tensor) ? span(keyTile, walk.keyRows, walk.keyLen, whole.width) : [0, whole.width];
  const [y, height] = alongKeys(tensor)
    ? [0, whole.height]
    : span(queryTile, walk.queryRows, walk.queryLen, whole.height);
  return { x: whole.x + x, y: whole.y + y, width, height };
}

const SLOT_ORDER = [
  TENSOR.QUERY, TENSOR.KEY, TENSOR.VALUE, TENSOR.OUTPUT, TENSOR.SCORES, TENSOR.STATISTICS,
];

/** Slots, gauges and table on the chip. `slots` maps a tensor to its rectangle; S and P share one. */
export function layoutChip(walk, chip, narrow) {
  const groups = [0, 1].map((memory) => slotGroup(walk, memory));
  return narrow ? layoutNarrowChip(chip, groups) : layoutWideChip(chip, groups);
}

function slotGroup(walk, memory) {
  const held = walk.slots.filter((slot) => slot.memory === memory).map((slot) => slot.tensor);
  return SLOT_ORDER.filter((tensor) => held.includes(tensor));
}

function layoutWideChip(chip, groups) {
  const inner = { x: chip.x + PAD, width: chip.width - 2 * PAD };
  const size = Math.min(54, (inner.width - 4 * 7) / 4.7, (chip.height - CHIP_BESIDE_SLOTS) / 2);
  const slots = {};
  const compartments = groups.map((tensors, memory) => {
    const top = chip.y + 36 + memory * (size + 78);
    placeSlots(slots, tensors, inner.x, top + 24, size);
    return {
      title: { x: inner.x, y: top + 12 },
      gauge: { x: inner.x, y: top + size + 34, width: inner.width, height: 6 },
      used: { x: inner.x, y: top + size + 56 },
      limit: { x: inner.x + inner.width, y: top + size + 56 },
      divider: { x: chip.x, y: top + size + 68, width: chip.width },
    };
  });
  const tableTop = compartments[1].divider.y;
  const table = { x: inner.x, y: tableTop, width: inner.width, height: chip.y + chip.height - tableTop };
  return { compartments, slots, table, header: { x: inner.x, y: chip.y + 22, right: inner.x + inner.width } };
}

function layoutNarrowChip(chip, groups) {
  const columns = [[0, 0.47], [0.47, 0.3]];
  const slots = {};
  const compartments = groups.map((tensors, memory) => {
    const [start, share] = columns[memory];
    const x = chip.x + 12 + start * (chip.width - 12);
    const width = share * (chip.width - 12) - 12;
    const count = tensors.reduce((sum, tensor) => sum + (tensor === TENSOR.STATISTICS ? 0.7 : 1), 0);
    placeSlots(slots, tensors, x, chip.y + 54, Math.min(40, (width - 4 * (tensors.length - 1)) / count), 4);
    return {
      title: { x, y: chip.y + 44 },
      gauge: { x, y: chip.y + 106, width, height: 5 },
      used: { x, y: chip.y + 126 },
      limit: { x, y: chip.y + 142, anchor: "start" },
      divider: null,
    };
  });
  const tableX = chip.x + 12 + 0.77 * (chip.width - 12);
  const table = { x: tableX, y: chip.y + 26, width: chip.x + chip.width - 12 - tableX, height: 120 };
  return { compartments, slots, table, header: { x: chip.x + 12, y: chip.y + 22, right: chip.x + chip.width - 12 } };
}

function placeSlots(slots, tensors, left, top, size, gap = 7) {
  let x = left;
  for (const tensor of tensors) {
    const width = tensor === TENSOR.STATISTICS ? size * 0.7 : size;
    slots[tensor] = { x, y: top, width, height: size };
    x += width + gap;
  }
  if (slots[TENSOR.SCORES]) slots[TENSOR.PROBABILITIES] = slots[TENSOR.SCORES];
}

/** The two lanes of the bus and where a tile rests on each: [read, write]. */
export function layoutBus(bus, narrow) {
  const size = 46;
  return [0.3, 0.68].map((share, direction) => {
    if (narrow) {
      const x = bus.x + bus.width * (direction ? 0.78 : 0.46);
      const ends = [bus.y + 3, bus.y + bus.height - 3];
      const rest = { x: x - 20, y: bus.y + bus.height / 2 - 20, width: 40, height: 40 };
      return { from: [x, ends[direction]], to: [x, ends[1 - direction]], rest };
    }
    const y = bus.y + bus.height * share;
    const ends = [bus.x + 5, bus.x + bus.width - 5];
    const rest = { x: bus.x + bus.width / 2 - size / 2, y: y - size / 2, width: size, height: size };
    return { from: [ends[direction], y], to: [ends[1 - direction], y], rest };
  });
}
