// For a phone, where the ledger is far below: what each walk has read and written so far, in one bar on one scale.
import { fillTemplate, htmlNode, setText } from "./svg.js";
import { READ, WRITE, directionOf } from "./walk.js";

const UNITS = [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];

export function createTotals(parent, walks, texts) {
  const table = htmlNode(parent, "div", "totals");
  const scale = Math.max(...walks.map((walk) => walk.movedUpTo.at(-1)));
  const [size, unit] = UNITS.find(([each]) => scale >= each);
  const inUnit = (bytes) => (bytes / size).toFixed(size === 1 ? 0 : 2);
  const rows = walks.map((walk) => {
    htmlNode(table, "b", "", walk.short);
    const track = htmlNode(table, "span", "track");
    const bars = ["read", "write"].map((direction) => htmlNode(track, "i", `total-bar ${direction}`));
    const figure = htmlNode(table, "span", "figure");
    return { walk, bars, figure };
  });
  return {
    /** `pending` is what each walk's step under way has not moved yet. */
    draw(positions, pending) {
      rows.forEach(({ walk, bars, figure }, index) => {
        const [read, write] = [READ, WRITE].map((direction) => movedSoFar(walk, positions[index], direction, pending[index]));
        [read, write].forEach((bytes, direction) => (bars[direction].style.width = `${(100 * bytes) / scale}%`));
        setText(figure, fillTemplate(texts.totals, { read: inUnit(read), written: inUnit(write), unit }));
      });
    },
  };
}

/** All tensors together; the step under way counts for what it has moved. */
function movedSoFar(walk, position, direction, pending) {
  const whole = walk.movedBefore.reduce((sum, directions) => sum + directions[direction][position], 0);
  return pending > 0 && directionOf(walk, position - 1) === direction ? whole - pending : whole;
}
