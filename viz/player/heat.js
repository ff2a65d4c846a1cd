// The numbers of a tile as a small picture: the score hue for positive, grey for negative, a hatch for minus infinity.
import { htmlNode, setAll } from "./svg.js";

const MASKED = -128;
const STEPS = 100; // levels from zero to the largest number
const LARGEST = 184; // px

/** `heat` has rows, columns and their levels as base64; `choose(row, column)` is told where a cell is clicked. */
export function createHeat(parent, heat, choose) {
  const canvas = htmlNode(parent, "canvas", "heat");
  setAll(canvas, { width: heat.columns, height: heat.rows, role: "img", "aria-label": heat.label });
  const side = Math.min(LARGEST / heat.columns, LARGEST / heat.rows, 24);
  canvas.style.width = `${Math.max(heat.columns * side, 8)}px`;
  canvas.style.height = `${Math.max(heat.rows * side, 8)}px`;
  paint(canvas, Int8Array.from(atob(heat.cells), (letter) => letter.charCodeAt(0)), heat.columns);
  canvas.addEventListener("click", (event) => {
    const box = canvas.getBoundingClientRect();
    const index = (share, count) => Math.min(Math.max(Math.floor(share * count), 0), count - 1);
    const row = index((event.clientY - box.top) / box.height, heat.rows);
    const column = index((event.clientX - box.left) / box.width, heat.columns);
    choose(heat.firstRow + row, heat.firstColumn + column);
  });
  return canvas;
}

function paint(canvas, levels, columns) {
  const style = getComputedStyle(canvas);
  const pen = canvas.getContext("2d");
  const [positive, negative] = ["--fa-scores", "--fa-ink-3"].map((name) => style.getPropertyValue(name).trim());
  levels.forEach((level, index) => {
    if (level === MASKED) return;
    pen.globalAlpha = 1;
    pen.fillStyle = style.getPropertyValue("--fa-surface").trim();
    pen.fillRect(index % columns, Math.floor(index / columns), 1, 1);
    pen.globalAlpha = Math.abs(level) / STEPS;
    pen.fillStyle = level < 0 ? negative : positive;
    pen.fillRect(index % columns, Math.floor(index / columns), 1, 1);
  });
}
