// The clock that walks share. Time runs in steps, in bytes moved or in modelled time, and the position of each walk
// follows from it.
import { isMove, modelledFs, movedBytes } from "./walk.js";

export const STEPS = "steps";
export const BYTES = "bytes";
export const TIME = "time"; // in femtoseconds
const STEP_MS = 180;
const LONGEST_STEP_MS = 320; // for the largest tile of the walk, or the longest step
const REST_MS = 60;
/** What one step adds on each clock. */
const WIDTHS = { [STEPS]: () => 1, [BYTES]: movedBytes, [TIME]: modelledFs };

/** All functions are pure: they map a time of this clock, or a step of a walk, to where things are by then. */
export function createClock(kind, walks) {
  const times = walks.map((walk) => summed(walk, WIDTHS[kind]));
  const ends = times.map((own) => own.at(-1));
  const stops = merged(times);
  const outer = merged(walks.map((walk, index) => Array.from(walk.outerStart, (start) => times[index][start + 1])));
  const length = stops.at(-1);
  const inSteps = kind === STEPS;
  const msOfUnit = inSteps ? STEP_MS + REST_MS : (LONGEST_STEP_MS + REST_MS) / widest(times);

  /** The step that a walk is at: the one under way, or the one that has just ended. */
  const positionOf = (walk, time) => (time >= ends[walk] ? walks[walk].length : lowerBound(times[walk], time));

  /** How long the way to a stop takes; in proportion to its width, except that all steps are one wide. */
  const msBefore = (stop) => {
    if (!inSteps) return (stops[stop] - stops[stop - 1]) * msOfUnit;
    return Math.max(...walks.filter((walk) => stop <= walk.length).map((walk) => msOfStep(walk, stop - 1)));
  };

  return {
    kind,
    length,
    ends,
    times,
    durationMs: length * msOfUnit,
    positionOf,
    hasEnded: (walk, time) => time > ends[walk],
    /** Bytes of the step under way that have not moved yet; in modelled time a tile counts when it has arrived. */
    pendingBytes(walk, time) {
      const position = positionOf(walk, time);
      const left = Math.max(0, times[walk][position] - time);
      if (kind === BYTES) return left;
      return left > 0 && position > 0 ? movedBytes(walks[walk], position - 1) : 0;
    },
    /** The next step boundary of any walk, at `time` or after it. */
    stopFrom: (time) => stops[Math.min(lowerBound(stops, time), stops.length - 1)],
    nearestStop(time) {
      const after = Math.min(lowerBound(stops, time), stops.length - 1);
      const before = Math.max(after - 1, 0);
      return time - stops[before] < stops[after] - time ? stops[before] : stops[after];
    },
    stopsOn: (time, count) => stops[clamp(lowerBound(stops, time) + count, 0, stops.length - 1)],
    outerStop(time, forward) {
      if (forward) return outer.find((start) => start > time) ?? length;
      return outer.findLast((start) => start < time) ?? 0;
    },
    advance(time, ms) {
      let [reached, left] = [time, ms];
      for (let stop = lowerBound(stops, time); left > 0 && reached < length; stop++) {
        if (stops[stop] <= reached) continue;
        const whole = msBefore(stop);
        const way = stops[stop] - stops[stop - 1];
        const rest = ((stops[stop] - reached) / way) * whole;
        reached = left >= rest ? stops[stop] : reached + (left / whole) * way;
        left -= rest;
      }
      return reached;
    },
    /** How far the tile of the step is on its way, eased; 1 from when it has arrived. */
    travelled(walk, time) {
      const position = positionOf(walk, time);
      const end = times[walk][position];
      if (time >= end) return 1;
      const start = times[walk][position - 1];
      const ms = inSteps ? msOfStep(walks[walk], position - 1) : LONGEST_STEP_MS + REST_MS;
      const share = ((time - start) / (end - start)) * (ms / (ms - REST_MS));
      return share >= 1 ? 1 : eased(share);
    },
  };
}

/** Widths of all steps up to and with each; [0] is before the first. */
function summed(walk, widthOf) {
  const sums = new Float64Array(walk.length + 1);
  for (let index = 0; index < walk.length; index++) sums[index + 1] = sums[index] + widthOf(walk, index);
  return sums;
}

function widest(times) {
  let largest = 0;
  for (const own of times) for (let step = 1; step < own.length; step++) largest = Math.max(largest, own[step] - own[step - 1]);
  return largest;
}

const merged = (lists) => Float64Array.from(new Set(lists.flatMap((list) => Array.from(list)))).sort();
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** Index of the first value that is not below `wanted`. */
function lowerBound(values, wanted) {
  let [low, high] = [0, values.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (values[middle] < wanted) low = middle + 1;
    else high = middle;
  }
  return low;
}

function msOfStep(walk, index) {
  const stretch = isMove(walk, index) ? movedBytes(walk, index) / walk.largestMove : 0;
  return STEP_MS + (LONGEST_STEP_MS - STEP_MS) * stretch + REST_MS;
}

/** cubic-bezier(.2, 0, 0, 1), solved for x by bisection. */
function eased(x) {
  const bezier = (t, first, second) => 3 * (1 - t) ** 2 * t * first + 3 * (1 - t) * t ** 2 * second + t ** 3;
  let [low, high] = [0, 1];
  for (let round = 0; round < 20; round++) {
    const middle = (low + high) / 2;
    if (bezier(middle, 0.2, 0) < x) low = middle;
    else high = middle;
  }
  return bezier(low, 0, 1);
}
