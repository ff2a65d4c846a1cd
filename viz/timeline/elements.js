// The elements around the canvases: the overview, columns of panels, the line that names a block, the transport.

import { element } from "./dom.js";
import { ICONS, iconButton } from "./icons.js";
import { buildOverview } from "./overview.js";

const SPEEDS = [0.25, 0.5, 1, 2, 4];

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
  const buttons = element("div", "fa-buttons", bar);
  parts.first = iconButton("first", ICONS.start, data.text.first, buttons);
  parts.back = iconButton("back", ICONS.back, data.text.back, buttons);
  parts.play = iconButton("play", ICONS.play, data.text.play, buttons);
  parts.play.classList.add("fa-play");
  parts.on = iconButton("on", ICONS.on, data.text.on, buttons);
  parts.last = iconButton("last", ICONS.end, data.text.last, buttons);
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
  parts.zoomOut = iconButton("out", ICONS.out, data.text.zoom_out, zooms);
  parts.zoomIn = iconButton("in", ICONS.in, data.text.zoom_in, zooms);
  parts.fit = iconButton("fit", ICONS.fit, data.text.fit, zooms);
  const chips = element("div", "fa-chips", bar);
  for (const { kind, text } of data.chips) element("span", `fa-chip fa-${kind}`, chips, text);
}
