// Small helpers for SVG and text. Nothing here knows of attention.
const SVG = "http://www.w3.org/2000/svg";
const NUMBERS = new Intl.NumberFormat("en-US"); // made once: a frame formats many
const SUBSCRIPTS = "₀₁₂₃₄₅₆₇₈₉";

export function svgNode(parent, tag, attributes = {}, text = "") {
  const node = document.createElementNS(SVG, tag);
  setAll(node, attributes);
  if (text) node.textContent = text;
  parent.append(node);
  return node;
}

export function htmlNode(parent, tag, className = "", text = "") {
  const node = document.createElement(tag);
  if (className) node.className = className;
  if (text) node.textContent = text;
  parent.append(node);
  return node;
}

/** Writes attributes only where they changed, as `setText` does. */
export function setAll(node, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (node.getAttribute(name) !== String(value)) node.setAttribute(name, value);
  }
}

export function setRect(node, { x, y, width, height }) {
  setAll(node, { x, y, width: Math.max(width, 0), height: Math.max(height, 0) });
}

/** Writes text only where it changed: a frame touches few nodes. */
export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

export function show(node, visible) {
  const display = visible ? "" : "none";
  if (node.style.display !== display) node.style.display = display;
}

/** 12 as ₁₂. */
export function subscript(index) {
  return String(index).replace(/[0-9]/g, (digit) => SUBSCRIPTS[digit]);
}

/** 12,345. */
export function grouped(value) {
  return NUMBERS.format(value);
}

export function exactBytes(bytes) {
  return `${grouped(bytes)} B`;
}

export function fillTemplate(template, values) {
  return template.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? values[name] : whole));
}

export function rectPath({ x, y, width, height }) {
  return `M${x} ${y}h${width}v${height}h${-width}z`;
}

export function lerpRect(from, to, fraction) {
  const mix = (name) => from[name] + (to[name] - from[name]) * fraction;
  return { x: mix("x"), y: mix("y"), width: mix("width"), height: mix("height") };
}
