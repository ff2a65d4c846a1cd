// A run, read from its packed columns, and what can be asked of it.

export const RAMP_STEPS = 32;

export function readPanel(panel, bytes) {
  const count = panel.blocks;
  const start = new Float32Array(bytes.buffer, bytes.byteOffset, count);
  const end = new Float32Array(bytes.buffer, bytes.byteOffset + 4 * count, count);
  const slot = new Uint16Array(bytes.buffer, bytes.byteOffset + 8 * count, count);
  const lanes = panel.sm_count * panel.slots_per_sm;
  const lane = Uint16Array.from(slot, (s) => (s % panel.sm_count) * panel.slots_per_sm + Math.floor(s / panel.sm_count));
  const byLane = Uint32Array.from(start.keys()).sort((a, b) => lane[a] - lane[b] || start[a] - start[b]);
  const laneFirst = new Uint32Array(lanes + 1);
  for (const l of lane) laneFirst[l + 1]++;
  for (let l = 0; l < lanes; l++) laneFirst[l + 1] += laneFirst[l];
  const work = panel.work;
  const least = Math.min(...work), most = Math.max(...work);
  const shade = work.map((w) => (least === most ? RAMP_STEPS / 2 : Math.round((w / most) * RAMP_STEPS)));
  const byShade = Array.from({ length: RAMP_STEPS + 1 }, () => []);
  for (let b = 0; b < count; b++) byShade[shade[b % work.length]].push(b);
  return {
    ...panel, start, end, lane, lanes, byLane, laneFirst, shade, byShade,
    starts: start.slice().sort(), ends: end.slice().sort(),
  };
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

export const shadeOf = (panel, block) => panel.shade[block % panel.shade.length];

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

function lastStarted(panel, lane, time) {
  let low = panel.laneFirst[lane], high = panel.laneFirst[lane + 1];
  const first = low;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (panel.start[panel.byLane[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  return low === first ? -1 : panel.byLane[low - 1];
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
