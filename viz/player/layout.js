// Where things stand, in pixels: pure functions of a walk and the room there is.
import { TENSOR, alongKeys, hasNumbers, isPair, isPartial, rowsOfTile, slotOwner } from "./walk.js";

const PAD = 14;
const HEAD = 30;
const FOOT = 26;
const LABEL = 20;
const GAP = 9;
const WIDE_GAP = 14; // between a map and O
const MAP_GAP = 34; // between S and P
const STATISTICS_WIDTH = 5;
const LABEL_GAP = 20; // between K and S, where the strips at the left are named above them
const THINNEST = 3; // px, of what would be too slim to see at true proportion
const [SLIM, SLIM_SHOWN] = [8, 14]; // px: a map slimmer than the first is drawn as the second, and so are strips
const [LOWEST, HIGHEST] = [424, 500]; // of a scene on a desktop
const COMPACT_HEIGHT = 372; // where two scenes, their transport and their ledger share a screen
const CHIP_BESIDE_SLOTS = 306; // px down the chip for titles, gauges and the table
const TABLE_ROOM = 76; // px that walks with many slots take from the table, which they do not have
const STACKED_HEIGHT = 98; // px of a compartment on a phone, where slots are many
export const NARROW = 480;

/** HBM, bus and chip side by side, or one above the other on a phone. */
export function layoutScene(walk, width, narrow, compact) {
  if (narrow) {
    const hbm = { x: 0, y: 0, width, height: Math.min(width * 0.8, 330) };
    const bus = { x: 0, y: hbm.height, width, height: 60 };
    const stacked = hasManySlots([0, 1].map((memory) => slotGroup(walk, memory)));
    const chip = { x: 0, y: bus.y + bus.height, width, height: 150 + (stacked ? STACKED_HEIGHT - 14 : 0) };
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

// What stands on each side of S in HBM, from left to right and from top to bottom.
const SIDES = {
  left: [TENSOR.QUERY_GRADIENT, TENSOR.QUERY_GRADIENT_SUM, TENSOR.QUERY],
  right: [TENSOR.OUTPUT, TENSOR.OUTPUT_GRADIENT, TENSOR.STATISTICS, TENSOR.DELTA],
  above: [TENSOR.KEY_GRADIENT, TENSOR.KEY],
  below: [TENSOR.VALUE, TENSOR.VALUE_GRADIENT, TENSOR.PARTIAL_OUTPUT, TENSOR.PARTIAL_STATISTICS],
};

/** The strips on each side of S that this walk has in HBM. */
export function sidesOf(walk) {
  const present = (tensors) => tensors.filter((tensor) => walk.inHbm.has(tensor));
  return Object.fromEntries(Object.entries(SIDES).map(([side, tensors]) => [side, present(tensors)]));
}

/** Gaps and numbers of wide strips, across and down. */
function measure(walk) {
  const sides = sidesOf(walk);
  const maps = walk.storesScores ? 2 : 1;
  const [across, down] = [[...sides.left, ...sides.right], [...sides.above, ...sides.below]];
  const thin = (tensors) => tensors.filter(hasNumbers).length;
  const aboveGap = sides.left.length > 1 ? LABEL_GAP : GAP;
  const gapsAcross = sides.left.length * GAP + WIDE_GAP + (sides.right.length - 1) * GAP + (maps - 1) * MAP_GAP;
  const gapsDown = (sides.above.length - 1 + sides.below.length) * GAP + aboveGap;
  return {
    sides, maps, aboveGap,
    wide: { across: across.length - thin(across), down: down.length - thin(down) },
    gaps: { across: gapsAcross + thin(across) * STATISTICS_WIDTH, down: gapsDown + thin(down) * STATISTICS_WIDTH },
  };
}

/** How high HBM is when its tensors use all of its width. */
function heightAtFullWidth(walk, hbm) {
  const { maps, wide, gaps } = measure(walk);
  const scale = (hbm.width - 2 * PAD - LABEL - gaps.across) / (maps * walk.keyLen + wide.across * walk.headDim);
  return HEAD + FOOT + 8 + gaps.down + scale * (walk.rowCount + wide.down * walk.headDim);
}

/** Rectangles of the tensors in HBM at one scale: Q left of S, K above, V below, O and statistics right. */
function layoutHbm(walk, hbm) {
  const { sides, maps, aboveGap, wide, gaps } = measure(walk);
  const roomX = hbm.width - 2 * PAD - LABEL - gaps.across;
  const roomY = hbm.height - HEAD - FOOT - 8 - gaps.down;
  const scale = Math.min(
    roomX / (maps * walk.keyLen + wide.across * walk.headDim),
    roomY / (walk.rowCount + wide.down * walk.headDim),
  );
  const slim = Math.min(walk.keyLen, walk.rowCount) * scale < SLIM;
  const least = slim ? SLIM_SHOWN : THINNEST;
  const thick = Math.max(walk.headDim * scale, least);
  const mapWidth = Math.max(Math.min(walk.keyLen * scale, (roomX - wide.across * thick) / maps), least);
  const mapHeight = Math.max(Math.min(walk.rowCount * scale, roomY - wide.down * thick), least);
  const used = LABEL + wide.across * thick + maps * mapWidth + gaps.across;
  const size = (tensor) => (hasNumbers(tensor) ? STATISTICS_WIDTH : thick);
  const tensors = { scale, slim };

  let x = hbm.x + (hbm.width - used) / 2 + LABEL;
  const top = hbm.y + HEAD + 4 + (roomY - (mapHeight + wide.down * thick)) / 2;
  const mapY = top + sides.above.reduce((sum, tensor) => sum + size(tensor) + GAP, 0) - GAP + aboveGap;
  for (const tensor of sides.left) {
    tensors[tensor] = { x, y: mapY, width: size(tensor), height: mapHeight };
    x += size(tensor) + GAP;
  }
  const scores = { x, y: mapY, width: mapWidth, height: mapHeight };
  tensors[TENSOR.SCORES] = scores;
  if (maps === 2) tensors[TENSOR.PROBABILITIES] = { ...scores, x: (x += mapWidth + MAP_GAP) };
  const last = { ...scores, x };
  x += mapWidth + WIDE_GAP;
  for (const tensor of sides.right) {
    tensors[tensor] = { x, y: mapY, width: size(tensor), height: mapHeight };
    x += size(tensor) + GAP;
  }
  let y = top;
  for (const tensor of sides.above) {
    tensors[tensor] = { x: scores.x, y, width: mapWidth, height: size(tensor) };
    y += size(tensor) + GAP;
  }
  y = mapY + mapHeight + GAP;
  for (const tensor of sides.below) {
    tensors[tensor] = { x: last.x, y, width: mapWidth, height: size(tensor) };
    y += size(tensor) + GAP;
  }
  return tensors;
}

/** Start and length of the rows from `first` up to `stop` along a side of `extent` px that `length` rows make. */
const share = ([first, stop], length, extent) => [(first / length) * extent, ((stop - first) / length) * extent];
const keysOfTile = (walk, tile) => (tile < 0 ? [0, walk.keyLen] : [tile * walk.keyRows, Math.min((tile + 1) * walk.keyRows, walk.keyLen)]);
const rowsOrAll = (walk, tile) => (tile < 0 ? [0, walk.rowCount] : rowsOfTile(walk, tile));
const splitOrAll = (walk, split) => (split < 0 ? [0, walk.splits] : [split, split + 1]);

/** Rectangle of a tile in HBM; -1 means all along that side. */
export function tileRect(walk, tensors, tensor, queryTile, keyTile) {
  const whole = tensors[tensor];
  let [x, width] = [0, whole.width];
  if (isPartial(tensor)) [x, width] = share(splitOrAll(walk, keyTile), walk.splits, whole.width);
  else if (alongKeys(tensor) || isPair(tensor)) [x, width] = share(keysOfTile(walk, keyTile), walk.keyLen, whole.width);
  const [y, height] = alongKeys(tensor)
    ? [0, whole.height]
    : share(rowsOrAll(walk, queryTile), walk.rowCount, whole.height);
  return { x: whole.x + x, y: whole.y + y, width, height };
}

const SLOT_ORDER = [
  TENSOR.QUERY, TENSOR.KEY, TENSOR.VALUE, TENSOR.OUTPUT, TENSOR.PARTIAL_OUTPUT, TENSOR.OUTPUT_GRADIENT,
  TENSOR.QUERY_GRADIENT, TENSOR.SCORES, TENSOR.PROBABILITY_GRADIENT, TENSOR.QUERY_GRADIENT_SUM, TENSOR.KEY_GRADIENT,
  TENSOR.VALUE_GRADIENT, TENSOR.STATISTICS, TENSOR.PARTIAL_STATISTICS, TENSOR.DELTA,
];
const SLOTS_IN_ROW = 5;
const slotShare = (tensor) => (hasNumbers(tensor) ? 0.7 : 1);

/** Slots, gauges and table on the chip. `slots` maps a tensor to its rectangle; S and P share one. */
export function layoutChip(walk, chip, narrow) {
  const groups = [0, 1].map((memory) => slotGroup(walk, memory));
  const layout = narrow ? layoutNarrowChip(chip, groups) : layoutWideChip(chip, groups);
  for (const { tensor } of walk.slots) layout.slots[tensor] ??= layout.slots[slotOwner(walk, tensor)];
  return layout;
}

function slotGroup(walk, memory) {
  const held = walk.slots.filter((slot) => slot.memory === memory).map((slot) => slot.tensor);
  return SLOT_ORDER.filter((tensor) => held.includes(tensor) && slotOwner(walk, tensor) === tensor);
}

/** Slots in rows of equal length, as few as hold them all. */
function inRows(tensors) {
  const rows = Math.ceil(tensors.length / SLOTS_IN_ROW);
  const length = Math.ceil(tensors.length / rows);
  return Array.from({ length: rows }, (_, row) => tensors.slice(row * length, (row + 1) * length));
}

function layoutWideChip(chip, groups) {
  const inner = { x: chip.x + PAD, width: chip.width - 2 * PAD };
  const rowsOf = groups.map(inRows);
  const rows = rowsOf[0].length + rowsOf[1].length;
  const widest = Math.max(...rowsOf.flat().map((row) => row.reduce((sum, tensor) => sum + slotShare(tensor), 0)));
  const down = (chip.height - CHIP_BESIDE_SLOTS + (rows > 2 ? TABLE_ROOM : 0) - 7 * (rows - 2)) / rows;
  const size = Math.min(54, (inner.width - 4 * 7) / Math.max(widest, 4.7), down);
  const slots = {};
  let top = chip.y + 36;
  const compartments = rowsOf.map((tensorRows) => {
    tensorRows.forEach((row, index) => placeSlots(slots, row, inner.x, top + 24 + index * (size + 7), size));
    const below = top + tensorRows.length * (size + 7) - 7;
    const place = {
      title: { x: inner.x, y: top + 12 },
      gauge: { x: inner.x, y: below + 34, width: inner.width, height: 6 },
      used: { x: inner.x, y: below + 56 },
      limit: { x: inner.x + inner.width, y: below + 56 },
      divider: { x: chip.x, y: below + 68, width: chip.width },
    };
    top = below + 78;
    return place;
  });
  const tableTop = compartments[1].divider.y;
  const table = { x: inner.x, y: tableTop, width: inner.width, height: chip.y + chip.height - tableTop };
  return { compartments, slots, table, header: { x: inner.x, y: chip.y + 22, right: inner.x + inner.width } };
}

/** Shared memory, registers and table beside one another; one above the other where slots are many. */
function layoutNarrowChip(chip, groups) {
  const stacked = hasManySlots(groups);
  const columns = stacked ? [[0, 1], [0, 1]] : [[0, 0.47], [0.47, 0.3]];
  const slots = {};
  const compartments = groups.map((tensors, memory) => {
    const [start, part] = columns[memory];
    const x = chip.x + 12 + start * (chip.width - 12);
    const y = chip.y + (stacked ? memory * STACKED_HEIGHT : 0);
    const width = part * (chip.width - 12) - 12;
    const count = tensors.reduce((sum, tensor) => sum + slotShare(tensor), 0);
    placeSlots(slots, tensors, x, y + 54, Math.min(40, (width - 4 * (tensors.length - 1)) / count), 4);
    return {
      title: { x, y: y + 44 },
      gauge: { x, y: y + 106, width, height: 5 },
      used: { x, y: y + 126 },
      limit: stacked ? { x: x + width, y: y + 126 } : { x, y: y + 142, anchor: "start" },
      divider: null,
    };
  });
  const tableX = chip.x + 12 + 0.77 * (chip.width - 12);
  const table = stacked ? null : { x: tableX, y: chip.y + 26, width: chip.x + chip.width - 12 - tableX, height: 120 };
  return { compartments, slots, table, header: { x: chip.x + 12, y: chip.y + 22, right: chip.x + chip.width - 12 } };
}

const hasManySlots = (groups) => groups.some((tensors) => tensors.length > SLOTS_IN_ROW + 1);

function placeSlots(slots, tensors, left, top, size, gap = 7) {
  let x = left;
  for (const tensor of tensors) {
    const width = size * slotShare(tensor);
    slots[tensor] = { x, y: top, width, height: size };
    x += width + gap;
  }
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
