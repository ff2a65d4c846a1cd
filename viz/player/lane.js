// The scrub lane: what kind of step stands where. Runs too thin to see become shares of each outer tile.
import { KIND, kindOf } from "./walk.js";

const HEIGHT = 13;
const THIN = 2; // px
const TICK_ROOM = 4; // px between write ticks, below which writes are a share like the others
const GROUPS = ["read", "compute", "write"];

/** `times` says when each step ends, in any unit: a step that takes no time has no width. */
export function paintLane(canvas, walk, times, width, colours) {
  const ratio = window.devicePixelRatio || 1;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(HEIGHT * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${HEIGHT}px`;
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  const scale = width / times.at(-1);
  const x = (index) => times[index] * scale;
  const wide = new Set(times).size - 1;
  if (width / wide >= THIN) paintSteps(pen, walk, x, colours);
  else paintShares(pen, walk, x, colours);
}

function groupOf(kind) {
  if (kind === KIND.LOAD) return "read";
  return kind === KIND.STORE || kind === KIND.ADD ? "write" : "compute";
}

function paintSteps(pen, walk, x, colours) {
  for (let index = 0; index < walk.length; index++) {
    if (x(index) === x(index + 1)) continue;
    pen.fillStyle = colours[groupOf(kindOf(walk, index))];
    pen.fillRect(x(index), 0, x(index + 1) - x(index) + 0.3, HEIGHT);
  }
}

function paintShares(pen, walk, x, colours) {
  for (const [first, end] of stretches(walk, x)) {
    const shares = { read: 0, compute: 0, write: 0 };
    const writes = [];
    for (let index = first; index < end; index++) {
      const group = groupOf(kindOf(walk, index));
      shares[group] += x(index + 1) - x(index);
      if (group === "write" && (index === first || groupOf(kindOf(walk, index - 1)) !== "write")) writes.push(index);
    }
    const asTicks = writes.length > 0 && (x(end) - x(first)) / writes.length >= TICK_ROOM;
    const shown = asTicks ? GROUPS.slice(0, 2) : GROUPS;
    const total = shown.reduce((sum, group) => sum + shares[group], 0);
    let top = 0;
    for (const group of shown) {
      const height = total ? (shares[group] / total) * HEIGHT : 0;
      pen.fillStyle = colours[group];
      pen.fillRect(x(first), top, x(end) - x(first) + 0.3, height);
      top += height;
    }
    pen.fillStyle = colours.write;
    if (asTicks) writes.forEach((index) => pen.fillRect(x(index), 0, 1.5, HEIGHT));
  }
}

/** Outer tiles as [first, end), joined until each is at least as wide as two pixels. */
function stretches(walk, x) {
  const result = [];
  let first = 0;
  for (const start of [...walk.outerStart.slice(1), walk.length]) {
    if (x(start) - x(first) < THIN && start !== walk.length) continue;
    result.push([first, start]);
    first = start;
  }
  return result;
}
