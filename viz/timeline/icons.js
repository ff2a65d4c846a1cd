// Icons drawn in line, and the buttons that carry them.

import { element } from "./dom.js";

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

export function iconButton(part, path, label, parent) {
  const node = element("button", "fa-button", parent);
  node.type = "button";
  node.innerHTML = icon(path);
  node.title = label;
  node.setAttribute("aria-label", label);
  node.dataset.part = part;
  return node;
}
