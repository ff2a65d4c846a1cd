// A walk that goes without something: its banner, and the rows of its result that end wrong.
import { htmlNode, rectPath, setAll, setText, show, svgNode } from "./svg.js";
import { READ, alongKeys, directionOf, isMove, kindOf, rowsOfTile, tensorOf } from "./walk.js";

const SHADES = ["1", "2", "3", "4"]; // how wrong a row is, as the host counts it; "0" is right

/** Whether the step shown is one that does without. */
export function breaksAt(walk, position) {
  return position > 0 && Boolean(walk.broken?.kinds.includes(kindOf(walk, position - 1)));
}

/** What is left out, why it was needed, and by how much the walk ends wrong. */
export function createBanner(card, walk) {
  if (!walk.broken) return { draw() {} };
  const banner = htmlNode(card, "div", "broken");
  setAll(banner, { role: "note" });
  const told = htmlNode(banner, "p");
  htmlNode(told, "b", "", walk.broken.title);
  told.append(" ", walk.broken.why);
  if (walk.broken.quoted) htmlNode(banner, "code", "", walk.broken.quoted);
  const outcome = htmlNode(banner, "p", "outcome");
  const legend = htmlNode(banner, "p", "legend");
  return {
    draw(position) {
      card.classList.toggle("breaks", breaksAt(walk, position));
      show(outcome, Boolean(walk.found));
      if (!walk.found) return;
      setText(outcome, walk.found.outcome);
      if (!legend.childElementCount) drawShades(legend, walk.found.shades);
    },
  };
}

/** What the shades of a wrong row mean; the last text says of what they are shares. */
function drawShades(legend, texts) {
  texts.forEach((text, index) => {
    if (index < SHADES.length) htmlNode(legend, "i", `swatch wrong-${SHADES[index]}`);
    htmlNode(legend, "span", "", text);
  });
}

/** Rows over the tensors that the walk leaves in HBM, from the last time that each tile is written. */
export function createWrongRows(group, walk, tensors) {
  if (!walk.broken) return { draw() {} };
  const shades = SHADES.map((shade) => svgNode(group, "path", { class: `wrong wrong-${shade}` }));
  const written = {};
  let drawn = "";
  return {
    draw(position) {
      const wrong = Object.entries(walk.found?.wrong ?? {}).map(([tensor, levels]) => [Number(tensor), levels]);
      const done = wrong.map(([tensor]) => {
        written[tensor] ??= lastWrites(walk, tensor);
        return [...written[tensor]].filter(([, step]) => step < position).map(([tile]) => tile);
      });
      const state = done.map((tiles) => tiles.length).join();
      if (state === drawn) return;
      drawn = state;
      const runs = wrong.flatMap(([tensor, levels], index) =>
        done[index].flatMap((tile) => runsOfTile(walk, tensors[tensor], tensor, tile, levels)),
      );
      shades.forEach((path, index) => {
        const d = runs.filter((run) => run.shade === SHADES[index]).map((run) => rectPath(run.rect)).join("");
        setAll(path, { d });
      });
    },
  };
}

/** The last step that writes each tile of a tensor. */
function lastWrites(walk, tensor) {
  const tiles = alongKeys(tensor) ? walk.keyTile : walk.queryTile;
  const last = new Map();
  for (let index = 0; index < walk.length; index++) {
    if (tensorOf(walk, index) !== tensor || !isMove(walk, index) || directionOf(walk, index) === READ) continue;
    last.set(tiles[index], index);
  }
  return last;
}

/** Rows of a tile that are equally wrong, as rectangles in its strip. */
function runsOfTile(walk, strip, tensor, tile, levels) {
  const keys = alongKeys(tensor);
  const [first, stop] = keys ? [tile * walk.keyRows, Math.min((tile + 1) * walk.keyRows, walk.keyLen)] : rowsOfTile(walk, tile);
  const runs = [];
  for (let row = first; row < stop; row++) {
    const start = row;
    while (row + 1 < stop && levels[row + 1] === levels[start]) row++;
    if (levels[start] !== "0") runs.push({ shade: levels[start], rect: rowsRect(strip, keys, start, row + 1, levels.length) });
  }
  return runs;
}

function rowsRect(strip, keys, first, stop, count) {
  const [from, to] = [first / count, stop / count];
  return keys
    ? { ...strip, x: strip.x + from * strip.width, width: (to - from) * strip.width }
    : { ...strip, y: strip.y + from * strip.height, height: (to - from) * strip.height };
}
