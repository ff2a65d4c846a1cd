// Time: it passes while the player plays or one step is on its way, and stands still on the ends of steps.
import { FASTEST_TWEEN, indexOfSpeed, speedsFor } from "./speeds.js";

const REDUCED_STOPS_PER_S = 4;
const LONGEST_FRAME_MS = 100; // a tab that was hidden does not leap

/**
 * Starts near `time` at the speed of `speed`. Calls `on.draw()` after each change of time, `on.settle()` where motion has
 * stopped, `on.playing(playing)` and `on.speed(index)` where these change, and stops by itself once `on.isGone()`.
 */
export function createPlayback(clock, { time, speed }, on) {
  const reduced = window.matchMedia("(prefers-reduced-motion: reduce)");
  const speeds = speedsFor(clock);
  const state = { time: clock.nearestStop(time), target: null, playing: false, speed: indexOfSpeed(speeds, speed), carried: 0 };
  let lastFrame = 0;
  let frameRequest = 0;

  return {
    speeds, toggle, moveTo, moveBy, moveOuter, scrubTo, setSpeed,
    stopScrubbing: on.settle,
    changeSpeed: (by) => setSpeed(state.speed + by),
    cancel: () => cancelAnimationFrame(frameRequest),
    speed: () => speeds[state.speed],
    time: () => state.time,
    stop: () => clock.stopFrom(state.time),
    isPlaying: () => state.playing,
    rests,
    /** How far the tile of a walk's step is on its way: 1 at rest, and wherever tweens are dropped. */
    travelled(walk) {
      const still = rests() || reduced.matches || speeds[state.speed].factor > FASTEST_TWEEN;
      return still ? 1 : clock.travelled(walk, state.time);
    },
  };

  function rests() {
    return !state.playing && state.target === null;
  }

  function frame(now) {
    const elapsed = Math.min(now - lastFrame, LONGEST_FRAME_MS);
    lastFrame = now;
    if (on.isGone()) return;
    state.time = advanced(elapsed);
    const end = state.target ?? clock.length;
    if (state.time >= end) {
      state.time = end;
      state.target = null;
      setPlaying(false);
      on.draw();
      return on.settle();
    }
    on.draw();
    frameRequest = requestAnimationFrame(frame);
  }

  function advanced(elapsed) {
    const { factor, seconds } = speeds[state.speed];
    if (reduced.matches) {
      state.carried += (elapsed / 1000) * Math.min(REDUCED_STOPS_PER_S, factor * REDUCED_STOPS_PER_S);
      const whole = Math.floor(state.carried);
      state.carried -= whole;
      return clock.stopsOn(state.time, whole);
    }
    if (seconds && state.target === null) return state.time + (clock.length * elapsed) / (1000 * seconds);
    return clock.advance(state.time, elapsed * (state.target === null ? factor : 1));
  }

  function run() {
    cancelAnimationFrame(frameRequest);
    lastFrame = performance.now();
    frameRequest = requestAnimationFrame(frame);
  }

  function halt() {
    cancelAnimationFrame(frameRequest);
    state.time = clock.stopFrom(state.time);
    state.target = null;
    setPlaying(false);
  }

  function setPlaying(playing) {
    if (state.playing !== playing) on.playing(playing);
    state.playing = playing;
  }

  function toggle() {
    const played = state.playing;
    halt();
    if (played) {
      on.draw();
      return on.settle();
    }
    if (state.time >= clock.length) state.time = 0;
    setPlaying(true);
    run();
  }

  function moveTo(time) {
    scrubTo(time);
    on.settle();
  }

  /** One stop on travels, one back is there at once. */
  function moveBy(stops) {
    const from = state.target ?? clock.stopFrom(state.time);
    halt();
    const to = clock.stopsOn(from, stops);
    if (stops !== 1 || reduced.matches || to === from) return moveTo(to);
    state.time = from;
    state.target = to;
    run();
  }

  function moveOuter(forward) {
    moveTo(clock.outerStop(clock.stopFrom(state.time), forward));
  }

  function scrubTo(time) {
    halt();
    state.time = clock.nearestStop(time);
    on.draw();
  }

  function setSpeed(index) {
    state.speed = Math.min(Math.max(index, 0), speeds.length - 1);
    on.speed(state.speed);
  }
}
