// The elements around the canvases: the overview, columns of panels, the line that names a block, the transport.

import { element } from "./dom.js";
import { buildOverview } from "./overview.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4];

export const ICONS = {
  start: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  on: "M5 3v10l7-5z",
  end: "M11 3h2v10h-2zM3 3v10l7-5z",
  out: "M3 7h10v2H3z",
  in: "M3 7h10v2H3zM7 3h2v10H7z",
  fit: "M2 3h2v10H2zM12 3h2v10h-2zM5 8l3-3v2h0v2h0v2zM11 8L8 5v6z",
};

export function icon(path) {
  return `<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path fill="currentColor" d="${path}"/></svg>`;
}

export function build(root, data, panels) {
  const focused = root.querySelector(":focus")?.dataset.part;
  root.replaceChildren();
  const whole = element("div", "fa-timeline", root);
  const parts = { panels: [], axes: [], ...buildOverview(whole, data, panels) };
  const columns = element("div", "fa-columns", whole);
  columns.dataset.count = data.columns.length;
  for (const column of data.columns) buildColumn(element("section", "fa-column", columns), column, panels, parts);
  const foot = element("div", "fa-foot", whole);
  parts.readout = element("p", "fa-readout", foot);
  parts.readout.dataset.part = "readout";
  buildTransport(element("div", "fa-transport", whole), data, parts);
  parts.live = element("p", "fa-live", whole);
  parts.live.setAttribute("aria-live", "polite");
  if (focused) root.querySelector(`[data-part="${focused}"]`)?.focus({ preventScroll: true });
  return parts;
}

function buildColumn(column, { title, note, panels: indices }, panels, parts) {
  const head = element("header", "fa-column-head", column);
  element("h3", "", head, title);
  element("span", "fa-note", head, note);
  for (const index of indices) {
    const panel = panels[index];
    const row = element("div", "fa-panel", column);
    const label = element("div", "fa-panel-label", row);
    element("b", "", label, panel.label);
    element("span", "", label, panel.sublabel);
    const busy = element("span", "fa-busy", label);
    const main = element("div", "fa-panel-main", row);
    const headline = element("p", "fa-headline", main);
    element("span", "", headline, panel.headline);
    element("span", `fa-provenance fa-${panel.kind}`, headline, panel.provenance);
    const box = element("div", "fa-lanes", main);
    const base = element("canvas", "", box);
    const over = element("canvas", "fa-over", box);
    over.tabIndex = 0;
    over.dataset.part = `panel-${index}`;
    over.setAttribute("role", "img");
    over.setAttribute("aria-label", `${panel.name}. ${panel.headline}. ${panel.tail_text}`);
    parts.panels[index] = { panel, box, base, over, busy };
  }
  parts.axes.push(element("canvas", "fa-axis", column));
}

function buildTransport(bar, data, parts) {
  const button = (part, path, label, parent) => {
    const node = element("button", "fa-button", parent);
    node.type = "button";
    node.innerHTML = icon(path);
    node.title = label;
    node.setAttribute("aria-label", label);
    node.dataset.part = part;
    return node;
  };
  const buttons = element("div", "fa-buttons", bar);
  parts.first = button("first", ICONS.start, data.text.first, buttons);
  parts.back = button("back", ICONS.back, data.text.back, buttons);
  parts.play = button("play", ICONS.play, data.text.play, buttons);
  parts.play.classList.add("fa-play");
  parts.on = button("on", ICONS.on, data.text.on, buttons);
  parts.last = button("last", ICONS.end, data.text.last, buttons);
  parts.scrub = element("input", "fa-scrub", bar);
  Object.assign(parts.scrub, { type: "range", min: "0", max: "1", step: "any" });
  parts.scrub.setAttribute("aria-label", data.text.scrub);
  parts.scrub.dataset.part = "scrub";
  parts.position = element("output", "fa-position", bar);
  parts.pace = element("span", "fa-note fa-pace", bar);
  parts.speed = element("select", "fa-speed", bar);
  parts.speed.setAttribute("aria-label", data.text.speed);
  parts.speed.dataset.part = "speed";
  for (const speed of SPEEDS) parts.speed.append(new Option(`${speed}×`, speed));
  const zooms = element("div", "fa-buttons", bar);
  parts.zoomOut = button("out", ICONS.out, data.text.zoom_out, zooms);
  parts.zoomIn = button("in", ICONS.in, data.text.zoom_in, zooms);
  parts.fit = button("fit", ICONS.fit, data.text.fit, zooms);
  const chips = element("div", "fa-chips", bar);
  for (const { kind, text } of data.chips) element("span", `fa-chip fa-${kind}`, chips, text);
}
