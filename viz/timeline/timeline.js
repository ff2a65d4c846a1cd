// Blocks on SMs over time: one lane for each slot of each SM, several runs on one clock. Plain JavaScript on canvas.
//
// createTimeline(root, data) draws into `root` and gives { update(data), destroy() }. `data` comes from lanes.py:
// `panels` (one run each), `columns` (which panels stand under one another), `end_s` (of the clock), `chips`, `text`
// (the words, with {placeholders}) and, for each panel, a column `lanes_<i>`: start s and end s (float32) and slot
// (uint16) of every block. The picture is a function of the data, the visible range and the time alone.

import { AXIS, STRIP, clamp, drawAxis, drawBlocks, drawFrame, frameHeight, laneHeight } from "./draw.js";
import { outlineBlock, readColours, sizeCanvas } from "./draw.js";
import { ICONS, build, icon } from "./elements.js";
import { blockAt, busySlots, readPanel } from "./runs.js";
import { blockWords, fill, slowdown, timeFormat } from "./words.js";

const PLAY_SECONDS = 8; // for the whole clock, at speed 1
const STEP = 0.01; // of the visible range, for an arrow key
const LEAP = 0.1; // with Shift, and for each of the few steps of reduced motion
const REDUCED_STEP_MS = 250;
const ZOOM = 1.5;
const MOST_ZOOM = 2000;
const VEIL = 0.62; // over what is still to come
const DRAG_PX = 4; // a press that moves less is a click
const REACH_PX = 3; // how far from the pointer a block is still meant

export function createTimeline(root, firstData) {
  const abort = new AbortController();
  const listen = (target, type, handler, more) => target.addEventListener(type, handler, { signal: abort.signal, ...more });
  const reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
  const state = { time: 0, view: { from: 0, to: 1 }, speed: 1, playing: false, moved: false, hovered: null, cursor: null };
  let data, panels, format, colours, parts, pending = 0, baseStale = true, lastFrame = 0;

  function update(next) {
    const sameClock = data && next.end_s === data.end_s;
    data = next;
    panels = data.panels.map((panel, i) => readPanel(panel, data[`lanes_${i}`]));
    format = timeFormat(data.end_s);
    pause();
    state.hovered = state.cursor = null;
    if (!sameClock) {
      state.time = Math.min(...panels.map((panel) => panel.makespan_s)); // the first run is done, the others are not
      state.view = { from: 0, to: data.end_s };
      state.moved = false;
    }
    parts = build(root, data, panels);
    wire();
    observer.disconnect();
    for (const drawn of parts.panels) observer.observe(drawn.box);
    redraw();
    root.dataset.ready = "1";
  }

  function redraw() {
    baseStale = true;
    schedule();
  }

  function schedule() {
    if (!pending) pending = requestAnimationFrame(draw);
  }

  function draw(now) {
    pending = 0;
    if (!root.clientWidth) return; // hidden, or on its way out of the page
    if (state.playing) advance(now);
    if (baseStale) colours = readColours(root);
    for (const drawn of parts.panels) drawPanel(drawn);
    for (const axis of parts.axes) {
      const width = axis.clientWidth;
      drawAxis(sizeCanvas(axis, width, AXIS), state.view, width, state.time, format, colours);
    }
    baseStale = false;
    showState();
    if (state.playing) schedule();
  }

  function drawPanel(drawn) {
    const { panel, base, over, box } = drawn;
    const width = box.clientWidth, height = STRIP + frameHeight(panel) + 1;
    const x = (t) => ((t - state.view.from) / (state.view.to - state.view.from)) * width;
    if (baseStale) {
      box.style.height = `${height}px`;
      const context = sizeCanvas(base, width, height);
      drawBlocks(context, panel, x, width, colours);
      drawFrame(context, panel, x, width, colours);
    }
    const context = sizeCanvas(over, width, height);
    const at = clamp(x(state.time), 1, width - 1);
    context.globalAlpha = VEIL;
    context.fillStyle = colours.surface;
    context.fillRect(at, STRIP, width - at - 1, height - STRIP - 1);
    context.globalAlpha = 1;
    const pointed = pointedBlock();
    if (pointed && panel.grid === panels[pointed.panel].grid) outlineBlock(context, panel, pointed.block, x, width, colours);
    if (state.time >= state.view.from && state.time <= state.view.to) {
      context.fillStyle = colours.ink;
      context.fillRect(at - 1, STRIP - 3, 2, height);
    }
  }

  function advance(now) {
    const elapsed = now - lastFrame;
    if (reducedMotion.matches && elapsed < REDUCED_STEP_MS) return;
    lastFrame = now;
    const passed = reducedMotion.matches ? LEAP / 3 : (Math.min(elapsed, 100) / 1000 / PLAY_SECONDS) * state.speed;
    state.time = Math.min(state.time + passed * data.end_s, data.end_s);
    if (state.time >= data.end_s) pause();
    else if (state.time > state.view.to || state.time < state.view.from) moveView(state.time - (state.view.to - state.view.from) / 10);
  }

  function pointedBlock() {
    if (state.hovered) return state.hovered;
    if (!state.cursor) return null;
    const { panel, lane } = state.cursor;
    const block = blockAt(panels[panel], lane, state.time);
    return block < 0 ? null : { panel, block };
  }

  function pointedWords() {
    const pointed = pointedBlock();
    if (pointed) {
      const panel = panels[pointed.panel];
      return `${panel.name}: ${blockWords(panel, pointed.block, format)}`;
    }
    if (!state.cursor) return data.text.hint;
    const panel = panels[state.cursor.panel], lane = state.cursor.lane;
    return `${panel.name}: ${fill(data.text.idle, {
      sm: Math.floor(lane / panel.slots_per_sm), slot: lane % panel.slots_per_sm, time: format.text(state.time),
    })}`;
  }

  function showState() {
    root.dataset.time = String(state.time);
    const pointed = pointedBlock();
    root.dataset.block = pointed ? `${pointed.panel}:${pointed.block}` : "";
    setText(parts.readout, pointedWords());
    setText(parts.position, format.text(state.time));
    parts.scrub.value = String(state.time / data.end_s);
    parts.scrub.setAttribute("aria-valuetext", format.text(state.time));
    parts.scrub.style.setProperty("--fa-at", `${(state.time / data.end_s) * 100}%`);
    for (const { panel, busy } of parts.panels) {
      setText(busy, fill(data.text.busy, { busy: busySlots(panel, state.time), slots: panel.lanes }));
    }
    if (parts.play.dataset.playing !== String(state.playing)) {
      parts.play.dataset.playing = String(state.playing);
      parts.play.innerHTML = icon(state.playing ? ICONS.pause : ICONS.play);
      parts.play.setAttribute("aria-label", state.playing ? data.text.pause : data.text.play);
    }
    const whole = state.view.to - state.view.from >= data.end_s * (1 - 1e-9);
    parts.zoomOut.disabled = parts.fit.disabled = whole;
    setText(parts.pace, fill(data.text.pace, { times: slowdown(PLAY_SECONDS / state.speed / data.end_s) }));
  }

  function setText(node, text) {
    if (node.textContent !== text) node.textContent = text;
  }

  function play() {
    if (!state.moved || state.time >= data.end_s) state.time = 0;
    state.playing = state.moved = true;
    lastFrame = performance.now();
    schedule();
  }

  function pause() {
    state.playing = false;
  }

  function goTo(time, announce = true) {
    pause();
    state.moved = true;
    state.time = clamp(time, 0, data.end_s);
    if (state.time < state.view.from || state.time > state.view.to) {
      moveView(state.time - (state.view.to - state.view.from) / 2);
    }
    schedule();
    if (announce) parts.live.textContent = state.cursor ? pointedWords() : format.text(state.time);
  }

  function step(amount) {
    goTo(state.time + amount * (state.view.to - state.view.from));
  }

  function moveView(from, length = state.view.to - state.view.from) {
    const size = clamp(length, data.end_s / MOST_ZOOM, data.end_s);
    const start = clamp(from, 0, data.end_s - size);
    state.view = { from: start, to: start + size };
    redraw();
  }

  function zoom(factor, around = state.time) {
    const anchor = clamp(around, state.view.from, state.view.to);
    const length = clamp((state.view.to - state.view.from) / factor, data.end_s / MOST_ZOOM, data.end_s);
    const part = (anchor - state.view.from) / (state.view.to - state.view.from);
    moveView(anchor - part * length, length);
  }

  function moveCursor(by) {
    const panel = state.cursor?.panel ?? 0;
    const lane = state.cursor ? state.cursor.lane + by : 0;
    state.hovered = null;
    state.cursor = { panel, lane: clamp(lane, 0, panels[panel].lanes - 1) };
    schedule();
    parts.live.textContent = pointedWords();
  }

  function place(drawn, event) {
    const box = drawn.box.getBoundingClientRect();
    const { from, to } = state.view;
    const time = from + ((event.clientX - box.left) / box.width) * (to - from);
    const height = laneHeight(drawn.panel);
    const lane = (event.clientY - box.top - STRIP) / height;
    return { time: clamp(time, 0, data.end_s), lane: Math.floor(clamp(lane, 0, drawn.panel.lanes - 1)), reach: Math.ceil(REACH_PX / height) };
  }

  function nearBlock(panel, { time, lane, reach }) {
    for (let off = 0; off <= reach; off++) {
      for (const near of off ? [lane - off, lane + off] : [lane]) {
        if (near < 0 || near >= panel.lanes) continue;
        const block = blockAt(panel, near, time);
        if (block >= 0) return { block, lane: near };
      }
    }
    return null;
  }

  function wirePanel(drawn, index) {
    let press = null;
    listen(drawn.over, "pointerdown", (event) => {
      press = { x: event.clientX, from: state.view.from, moved: false };
      drawn.over.setPointerCapture(event.pointerId);
    });
    listen(drawn.over, "pointermove", (event) => {
      if (press) {
        const shift = event.clientX - press.x;
        press.moved ||= Math.abs(shift) >= DRAG_PX;
        if (press.moved) moveView(press.from - (shift / drawn.box.clientWidth) * (state.view.to - state.view.from));
        return;
      }
      const found = nearBlock(drawn.panel, place(drawn, event));
      state.hovered = found && { panel: index, block: found.block };
      schedule();
    });
    listen(drawn.over, "pointerup", (event) => {
      if (press && !press.moved) {
        const placed = place(drawn, event), found = nearBlock(drawn.panel, placed);
        state.cursor = { panel: index, lane: found ? found.lane : placed.lane };
        state.hovered = null;
        goTo(placed.time);
      }
      press = null;
    });
    listen(drawn.over, "pointercancel", () => (press = null));
    listen(drawn.over, "pointerleave", () => {
      state.hovered = null;
      schedule();
    });
    listen(drawn.over, "focus", () => {
      if (state.cursor?.panel !== index) state.cursor = { panel: index, lane: Math.min(state.cursor?.lane ?? 0, drawn.panel.lanes - 1) };
      schedule();
    });
    listen(drawn.over, "wheel", (event) => {
      if (!event.ctrlKey && !event.metaKey && !root.matches(":focus-within")) return; // the page scrolls
      event.preventDefault();
      const sideways = Math.abs(event.deltaX) > Math.abs(event.deltaY);
      const length = state.view.to - state.view.from;
      if (sideways) moveView(state.view.from + (event.deltaX / drawn.box.clientWidth) * length);
      else zoom(ZOOM ** (-event.deltaY / 100), place(drawn, event).time);
    }, { passive: false });
  }

  const KEYS = {
    " ": () => (state.playing ? (pause(), schedule()) : play()),
    ArrowLeft: (event) => step(event.shiftKey ? -LEAP : -STEP),
    ArrowRight: (event) => step(event.shiftKey ? LEAP : STEP),
    ArrowUp: (event) => moveCursor(event.shiftKey ? -10 : -1),
    ArrowDown: (event) => moveCursor(event.shiftKey ? 10 : 1),
    Home: () => goTo(0),
    End: () => goTo(data.end_s),
    "+": () => zoom(ZOOM),
    "=": () => zoom(ZOOM),
    "-": () => zoom(1 / ZOOM),
  };

  listen(root, "keydown", (event) => {
    const inSelect = event.target.tagName === "SELECT";
    const onButton = event.target.tagName === "BUTTON" && event.key === " ";
    const act = KEYS[event.key];
    if (!act || inSelect || onButton || event.altKey || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    act(event);
  });

  function wire() {
    parts.panels.forEach(wirePanel);
    parts.first.onclick = () => goTo(0);
    parts.back.onclick = () => step(-STEP);
    parts.play.onclick = KEYS[" "];
    parts.on.onclick = () => step(STEP);
    parts.last.onclick = () => goTo(data.end_s);
    parts.zoomIn.onclick = () => zoom(ZOOM * ZOOM);
    parts.zoomOut.onclick = () => zoom(1 / ZOOM / ZOOM);
    parts.fit.onclick = () => moveView(0, data.end_s);
    parts.scrub.oninput = () => goTo(Number(parts.scrub.value) * data.end_s, false);
    parts.speed.value = String(state.speed);
    parts.speed.onchange = () => {
      state.speed = Number(parts.speed.value);
      schedule();
    };
  }

  const observer = new ResizeObserver(redraw);
  update(firstData);
  return {
    update,
    destroy() {
      abort.abort();
      observer.disconnect();
      cancelAnimationFrame(pending);
      root.replaceChildren();
    },
  };
}

const mounted = new WeakMap();

// Called by the host with the same root each time the data change.
export function render(root, data) {
  const timeline = mounted.get(root);
  if (timeline) timeline.update(data);
  else mounted.set(root, createTimeline(root, data));
}
