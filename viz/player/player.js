// The tile player: draws walks as a function of time. Host-neutral: give it an element and data.
import { fillTemplate, htmlNode } from "./svg.js";
import { decodeWalk } from "./walk.js";
import { BYTES, STEPS, TIME, createClock } from "./clock.js";
import { captionOf } from "./caption.js";
import { createCode } from "./code.js";
import { createInspector } from "./inspector.js";
import { keptAnswer } from "./kept.js";
import { createLedger } from "./ledger.js";
import { createPicker, tileInSlot } from "./pick.js";
import { createPictureButtons } from "./picture.js";
import { createPlayback } from "./playback.js";
import { createReading } from "./reading.js";
import { describeTile } from "./rule.js";
import { createScene } from "./scene.js";
import { createClockChoice, createSwitch } from "./switch.js";
import { createTransport } from "./transport.js";
import { bindKeys } from "./keys.js";

const [PAGE, FILE, NOTEBOOK] = ["page", "file", "notebook"]; // hosts
const REPORT_AFTER_MS = 400;
const PLACE_NAMES = { [STEPS]: "step", [BYTES]: "bytes", [TIME]: "fs" }; // as a place is reported on each clock

/**
 * `data` is what `payload_of` of scene.py makes, with `texts`, `clock`, `time`, `surprises` and, for two walks, `ratio`.
 * `options.report(time)` is called at rest, `options.changeClock(kind)` where another clock is chosen;
 * `options.before` is the player that this one takes the place of, `options.carryOn` says that it plays on
 * from where that one is. `options.ask(question)` wants the numbers of a tile from the host, which hands them to
 * `answer`; without it tiles only tell their name.
 */
export function createPlayer(root, data, options = {}) {
  const walks = data.walks.map((described, index) => ({
    ...decodeWalk(described, data.columns), broken: data.broken[index], found: data.broken[index]?.found,
  }));
  const clock = createClock(data.clock, walks);
  const reading = createReading(clock, walks, data.texts, data.gpu);
  const compares = walks.length > 1;
  const { before } = options;
  const state = { chosen: Math.min(before?.chosen() ?? walks.length - 1, walks.length - 1), codeView: undefined };
  const playback = createPlayback(clock, { time: startTime(), speed: before?.speed() }, {
    draw,
    settle: () => settle(true),
    playing: (playing) => transport.setPlaying(playing),
    speed: (index) => transport.setSpeed(index),
    isGone: () => !host.isConnected && (destroy(), true),
  });
  let reportTimer = 0;

  root.replaceChildren();
  const host = htmlNode(root, "div", compares ? "fa-player compare" : "fa-player");
  host.dataset.clock = clock.kind;
  const api = {
    ...playback,
    destroy,
    chosen: () => state.chosen,
    firstStep: () => clock.positionOf(0, playback.time()),
    clockKind: () => clock.kind,
    answer: (answer) => inspector.answer(answer),
    takeNumbers(found) {
      found.forEach((numbers, index) => Object.assign(walks[index], numbers));
      draw();
    },
    codeView: () => state.codeView,
  };
  const turns = compares ? createSwitch(host, walks, clock, data.texts, choose) : null;
  const stage = htmlNode(host, "div", "stage");
  const inspector = createInspector(host, data.inspector, { ask: options.ask, follow: followTile, wayTo: wayToStep });
  const scenes = walks.map((walk, index) => createScene(stage, walk, data.texts, compares, (frame) => makePicker(frame, walk, index)));
  const transport = createTransport(host, walks, clock, reading, data.texts, api);
  if (compares) createClockChoice(host, clock, data.texts, options.changeClock);
  const ledger = createLedger(host, walks, data);
  const code = createCode(host, walks, data.listings, data.code, before?.codeView(), (view) => (state.codeView = view));
  createPictureButtons(host, data.texts, frameToSave);
  const unbindKeys = bindKeys(host, api, data.host !== NOTEBOOK);
  const observer = new ResizeObserver(() => (host.isConnected ? resize() && draw() : destroy()));
  observer.observe(host);
  playback.changeSpeed(0);
  transport.setPlaying(false);
  choose(state.chosen);
  settle(changesClock());
  if (options.carryOn && before.isPlaying()) playback.toggle();
  root.dataset.ready = "1";
  return api;

  /** Another clock for the same walks starts where the first of them stood. */
  function startTime() {
    if (options.carryOn) return before.time();
    return changesClock() ? (clock.times[0][before.firstStep()] ?? 0) : (data.time ?? 0);
  }

  function changesClock() {
    return Boolean(before) && before.clockKind() !== clock.kind;
  }

  function choose(index) {
    state.chosen = index;
    scenes.forEach((scene, each) => scene.choose(each === index));
    transport.choose(index);
    code.choose(index);
    resize();
    draw();
  }

  /** Whether anything has other room than before. All is read before any is drawn, or each would be laid out anew. */
  function resize() {
    const parts = [...scenes, transport];
    const rooms = parts.map((part) => part.room());
    return parts.map((part, index) => part.resize(rooms[index])).includes(true);
  }

  function draw() {
    const stop = playback.stop();
    const positions = walks.map((_, index) => clock.positionOf(index, stop));
    scenes.forEach((scene, index) => scene.draw(positions[index], playback.travelled(index)));
    const pending = walks.map((_, index) => clock.pendingBytes(index, stop));
    ledger.draw(positions, pending);
    transport.draw(stop, playback.time(), captions(stop), positions, pending);
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
    const stop = playback.stop();
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

  /** Motion has stopped: say the caption once, and tell the host where we are. */
  function settle(tellsHost) {
    transport.announce(captions(playback.stop()));
    inspector.rest();
    if (!tellsHost || !options.report) return;
    clearTimeout(reportTimer);
    reportTimer = setTimeout(() => playback.rests() && options.report(playback.time()), REPORT_AFTER_MS);
  }

  function makePicker(frame, walk, index) {
    const pick = (tile, opener) => {
      if (playback.isPlaying()) playback.toggle();
      inspector.open(followTile({ ...tile, walk: index }), opener);
    };
    const describe = (tile) => describeTile(walk, data.rules[index], tile, data.inspector);
    return createPicker(frame, walk, data.inspector, describe, options.ask ? pick : null);
  }

  /** A tile at the step that is shown: in HBM it stays the same, a slot of the chip may hold another. */
  function followTile(question) {
    const step = clock.positionOf(question.walk, playback.stop());
    const held = question.onChip ? tileInSlot(walks[question.walk], step - 1, question.tensor) : null;
    return { ...question, ...held, step };
  }

  /** A way to a step, or null: on the clock of bytes arithmetic has no width, so that it is never shown. */
  function wayToStep(walk, step) {
    const time = clock.times[walk][step];
    return clock.positionOf(walk, time) === step ? () => playback.moveTo(time) : null;
  }

  function destroy() {
    playback.cancel();
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
    takeNumbers(root);
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
  if (!root.hearsAnswers) {
    window.addEventListener("fa-answer", (event) => root.player.answer(event.detail));
    window.addEventListener("fa-numbers", () => takeNumbers(root));
  }
  root.hearsAnswers = true;
  if (data.host === PAGE) afterPaint(() => window.dispatchEvent(new CustomEvent("fa-shown", { detail: data.key })));
}

const afterPaint = (act) => requestAnimationFrame(() => setTimeout(act));

/** Numbers that came after the walks: a host that replays them later leaves them at the window. */
function takeNumbers(root) {
  if (window.faNumbers?.key === root.walkKey) root.player.takeNumbers(window.faNumbers.walks);
}
