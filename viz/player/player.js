// The tile player: owns time, and draws walks as a function of it. Host-neutral: give it an element and data.
import { fillTemplate, htmlNode } from "./svg.js";
import { decodeWalk } from "./walk.js";
import { BYTES, STEPS, TIME, createClock } from "./clock.js";
import { FASTEST_TWEEN, indexOfSpeed, speedsFor } from "./speeds.js";
import { captionOf } from "./caption.js";
import { createCode } from "./code.js";
import { createInspector } from "./inspector.js";
import { keptAnswer } from "./kept.js";
import { createLedger } from "./ledger.js";
import { createPicker, tileInSlot } from "./pick.js";
import { createPictureButtons } from "./picture.js";
import { createReading } from "./reading.js";
import { describeTile } from "./rule.js";
import { createScene } from "./scene.js";
import { createClockChoice, createSwitch } from "./switch.js";
import { createTransport } from "./transport.js";
import { bindKeys } from "./keys.js";

const REDUCED_STOPS_PER_S = 4;
const [PAGE, FILE, NOTEBOOK] = ["page", "file", "notebook"]; // hosts
const LONGEST_FRAME_MS = 100; // a tab that was hidden does not leap
const REPORT_AFTER_MS = 400;
const PLACE_NAMES = { [STEPS]: "step", [BYTES]: "bytes", [TIME]: "fs" }; // as a place is reported on each clock

/**
 * `data` is what `payload_of` of scene.py makes, with `texts`, `clock`, `time`, `surprises` and, for two walks, `ratio`.
 * `options.report(time)` is called at rest, `options.changeClock(kind)` where another clock is chosen;
 * `options.before` is the player that this one takes the place of, `options.carryOn` says that it plays
 * on from where that one is. `options.ask(question)` wants the numbers of a
 * tile from the host, which hands them to `answer`; without it tiles only tell their name.
 */
export function createPlayer(root, data, options = {}) {
  const walks = data.walks.map((described) => decodeWalk(described, data.columns));
  const clock = createClock(data.clock, walks);
  const reading = createReading(clock, walks, data.texts, data.gpu);
  const compares = walks.length > 1;
  const reduced = window.matchMedia("(prefers-reduced-motion: reduce)");
  const speeds = speedsFor(clock);
  const state = {
    time: clock.nearestStop(startTime()),
    target: null,
    playing: false,
    speed: indexOfSpeed(speeds, options.before?.speed()),
    chosen: Math.min(options.before?.chosen() ?? walks.length - 1, walks.length - 1),
  };
  let lastFrame = 0;
  let frameRequest = 0;
  let reportTimer = 0;

  root.replaceChildren();
  const host = htmlNode(root, "div", compares ? "fa-player compare" : "fa-player");
  host.dataset.clock = clock.kind;
  const api = {
    speeds, moveTo, moveBy, moveOuter, toggle, setSpeed, changeSpeed, scrubTo, stopScrubbing, destroy,
    speed: () => speeds[state.speed],
    time: () => state.time,
    playing: () => state.playing,
    chosen: () => state.chosen,
    firstStep: () => clock.positionOf(0, state.time),
    clockKind: () => clock.kind,
    answer: (answer) => inspector.answer(answer),
    codeView: () => state.codeView,
  };
  const turns = compares ? createSwitch(host, walks, clock, data.texts, choose) : null;
  const stage = htmlNode(host, "div", "stage");
  const inspector = createInspector(host, data.inspector, { ask: options.ask, follow: followTile, wayTo: wayToStep });
  const scenes = walks.map((walk, index) => createScene(stage, walk, data.texts, compares, (frame) => makePicker(frame, walk, index)));
  const transport = createTransport(host, walks, clock, reading, data.texts, api);
  if (compares) createClockChoice(host, clock, data.texts, options.changeClock);
  const ledger = createLedger(host, walks, data);
  const code = createCode(host, walks, data.listings, data.code, options.before?.codeView(), (view) => (state.codeView = view));
  createPictureButtons(host, data.texts, frameToSave);
  const unbindKeys = bindKeys(host, api, data.host !== NOTEBOOK);
  const observer = new ResizeObserver(() => (host.isConnected ? (resize(), draw()) : destroy()));
  observer.observe(host);
  transport.setSpeed(state.speed);
  transport.setPlaying(false);
  choose(state.chosen);
  settle(changesClock());
  if (options.carryOn && options.before.playing()) toggle();
  root.dataset.ready = "1";
  return api;

  /** Another clock for the same walks starts where the first of them stood. */
  function startTime() {
    if (options.carryOn) return options.before.time();
    return changesClock() ? (clock.times[0][options.before.firstStep()] ?? 0) : (data.time ?? 0);
  }

  function changesClock() {
    return Boolean(options.before) && options.before.clockKind() !== clock.kind;
  }

  function choose(index) {
    state.chosen = index;
    scenes.forEach((scene, each) => scene.choose(each === index));
    transport.choose(index);
    code.choose(index);
    resize();
    draw();
  }

  function resize() {
    scenes.forEach((scene) => scene.resize());
    transport.resize();
  }

  function draw() {
    const stop = clock.stopFrom(state.time);
    const positions = walks.map((_, index) => clock.positionOf(index, stop));
    scenes.forEach((scene, index) => scene.draw(positions[index], travelled(index)));
    const pending = walks.map((_, index) => clock.pendingBytes(index, stop));
    ledger.draw(positions, pending);
    transport.draw(stop, state.time, captions(stop), positions, pending);
    turns?.draw(stop, state.chosen);
    code.draw(positions);
    inspector.draw();
    host.dataset.position = String(stop);
    if (!compares) host.dataset.step = String(positions[0]);
  }

  function captions(stop) {
    return walks.map((walk, index) =>
      captionOf(walk, clock.positionOf(index, stop), clock.hasEnded(index, stop), data.texts),
    );
  }

  /** What a picture of this frame shows, and what its file is called. */
  function frameToSave() {
    const stop = clock.stopFrom(state.time);
    const told = captions(stop);
    const [{ queryLen, keyLen, headDim, queryRows, keyRows }] = walks;
    return {
      panels: walks.map((walk, index) => ({ svg: scenes[index].svg, title: walk.name, caption: told[index].plain })),
      line: fillTemplate(data.texts.frameLine, {
        place: reading.position(stop), queries: queryLen, keys: keyLen, head_dim: headDim, query_rows: queryRows, key_rows: keyRows,
      }),
      name: `${walks.map((walk) => walk.algorithm).join("_")}_${PLACE_NAMES[clock.kind]}_${stop}`,
    };
  }

  /** 1 at rest and wherever tweens are dropped. */
  function travelled(index) {
    const still = !state.playing && state.target === null;
    return still || reduced.matches || speeds[state.speed].factor > FASTEST_TWEEN ? 1 : clock.travelled(index, state.time);
  }

  function frame(now) {
    const elapsed = Math.min(now - lastFrame, LONGEST_FRAME_MS);
    lastFrame = now;
    if (!host.isConnected) return destroy();
    state.time = advance(elapsed);
    const stop = state.target ?? clock.length;
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
    const { factor, seconds } = speeds[state.speed];
    if (reduced.matches) {
      state.carried = (state.carried ?? 0) + (elapsed / 1000) * Math.min(REDUCED_STOPS_PER_S, factor * REDUCED_STOPS_PER_S);
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
    if (state.playing) transport.setPlaying(false);
    state.playing = false;
  }

  function toggle() {
    const played = state.playing;
    halt();
    if (played) {
      draw();
      return settle(true);
    }
    if (state.time >= clock.length) state.time = 0;
    state.playing = true;
    transport.setPlaying(true);
    run();
  }

  function moveTo(time) {
    scrubTo(time);
    settle(true);
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

  function setSpeed(index) {
    state.speed = Math.min(Math.max(index, 0), speeds.length - 1);
    transport.setSpeed(state.speed);
  }

  function changeSpeed(by) {
    setSpeed(state.speed + by);
  }

  function scrubTo(time) {
    halt();
    state.time = clock.nearestStop(time);
    draw();
  }

  function stopScrubbing() {
    settle(true);
  }

  /** Motion has stopped: say the caption once, and tell the host where we are. */
  function settle(tellsHost) {
    transport.announce(captions(state.time));
    inspector.rest();
    if (!tellsHost || !options.report) return;
    clearTimeout(reportTimer);
    reportTimer = setTimeout(() => !state.playing && state.target === null && options.report(state.time), REPORT_AFTER_MS);
  }

  function makePicker(frame, walk, index) {
    const pick = (tile, opener) => {
      if (state.playing) toggle();
      inspector.open(followTile({ ...tile, walk: index }), opener);
    };
    const describe = (tile) => describeTile(walk, data.rules[index], tile, data.inspector);
    return createPicker(frame, walk, data.inspector, describe, options.ask ? pick : null);
  }

  /** A tile at the step that is shown: in HBM it stays the same, a slot of the chip may hold another. */
  function followTile(question) {
    const step = clock.positionOf(question.walk, clock.stopFrom(state.time));
    const held = question.onChip ? tileInSlot(walks[question.walk], step - 1, question.tensor) : null;
    return { ...question, ...held, step };
  }

  /** A way to a step, or null: on the clock of bytes arithmetic has no width, so that it is never shown. */
  function wayToStep(walk, step) {
    const time = clock.times[walk][step];
    return clock.positionOf(walk, time) === step ? () => moveTo(time) : null;
  }

  function destroy() {
    cancelAnimationFrame(frameRequest);
    clearTimeout(reportTimer);
    observer.disconnect();
    unbindKeys();
  }
}

/** What hosts call, each time their data change: the same walks keep their player, in another language their time. */
export function render(root, data, report) {
  const sameWalks = Boolean(root.player) && root.walkKey === data.key;
  if (sameWalks && root.language === data.language) return;
  [root.walkKey, root.language] = [data.key, data.language];
  const start = (clock, carryOn = false) => {
    const before = root.player;
    before?.destroy();
    const name = PLACE_NAMES[clock];
    root.player = createPlayer(root, { ...data, clock }, { report: (time) => report(name, time), changeClock, before, carryOn, ask });
  };
  const asking = {
    [PAGE]: (question) => window.dispatchEvent(new CustomEvent("fa-ask", { detail: question })),
    [NOTEBOOK]: (question) => report("question", question),
    [FILE]: data.kept && ((question) => queueMicrotask(() => root.player.answer(keptAnswer(data.kept, question)))),
  };
  const ask = asking[data.host];
  const changeClock = (clock) => {
    report("clock", clock);
    start(clock);
  };
  start(sameWalks ? root.player.clockKind() : data.clock, sameWalks);
  if (!root.hearsAnswers) window.addEventListener("fa-answer", (event) => root.player.answer(event.detail));
  root.hearsAnswers = true;
}
