// The clock that walks share. Time runs in steps or in bytes moved, and the position of each walk follows from it.
import { isMove, movedBytes } from "./walk.js";

export const STEPS = "steps";
export const BYTES = "bytes";
const STEP_MS = 180;
const LONGEST_STEP_MS = 320; // for the largest tile of the walk
const REST_MS = 60;

/** All functions are pure: they map a time of this clock, or a step of a walk, to where things are by then. */
export function createClock(kind, walks) {
  const times = walks.map((walk) => (kind === BYTES ? walk.movedUpTo : stepNumbers(walk)));
  const ends = times.map((own) => own.at(-1));
  const stops = merged(times);
  const outer = merged(walks.map((walk, index) => Array.from(walk.outerStart, (start) => times[index][start + 1])));
  const length = stops.at(-1);
  const largest = Math.max(...walks.map((walk) => walk.largestMove));
  const msOfUnit = kind === BYTES ? (LONGEST_STEP_MS + REST_MS) / largest : STEP_MS + REST_MS;

  /** The step that a walk is at: the one under way, or the one that has just ended. */
  const positionOf = (walk, time) => (time >= ends[walk] ? walks[walk].length : lowerBound(times[walk], time));

  /** How long the way to a stop takes; on the bytes clock in proportion to bytes. */
  const msBefore = (stop) => {
    if (kind === BYTES) return (stops[stop] - stops[stop - 1]) * msOfUnit;
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
    /** Bytes of the step under way that have not moved yet. */
    pendingBytes: (walk, time) => (kind === BYTES ? Math.max(0, times[walk][positionOf(walk, time)] - time) : 0),
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
      const ms = kind === BYTES ? LONGEST_STEP_MS + REST_MS : msOfStep(walks[walk], position - 1);
      const share = ((time - start) / (end - start)) * (ms / (ms - REST_MS));
      return share >= 1 ? 1 : eased(share);
    },
  };
}

const stepNumbers = (walk) => Float64Array.from({ length: walk.length + 1 }, (_, step) => step);
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
