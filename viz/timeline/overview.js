// The row over the timelines: the grid, the chip, and what came of it in numbers.

import { buildChip } from "./chip.js";
import { element } from "./dom.js";
import { buildGrid } from "./grid.js";

export function buildOverview(root, data, panels) {
  const row = element("div", "fa-overview", root);
  return {
    grid: buildGrid(buildBox(row, data.text.grid, data.text.exact), data, panels),
    chip: buildChip(buildBox(row, "", ""), data, panels),
    comparison: buildComparison(row, data.comparison),
  };
}

function buildBox(row, title, provenance) {
  const box = element("section", "fa-box", row);
  const head = element("header", "fa-box-head", box);
  element("h3", "", head, title);
  element("span", "fa-note", head, provenance);
  return box;
}

function buildComparison(row, { title, provenance, tables, lines }) {
  const box = buildBox(row, title, provenance);
  for (const table of tables) buildTable(box, table);
  for (const line of lines) element("p", "fa-note", box, line);
  return box;
}

function buildTable(box, { title, head, rows }) {
  const table = element("table", "fa-table", box);
  if (title) element("caption", "", table, title);
  const names = element("tr", "", element("thead", "", table));
  for (const name of head) element("th", "", names, name);
  const body = element("tbody", "", table);
  for (const cells of rows) {
    const line = element("tr", "", body);
    cells.forEach((cell, i) => element(i ? "td" : "th", "", line, cell));
  }
}
