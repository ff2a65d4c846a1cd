// Where the slots of the chip stand, in pixels: shared memory above registers, on a phone beside or above one another.
import { TENSOR, hasNumbers, slotOwner } from "./walk.js";

const PAD = 14;
const CHIP_BESIDE_SLOTS = 306; // px down the chip for titles, gauges and the table
const TABLE_ROOM = 76; // px that walks with many slots take from the table, which they do not have
const STACKED_HEIGHT = 98; // px of a compartment on a phone, where slots are many
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

/** How high the chip is on a phone. */
export function narrowChipHeight(walk) {
  const stacked = hasManySlots([0, 1].map((memory) => slotGroup(walk, memory)));
  return 150 + (stacked ? STACKED_HEIGHT - 14 : 0);
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
