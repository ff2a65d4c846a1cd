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
    ...panel, start, end, lane, lanes, byLane, laneFirst, byShade,
    starts: start.slice().sort(), ends: end.slice().sort(),
  };
}

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

export function blockAt(panel, lane, time) {
  let low = panel.laneFirst[lane], high = panel.laneFirst[lane + 1];
  const first = low;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (panel.start[panel.byLane[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  if (low === first) return -1;
  const block = panel.byLane[low - 1];
  const last = panel.ends[panel.ends.length - 1];
  const atEnd = Math.fround(time) >= last && panel.end[block] === last; // then it is still the one meant
  return time < panel.end[block] || atEnd ? block : -1;
}
