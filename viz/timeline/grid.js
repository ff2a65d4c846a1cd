// The grid: batch and heads down, the blocks of a head across, each in the shade of its work; and what a block owns.
//
// Grids of several kernels for one problem stand beside one another, row by row the same head: V1's blocks are a
// column, each beside the blocks into which V2 cuts its work.

import { buildBuilder } from "./builder.js";
import { clamp } from "./clock.js";
import { element } from "./dom.js";
import { sizeCanvas } from "./draw.js";
import { buildOwned, showOwned } from "./owned.js";
import { partOf, placeOf } from "./runs.js";

const STRIP_PX = 16; // width of a column of its own
const LEAST_PX = 3; // height of what is there of a grid
const GAP_PX = 10; // between two grids
const TALLEST_ROW_PX = 12;
const TALLEST_PX = 80;

export function buildGrid(box, data, panels) {
  const grids = distinctGrids(panels), { rows } = grids[0];
  const builder = buildBuilder(box, grids, data.text, paint);
  const picture = element("div", "fa-grid-picture", box);
  const edges = element("div", "fa-grid-heads fa-note", picture);
  element("span", "", edges, `${data.text.head} 0`);
  element("span", "", edges, rows > 1 ? String(rows - 1) : "");
  const canvas = element("canvas", "fa-grid-canvas", picture);
  canvas.tabIndex = 0;
  canvas.dataset.part = "grid";
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", `${data.text.grid}. ${data.text.pick}`);
  canvas.style.height = `${Math.min(TALLEST_PX, rows * TALLEST_ROW_PX)}px`;
  const below = element("p", "fa-grid-across fa-note", box);
  element("span", "", below, data.text.across);
  const legend = element("span", "fa-legend", below);
  element("span", "fa-ramp", legend);
  element("span", "", legend, data.text.legend);
  const owned = buildOwned(box, grids);
  let colours, pointed = null;

  function paint() {
    const width = canvas.clientWidth, height = canvas.clientHeight;
    const context = sizeCanvas(canvas, width, height), places = placesOf(grids, width);
    grids.forEach((grid, i) => drawCells(context, grid, places[i], height, builder.built(), colours));
    if (pointed) grids.forEach((grid, i) => drawPointed(context, grid, places[i], height, pointed, colours));
  }

  return {
    canvas,
    builder,
    draw(nowColours, nowPointed) {
      [colours, pointed] = [nowColours, nowPointed];
      paint();
      showOwned(owned, pointed, data.text);
    },
    blockAt({ clientX, clientY }) {
      const bounds = canvas.getBoundingClientRect();
      const x = clientX - bounds.left, row = Math.floor(clamp((clientY - bounds.top) / bounds.height, 0, 1 - 1e-9) * rows);
      const places = placesOf(grids, bounds.width);
      const at = Math.max(0, places.findLastIndex(({ left }) => x >= left));
      const column = Math.floor(clamp((x - places[at].left) / places[at].width, 0, 1 - 1e-9) * grids[at].columns);
      return blockOf(grids[at], column, row);
    },
    // The block beside another, or the first where there is none; across the edge of a grid lies the next grid.
    beside(pointed, right, down) {
      const { grid, column, row } = cellOf(grids, pointed && panels[pointed.panel], pointed?.block);
      if (!pointed) return blockOf(grid, column, row);
      const at = grids.indexOf(grid), next = grids[column + right < 0 ? at - 1 : column + right >= grid.columns ? at + 1 : at];
      const moved = !next || next === grid ? clamp(column + right, 0, grid.columns - 1) : right < 0 ? next.columns - 1 : 0;
      return blockOf(next ?? grid, moved, clamp(row + down, 0, rows - 1));
    },
  };
}

function distinctGrids(panels) {
  const grids = [];
  panels.forEach((panel, index) => {
    if (grids.some((grid) => grid.panel.grid === panel.grid)) return;
    const sizes = Object.fromEntries(panel.axes);
    grids.push({ panel, index, sizes, columns: panel.work.length, rows: sizes.batch * sizes.head });
  });
  return grids.sort((a, b) => a.columns - b.columns);
}

// Grids of one column are strips; the others share what is left.
function placesOf(grids, width) {
  const strips = grids.filter(({ columns }, i) => columns === 1 && i < grids.length - 1).length;
  const wide = (width - strips * STRIP_PX - (grids.length - 1) * GAP_PX) / (grids.length - strips);
  let left = 0;
  return grids.map((_, i) => {
    const place = { left, width: i < strips ? STRIP_PX : wide };
    left += place.width + GAP_PX;
    return place;
  });
}

function blockOf({ panel, index, sizes }, column, row) {
  const place = { head: row % sizes.head, batch: Math.floor(row / sizes.head) };
  let block = 0, step = 1, part = column;
  for (const [name, size] of panel.axes) {
    block += step * (place[name] ?? part % size);
    if (!(name in place)) part = Math.floor(part / size);
    step *= size;
  }
  return { panel: index, block };
}

function cellOf(grids, panel, block) {
  if (!panel) return { grid: grids[grids.length - 1], column: 0, row: 0 };
  const grid = grids.find((each) => each.panel.grid === panel.grid);
  const { head, batch } = placeOf(panel, block);
  return { grid, column: partOf(panel, block), row: batch * grid.sizes.head + head };
}

// `built` tells how much of the grid is there: rows, and of a row the part of its blocks.
function drawCells(context, grid, { left, width }, height, built, colours) {
  const cell = width / grid.columns, row = height / grid.rows, columns = Math.ceil(built.part * grid.columns);
  const [seamX, seamY] = [cell >= 4 ? 1 : 0, row >= 4 ? 1 : 0];
  if (built.rows < grid.rows || columns < grid.columns) {
    context.strokeStyle = colours.line; // what is still to come
    context.strokeRect(left + 0.5, 0.5, width - 1, height - 1);
  }
  for (let column = 0; column < columns; column++) {
    context.fillStyle = colours.ramp[grid.panel.partShades[column]];
    // A head has the work of every other, so rows that are too low to be told apart are one bar.
    if (!seamY) context.fillRect(left + column * cell, 0, cell - seamX, Math.max(built.rows * row, LEAST_PX));
    else for (let r = 0; r < built.rows; r++) context.fillRect(left + column * cell, r * row, cell - seamX, row - seamY);
  }
}

function drawPointed(context, grid, { left, width }, height, pointed, colours) {
  const { head, batch } = pointed.place;
  const across = pointed.grid === grid.panel.grid ? [pointed.part, pointed.part + 1] : [0, grid.columns];
  const cell = width / grid.columns, row = height / grid.rows;
  const wide = Math.max((across[1] - across[0]) * cell, 4), tall = Math.max(row, 4);
  const x = clamp(left + across[0] * cell, left + 1, left + width - wide), y = (batch * grid.sizes.head + head) * row;
  for (const [colour, line] of [[colours.surface, 4], [colours.ink, 2]]) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(x, clamp(y, 1, height - tall), wide - 1, tall - 1);
  }
}
