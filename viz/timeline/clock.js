// The one clock of all runs: its time, the range of it that is in view, and how it plays.

const PLAY_SECONDS = 8; // for the whole clock, at speed 1
const LEAP = 1 / 30; // of the whole, for each of the few steps of reduced motion
const REDUCED_STEP_MS = 250;
const LONGEST_FRAME_MS = 100;
const MOST_ZOOM = 2000;

export const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

// `changed(viewMoved)` is called whenever a picture of the clock is out of date.
export function createClock(changed) {
  const reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
  let lastFrame = 0;
  const clock = { time: 0, end: 1, view: { from: 0, to: 1 }, speed: 1, playing: false, moved: false };
  const length = () => clock.view.to - clock.view.from;

  return Object.assign(clock, {
    length,
    reset(end, time) {
      Object.assign(clock, { end, time, view: { from: 0, to: end }, moved: false });
    },
    whole: () => length() >= clock.end * (1 - 1e-9),
    shown: () => clock.time >= clock.view.from && clock.time <= clock.view.to,
    secondsToPlay: () => PLAY_SECONDS / clock.speed,
    play() {
      if (!clock.moved || clock.time >= clock.end) clock.time = 0;
      clock.playing = clock.moved = true;
      lastFrame = performance.now();
      changed();
    },
    pause() {
      clock.playing = false;
      changed();
    },
    goTo(time) {
      Object.assign(clock, { playing: false, moved: true, time: clamp(time, 0, clock.end) });
      if (!clock.shown()) clock.moveView(clock.time - length() / 2);
      changed();
    },
    advance(now) {
      const elapsed = now - lastFrame;
      if (reducedMotion.matches && elapsed < REDUCED_STEP_MS) return;
      lastFrame = now;
      const part = Math.min(elapsed, LONGEST_FRAME_MS) / 1000 / PLAY_SECONDS;
      clock.time = Math.min(clock.time + (reducedMotion.matches ? LEAP : part * clock.speed) * clock.end, clock.end);
      if (clock.time >= clock.end) clock.playing = false;
      else if (!clock.shown()) clock.moveView(clock.time - length() / 10);
    },
    moveView(from, wanted = length()) {
      const size = clamp(wanted, clock.end / MOST_ZOOM, clock.end);
      const start = clamp(from, 0, clock.end - size);
      clock.view = { from: start, to: start + size };
      changed(true);
    },
    zoom(factor, around = clock.time) {
      const anchor = clamp(around, clock.view.from, clock.view.to);
      const size = clamp(length() / factor, clock.end / MOST_ZOOM, clock.end);
      const part = (anchor - clock.view.from) / length();
      clock.moveView(anchor - part * size, size);
    },
  });
}
