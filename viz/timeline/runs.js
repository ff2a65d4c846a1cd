// A run, read from its packed columns, and what can be asked of it.

export const RAMP_STEPS = 32;

export function readPanel(panel, bytes) {
  const count = panel.blocks, lanes = panel.sm_count * panel.slots_per_sm;
  const start = new Float32Array(bytes.buffer, bytes.byteOffset, count);
  const endBytes = panel.seamless ? 4 * lanes : 4 * count;
  const ends = new Float32Array(bytes.buffer, bytes.byteOffset + 4 * count, endBytes / 4);
  const slot = new Uint16Array(bytes.buffer, bytes.byteOffset + 4 * count + endBytes, count);
  const lane = Uint16Array.from(slot, (s) => (s % panel.sm_count) * panel.slots_per_sm + Math.floor(s / panel.sm_count));
  const laneFirst = new Uint32Array(lanes + 1);
  for (const l of lane) laneFirst[l + 1]++;
  for (let l = 0; l < lanes; l++) laneFirst[l + 1] += laneFirst[l];
  const byLane = sortedByLane(byStart(start), lane, laneFirst);
  const end = panel.seamless ? seamlessEnds(start, ends, byLane, laneFirst, panel) : ends;
  const work = panel.work, least = Math.min(...work), most = Math.max(...work);
  const partShades = work.map((w) => (least === most ? RAMP_STEPS / 2 : Math.round((w / most) * RAMP_STEPS)));
  const shades = Uint8Array.from(start.keys(), (block) => partShades[partOf(panel, block)]);
  return {
    ...panel, start, end, lane, lanes, byLane, laneFirst, partShades, shades,
    starts: start.slice().sort(), ends: end.slice().sort(),
  };
}

// Blocks from the first that starts to the last.
function byStart(start) {
  const blocks = Uint32Array.from(start.keys());
  let rises = true, falls = true;
  for (let b = 1; b < start.length; b++) {
    rises &&= start[b - 1] <= start[b];
    falls &&= start[b - 1] > start[b];
  }
  return rises ? blocks : falls ? blocks.reverse() : blocks.sort((a, b) => start[a] - start[b]);
}

function sortedByLane(blocks, lane, laneFirst) {
  const next = laneFirst.slice(), sorted = new Uint32Array(blocks.length);
  for (const block of blocks) sorted[next[lane[block]]++] = block;
  return sorted;
}

// Where a slot never waits, a block ends where the next one starts; the last of each slot has its end noted.
function seamlessEnds(start, lastEnds, byLane, laneFirst, panel) {
  const end = new Float32Array(start.length);
  for (let lane = 0; lane < laneFirst.length - 1; lane++) {
    const slot = Math.floor(lane / panel.slots_per_sm) + (lane % panel.slots_per_sm) * panel.sm_count;
    for (let at = laneFirst[lane]; at < laneFirst[lane + 1]; at++) {
      end[byLane[at]] = at + 1 < laneFirst[lane + 1] ? start[byLane[at + 1]] : lastEnds[slot];
    }
  }
  return end;
}

// Which part of its head a block is: its number along the axes that count neither batch nor head.
export function partOf(panel, block) {
  let part = 0, step = 1;
  for (const [stride, size] of panel.part_strides) {
    part += (Math.floor(block / stride) % size) * step;
    step *= size;
  }
  return part;
}

// What a block computes: its number along each axis of the grid.
export function placeOf(panel, block) {
  const place = {};
  let rest = block;
  for (const [name, size] of panel.axes) {
    place[name] = rest % size;
    rest = Math.floor(rest / size);
  }
  return place;
}

// blockIdx: x and y count the first two axes of the grid, z what is left.
export function indexOf({ axes }, block) {
  const [x, y] = axes.map(([, size]) => size);
  return [block % x, Math.floor(block / x) % y, Math.floor(block / (x * y))];
}

// The blocks of a run that have a part in a place: all along an axis that the place does not name.
export function blocksAt(panel, place) {
  let blocks = [0], step = 1;
  for (const [name, size] of panel.axes) {
    const along = name in place ? [place[name]] : Array.from({ length: size }, (_, i) => i);
    const stride = step;
    blocks = blocks.flatMap((block) => along.map((number) => block + number * stride));
    step *= size;
  }
  return blocks;
}

export const shadeOf = (panel, block) => panel.shades[block];

function countUpTo(sorted, time) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function busySlots(panel, time) {
  return countUpTo(panel.starts, time) - countUpTo(panel.ends, time);
}

// How many blocks of a lane have started by a time, counted from the first block of the first lane.
export function startedBy(panel, lane, time) {
  let low = panel.laneFirst[lane], high = panel.laneFirst[lane + 1];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (panel.start[panel.byLane[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function lastStarted(panel, lane, time) {
  const after = startedBy(panel, lane, time);
  return after === panel.laneFirst[lane] ? -1 : panel.byLane[after - 1];
}

export function residentAt(panel, lane, time) {
  const block = lastStarted(panel, lane, time);
  return block >= 0 && time < panel.end[block] ? block : -1;
}

// The block that is meant at a time; at the very end of a run that is still its last.
export function blockAt(panel, lane, time) {
  const block = lastStarted(panel, lane, time), last = panel.ends[panel.ends.length - 1];
  const atEnd = block >= 0 && Math.fround(time) === last && panel.end[block] === last;
  return atEnd ? block : residentAt(panel, lane, time);
}
