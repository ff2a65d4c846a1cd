// How places on the clock are told in words: where we are, the ticks of the axis, where a walk ends.
import { BYTES, STEPS, TIME } from "./clock.js";
import { exactBytes, fillTemplate, grouped } from "./svg.js";

const UNITS = {
  [BYTES]: [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]],
  [TIME]: [[1e15, "s"], [1e12, "ms"], [1e9, "µs"], [1e6, "ns"], [1e3, "ps"], [1, "fs"]],
};
const TIME_DIGITS = 4;

export function createReading(clock, walks, texts, gpu) {
  const [size, unit] = clock.kind === STEPS ? [1, ""] : UNITS[clock.kind].find(([each]) => clock.length >= each);
  const time = (value) => `${(value / size).toFixed(TIME_DIGITS - String(Math.floor(clock.length / size)).length)} ${unit}`;
  const step = (value) => fillTemplate(texts.atStep, { step: grouped(value) });
  const together = (stop) => clock.ends.every((end) => stop <= end);
  const kinds = {
    [STEPS]: {
      position: (stop) => fillTemplate(texts.position, { step: grouped(stop), steps: grouped(clock.length) }),
      tick: step,
      end: (walk) => step(walks[walk].length),
      drawn: ["read", "compute", "write"],
      note: "",
    },
    [BYTES]: {
      position: (stop) => (together(stop) ? fillTemplate(texts.bytesEach, { bytes: exactBytes(stop) }) : exactBytes(stop)),
      tick: (value) => `${grouped(value / size)} ${unit}`,
      end: (walk) => walks[walk].movedText,
      drawn: ["read", "write"], // arithmetic has no width
      note: texts.noWidth,
    },
    [TIME]: {
      position: (stop) => fillTemplate(texts.timeModelled, { time: time(stop) }),
      tick: (value) => `${grouped(value / size)} ${unit}`,
      end: (walk) => time(clock.ends[walk]),
      drawn: ["read", "compute", "write"],
      note: fillTemplate(texts.timeRule, gpu),
    },
  };
  return kinds[clock.kind];
}
