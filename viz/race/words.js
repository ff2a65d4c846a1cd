// Numbers of a race as text.

const UNITS = [
  [1e3, "s"],
  [1, "ms"],
  [1e-3, "µs"],
];

/** A time in ms with the decimals of its unit kept, so that the clock does not jump about. */
export function clockText(ms) {
  const [factor, unit] = UNITS.find(([size]) => ms >= size) ?? UNITS.at(-1);
  return `${(ms / factor).toFixed(2)} ${unit}`;
}

export function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}
