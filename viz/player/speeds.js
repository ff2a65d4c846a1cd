// The speeds that can be chosen: multiples of the usual one, and for a long walk, seconds for the whole.
const FACTORS = [0.25, 0.5, 1, 2, 4];
const WHOLE_SECONDS = [120, 60, 20]; // drawn without tweens
export const FASTEST_TWEEN = FACTORS.at(-1);

/** Each with the `factor` it plays at; `seconds` where it is a time for the whole. */
export function speedsFor(clock) {
  const whole = WHOLE_SECONDS.map((seconds) => ({ seconds, factor: clock.durationMs / 1000 / seconds }));
  return [...FACTORS.map((factor) => ({ factor })), ...whole.filter(({ factor }) => factor > FASTEST_TWEEN)];
}

/** The speed of an earlier player, or the usual one. */
export function indexOfSpeed(speeds, wanted) {
  const found = speeds.findIndex((speed) => speed.seconds === wanted?.seconds && (speed.seconds || speed.factor === wanted?.factor));
  return found >= 0 ? found : FACTORS.indexOf(1);
}
