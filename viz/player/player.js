// The tile player: owns time, and draws walks as a function of it. Host-neutral: give it an element and data.
import { fillTemplate, htmlNode, subscript } from "./svg.js";
import { captionValues, decodeWalk, isMove, movedBytes, outerStep } from "./walk.js";
import { createLedger } from "./ledger.js";
import { createScene } from "./scene.js";
import { createTransport } from "./transport.js";
import { bindKeys } from "./keys.js";

const STEP_MS = 180;
const LONGEST_STEP_MS = 320; // for the largest tile of the walk
const REST_MS = 60;
const FACTORS = [0.25, 0.5, 1, 2, 4];
const WHOLE_SECONDS = [120, 60, 20]; // speeds that show the whole walk in so long; they are drawn without tweens
const FASTEST_TWEEN = 4;
const REDUCED_STEPS_PER_S = 4;
const LONGEST_FRAME_MS = 100; // a tab that was hidden does not leap
const REPORT_AFTER_MS = 400;

/** `data` is what `payload_of` of scene.py makes, with `texts` and `step`; `options.report(step)` is called at rest. */
export function createPlayer(root, data, options = {}) {
  const walks = data.walks.map((described) => decodeWalk(described, data.columns));
  const length = Math.max(...walks.map((walk) => walk.length));
  const reduced = window.matchMedia("(prefers-reduced-motion: reduce)");
  const speeds = speedsFor(length);
  const state = { time: clamp(data.step ?? 0, 0, length), target: null, playing: false, speed: indexOfFactor(speeds, options.speedFactor ?? 1) };
  let lastFrame = 0;
  let frameRequest = 0;
  let reportTimer = 0;

  root.replaceChildren();
  const host = htmlNode(root, "div", "fa-player");
  const stage = htmlNode(host, "div", "stage");
  const scenes = walks.map((walk) => createScene(stage, walk, data.texts));
  const api = { length, speeds, speedFactor: () => speeds[state.speed].factor, moveTo, moveBy, moveOuter, toggle, setSpeed, changeSpeed, scrubTo, stopScrubbing, destroy };
  const transport = createTransport(host, walks, data.texts, api);
  const ledger = createLedger(host, walks, data.texts);
  const unbindKeys = bindKeys(host, api);
  const observer = new ResizeObserver(() => (host.isConnected ? (resize(), draw()) : destroy()));
  observer.observe(host);
  transport.setSpeed(state.speed);
  transport.setPlaying(false);
  resize();
  draw();
  settle(false);
  root.dataset.ready = "1";
  return api;

  function resize() {
    scenes.forEach((scene) => scene.resize());
    transport.resize();
  }

  function draw() {
    const position = Math.ceil(state.time);
    const positions = walks.map((walk) => Math.min(position, walk.length));
    scenes.forEach((scene, index) => scene.draw(positions[index], tweened(walks[index], state.time, positions[index])));
    ledger.draw(positions);
    transport.draw(position, state.time, captionOf(walks[0], positions[0], data.texts));
    host.dataset.step = String(position);
  }

  /** How far the tile of the step is on its way, eased; 1 at rest and wherever tweens are dropped. */
  function tweened(walk, time, position) {
    if (reduced.matches || currentFactor() > FASTEST_TWEEN || time >= position) return 1;
    const whole = stepMs(walk, position - 1);
    const share = ((time - (position - 1)) * whole) / (whole - REST_MS);
    return share >= 1 ? 1 : eased(share);
  }

  function currentFactor() {
    const { factor, seconds } = speeds[state.speed];
    return factor ?? (length * (STEP_MS + REST_MS)) / (1000 * seconds);
  }

  function frame(now) {
    const elapsed = Math.min(now - lastFrame, LONGEST_FRAME_MS);
    lastFrame = now;
    if (!host.isConnected) return destroy();
    state.time = advance(elapsed);
    const stop = state.target ?? length;
    if (state.time >= stop) {
      state.time = stop;
      state.playing = false;
      state.target = null;
      transport.setPlaying(false);
      draw();
      return settle(true);
    }
    draw();
    frameRequest = requestAnimationFrame(frame);
  }

  function advance(elapsed) {
    if (reduced.matches) {
      state.carried = (state.carried ?? 0) + (elapsed / 1000) * Math.min(REDUCED_STEPS_PER_S, currentFactor() * REDUCED_STEPS_PER_S);
      const whole = Math.floor(state.carried);
      state.carried -= whole;
      return Math.ceil(state.time) + whole;
    }
    const { seconds } = speeds[state.speed];
    if (seconds && state.target === null) return state.time + (length * elapsed) / (1000 * seconds);
    let time = state.time;
    let left = elapsed * (state.target === null ? currentFactor() : 1);
    while (left > 0 && time < length) {
      const whole = stepMs(walks[0], Math.floor(time));
      const rest = (Math.floor(time) + 1 - time) * whole;
      time = left >= rest ? Math.floor(time) + 1 : time + left / whole;
      left -= rest;
    }
    return time;
  }

  function run() {
    cancelAnimationFrame(frameRequest);
    lastFrame = performance.now();
    frameRequest = requestAnimationFrame(frame);
  }

  function halt() {
    cancelAnimationFrame(frameRequest);
    state.time = Math.ceil(state.time);
    state.target = null;
    if (state.playing) transport.setPlaying(false);
    state.playing = false;
  }

  function toggle() {
    if (state.playing) {
      halt();
      draw();
      return settle(true);
    }
    halt();
    if (state.time >= length) state.time = 0;
    state.playing = true;
    transport.setPlaying(true);
    run();
  }

  function moveTo(position) {
    halt();
    state.time = clamp(position, 0, length);
    draw();
    settle(true);
  }

  /** One step on travels, one step back is there at once. */
  function moveBy(steps) {
    const from = state.target ?? Math.ceil(state.time);
    halt();
    const to = clamp(from + steps, 0, length);
    if (steps !== 1 || reduced.matches || to === from) return moveTo(to);
    state.time = from;
    state.target = to;
    run();
  }

  function moveOuter(forward) {
    moveTo(outerStep(walks[0], Math.ceil(state.time), forward));
  }

  function setSpeed(index) {
    state.speed = clamp(index, 0, speeds.length - 1);
    transport.setSpeed(state.speed);
  }

  function changeSpeed(by) {
    setSpeed(state.speed + by);
  }

  function scrubTo(position) {
    halt();
    state.time = clamp(position, 0, length);
    draw();
  }

  function stopScrubbing() {
    settle(true);
  }

  /** Motion has stopped: say the caption once, and tell the host where we are. */
  function settle(tellsHost) {
    transport.announce(captionOf(walks[0], Math.min(state.time, walks[0].length), data.texts));
    if (!tellsHost || !options.report) return;
    clearTimeout(reportTimer);
    reportTimer = setTimeout(() => !state.playing && state.target === null && options.report(state.time), REPORT_AFTER_MS);
  }

  function destroy() {
    cancelAnimationFrame(frameRequest);
    clearTimeout(reportTimer);
    observer.disconnect();
    unbindKeys();
  }

  function stepMs(walk, index) {
    const stretch = isMove(walk, index) ? movedBytes(walk, index) / walk.largestMove : 0;
    return STEP_MS + (LONGEST_STEP_MS - STEP_MS) * stretch + REST_MS;
  }
}

/** What hosts call, each time their data change: the same walks keep their player, step and speed. */
export function render(root, data, report) {
  if (root.walkKey === data.key && root.player) return;
  const speedFactor = root.player?.speedFactor();
  root.player?.destroy();
  root.walkKey = data.key;
  root.player = createPlayer(root, data, { report: (step) => report("step", step), speedFactor });
}

function indexOfFactor(speeds, factor) {
  return speeds.findIndex((speed) => speed.factor === factor);
}

function speedsFor(length) {
  const fastest = FACTORS.at(-1);
  const seconds = WHOLE_SECONDS.filter((s) => (length * (STEP_MS + REST_MS)) / 1000 / s > fastest);
  return [...FACTORS.map((factor) => ({ factor })), ...seconds.map((s) => ({ seconds: s }))];
}

function captionOf(walk, position, texts) {
  const template = position === 0 ? texts.beforeStart : stepTemplate(walk, position);
  return { walk: walk.short, template, plain: fillTemplate(template, { walk: walk.short }) };
}

function stepTemplate(walk, position) {
  const values = captionValues(walk, position);
  const named = { ...values, q_sub: subscript(values.q), k_sub: subscript(values.k) };
  return fillTemplate(walk.captions[walk.caption[position - 1]], named);
}

const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

/** cubic-bezier(.2, 0, 0, 1), solved for x by bisection. */
function eased(x) {
  const bezier = (t, first, second) => 3 * (1 - t) ** 2 * t * first + 3 * (1 - t) * t ** 2 * second + t ** 3;
  let [low, high] = [0, 1];
  for (let round = 0; round < 20; round++) {
    const middle = (low + high) / 2;
    if (bezier(middle, 0.2, 0) < x) low = middle;
    else high = middle;
  }
  return bezier(low, 0, 1);
}
