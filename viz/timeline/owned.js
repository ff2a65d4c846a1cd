// What a block owns: a strip of tiles for each tensor of its head, in the colours of the tile view.

import { element, setText } from "./dom.js";

const MOST_CELLS = 96; // of which a strip still shows the edges

export function buildOwned(box, grids) {
  const words = element("p", "fa-owned-words", box);
  const [title, amount] = [element("b", "", words), element("span", "fa-note", words)];
  const shown = grids.map(({ panel }) => ({ grid: panel.grid, strips: buildStrips(element("div", "", box), panel) }));
  return { title, amount, shown };
}

function buildStrips(parent, panel) {
  const strips = panel.strips.map(({ letter, role, axis, use }) => {
    const strip = element("div", `fa-strip fa-${role} fa-${use}`, parent);
    element("b", "", strip, letter);
    const track = element("span", "fa-track", strip), tiles = panel.tiles[axis];
    track.dataset.tensor = letter;
    track.style.setProperty("--fa-tiles", tiles);
    track.classList.toggle("fa-fine", tiles > MOST_CELLS);
    return { track, axis, tiles, bar: element("i", "", track) };
  });
  return { parent, strips };
}

export function showOwned({ title, amount, shown }, pointed, text) {
  setText(title, pointed ? pointed.owns_text : text.pick);
  setText(amount, pointed ? pointed.amount_text : "");
  const current = pointed?.grid ?? shown[shown.length - 1].grid;
  for (const { grid, strips } of shown) {
    strips.parent.hidden = grid !== current;
    if (grid === current) strips.strips.forEach((strip) => showStrip(strip, pointed));
  }
}

function showStrip({ track, bar, tiles, axis }, pointed) {
  const [first, end, step] = pointed ? pointed.owned[axis] : [0, 0, 1];
  track.dataset.tiles = pointed ? `${first}-${end}${step > 1 ? ` by ${step}` : ""}` : "";
  bar.style.left = `${(first / tiles) * 100}%`;
  bar.style.width = `${((end - first) / tiles) * 100}%`;
  bar.style.setProperty("--fa-each", step > 1 ? `${100 / (end - first)}%` : "100%"); // of the bar, for each tile owned
  bar.style.setProperty("--fa-every", step > 1 ? `${(100 * step) / (end - first)}%` : "100%");
}
