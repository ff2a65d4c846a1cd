// Numbers and names in words: one unit of time for the whole clock, blocks named by what they compute.

import { indexOf, partOf, placeOf } from "./runs.js";

export const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);

export function timeFormat(end) {
  const [factor, unit] = [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]].find(
    ([f], i, all) => end < f * 1000 || i === all.length - 1,
  );
  const digits = end / factor >= 100 ? 1 : 2;
  return { factor, unit, text: (seconds) => `${(seconds / factor).toFixed(digits)} ${unit}` };
}

export function axisTicks(from, to, width, format) {
  const rough = ((to - from) / format.factor) * (110 / width);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find((m) => m * power >= rough);
  const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  const ticks = [];
  for (let k = Math.ceil(from / format.factor / step - 1e-9); k * step <= (to / format.factor) * (1 + 1e-9); k++) {
    const number = (k * step).toFixed(digits);
    ticks.push([k * step * format.factor, k === 0 ? "0" : `${number} ${format.unit}`]);
  }
  return ticks;
}

export function slowdown(ratio) {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(ratio)) - 1);
  return (Math.round(ratio / power) * power).toLocaleString("en-US");
}

export function blockWords(panel, block, format) {
  const lane = panel.lane[block];
  return fill(panel.block_text, {
    ...placeOf(panel, block),
    index: indexOf(panel, block).join(", "),
    tiles: panel.work[partOf(panel, block)].toLocaleString("en-US"),
    sm: Math.floor(lane / panel.slots_per_sm),
    slot: lane % panel.slots_per_sm,
    start: format.text(panel.start[block]),
    end: format.text(panel.end[block]),
    duration: format.text(panel.end[block] - panel.start[block]),
  });
}
