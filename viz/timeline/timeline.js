// Blocks on SMs over time: one lane for each slot of each SM, several runs on one clock. Plain JavaScript on canvas.
//
// createTimeline(root, data) draws into `root` and gives { update(data), destroy() }. `data` comes from lanes.py:
// `panels` (one run each), `columns` (which panels stand under one another), `end_s` (of the clock), `chips`, `text`
// (the words, with {placeholders}) and, for each panel, a column `lanes_<i>`: start s and end s (float32) and slot
// (uint16) of every block. The picture is a function of the data, the visible range and the time alone.

const PLAY_SECONDS = 8; // for the whole clock, at speed 1
const STEP = 0.01; // of the visible range, for an arrow key
const LEAP = 0.1; // with Shift, and for each of the few steps of reduced motion
const REDUCED_STEP_MS = 250;
const ZOOM = 1.5;
const MOST_ZOOM = 2000;
const RAMP_STEPS = 32;
const FRAME_TARGET = 180; // css px that the lanes of a panel may take
const STRIP = 18; // css px over a frame, for its tail
const AXIS = 20;
const VEIL = 0.62; // over what is still to come
const DRAG_PX = 4; // a press that moves less is a click
const REACH_PX = 3; // how far from the pointer a block is still meant
const SPEEDS = [0.25, 0.5, 1, 2, 4];

const ICONS = {
  start: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  on: "M5 3v10l7-5z",
  end: "M11 3h2v10h-2zM3 3v10l7-5z",
  out: "M3 7h10v2H3z",
  in: "M3 7h10v2H3zM7 3h2v10H7z",
  fit: "M2 3h2v10H2zM12 3h2v10h-2zM5 8l3-3v2h0v2h0v2zM11 8L8 5v6z",
};

const fill = (template, values) => template.replace(/\{(\w+)\}/g, (_, name) => values[name]);
const clamp = (value, low, high) => Math.min(Math.max(value, low), high);

function element(tag, className, parent, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  parent?.append(node);
  return node;
}

function icon(path) {
  return `<svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true"><path fill="currentColor" d="${path}"/></svg>`;
}

// ---- Time in words: one unit for the whole clock ----

function timeFormat(end) {
  const [factor, unit] = [[1e-9, "ns"], [1e-6, "µs"], [1e-3, "ms"], [1, "s"]].find(
    ([f], i, all) => end < f * 1000 || i === all.length - 1,
  );
  const digits = end / factor >= 100 ? 1 : 2;
  return { factor, unit, text: (seconds) => `${(seconds / factor).toFixed(digits)} ${unit}` };
}

function axisTicks(from, to, width, format) {
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

function slowdown(ratio) {
  const power = 10 ** Math.max(0, Math.floor(Math.log10(ratio)) - 1);
  return (Math.round(ratio / power) * power).toLocaleString("en-US");
}

// ---- A run, read from its columns ----

function readPanel(panel, bytes) {
  const count = panel.blocks;
  const start = new Float32Array(bytes.buffer, bytes.byteOffset, count);
  const end = new Float32Array(bytes.buffer, bytes.byteOffset + 4 * count, count);
  const slot = new Uint16Array(bytes.buffer, bytes.byteOffset + 8 * count, count);
  const lanes = panel.sm_count * panel.slots_per_sm;
  const lane = Uint16Array.from(slot, (s) => (s % panel.sm_count) * panel.slots_per_sm + Math.floor(s / panel.sm_count));
  const byLane = Uint32Array.from(start.keys()).sort((a, b) => lane[a] - lane[b] || start[a] - start[b]);
  const laneFirst = new Uint32Array(lanes + 1);
  for (const l of lane) laneFirst[l + 1]++;
  for (let l = 0; l < lanes; l++) laneFirst[l + 1] += laneFirst[l];
  const work = panel.work;
  const least = Math.min(...work), most = Math.max(...work);
  const shade = work.map((w) => (least === most ? RAMP_STEPS / 2 : Math.round((w / most) * RAMP_STEPS)));
  const byShade = Array.from({ length: RAMP_STEPS + 1 }, () => []);
  for (let b = 0; b < count; b++) byShade[shade[b % work.length]].push(b);
  return {
    ...panel, start, end, lane, lanes, byLane, laneFirst, byShade,
    starts: start.slice().sort(), ends: end.slice().sort(),
  };
}

function countUpTo(sorted, time) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}

function busySlots(panel, time) {
  return countUpTo(panel.starts, time) - countUpTo(panel.ends, time);
}

function blockAt(panel, lane, time) {
  let low = panel.laneFirst[lane], high = panel.laneFirst[lane + 1];
  const first = low;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (panel.start[panel.byLane[middle]] <= time) low = middle + 1;
    else high = middle;
  }
  if (low === first) return -1;
  const block = panel.byLane[low - 1];
  // At the very end of a run its last blocks are still the ones meant.
  return time < panel.end[block] || (time >= panel.makespan_s && panel.end[block] >= panel.makespan_s) ? block : -1;
}

function blockWords(panel, block, text, format) {
  const values = {}, axes = panel.axes;
  let rest = block;
  for (const [name, size] of axes) {
    values[name] = rest % size;
    rest = Math.floor(rest / size);
  }
  const lane = panel.lane[block];
  return fill(panel.block_text, {
    ...values,
    tiles: panel.work[block % panel.work.length].toLocaleString("en-US"),
    sm: Math.floor(lane / panel.slots_per_sm),
    slot: lane % panel.slots_per_sm,
    start: format.text(panel.start[block]),
    end: format.text(panel.end[block]),
    duration: format.text(panel.end[block] - panel.start[block]),
  });
}

// ---- Drawing ----

function readColours(root) {
  const style = getComputedStyle(root);
  const colour = (name) => style.getPropertyValue(`--fa-${name}`).trim();
  const names = ["ink", "ink-2", "ink-3", "line", "surface", "page"];
  const ramp = [colour("work-low"), colour("work-mid"), colour("work-high")].map(parseHex);
  const mixed = Array.from({ length: RAMP_STEPS + 1 }, (_, i) => {
    const at = (i / RAMP_STEPS) * 2, from = ramp[at < 1 ? 0 : 1], to = ramp[at < 1 ? 1 : 2], part = at < 1 ? at : at - 1;
    return `rgb(${from.map((v, c) => Math.round(v + (to[c] - v) * part)).join(",")})`;
  });
  return { ...Object.fromEntries(names.map((name) => [name, colour(name)])), ramp: mixed, font: colour("font") };
}

function parseHex(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

function sizeCanvas(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext("2d");
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, w, h);
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  return context;
}

function laneHeight(panel) {
  const ratio = window.devicePixelRatio || 1;
  const smPixels = Math.max(1, Math.floor((FRAME_TARGET * ratio) / panel.sm_count));
  return smPixels / ratio / panel.slots_per_sm;
}

function frameHeight(panel) {
  return panel.lanes * laneHeight(panel);
}

function drawBlocks(context, panel, x, width, colours) {
  context.fillStyle = colours.page;
  context.fillRect(0, STRIP, width, frameHeight(panel));
  const height = laneHeight(panel), gap = height >= 6 ? 1 : 0;
  panel.byShade.forEach((blocks, shade) => {
    context.fillStyle = colours.ramp[shade];
    for (const block of blocks) {
      const left = x(panel.start[block]), right = x(panel.end[block]);
      if (right < 0 || left > width) continue;
      const seam = right - left > 4 ? 1 : 0; // so that equal neighbours can be told apart
      context.fillRect(left, STRIP + panel.lane[block] * height, Math.max(right - left - seam, 0.5), height - gap);
    }
  });
}

function drawFrame(context, panel, x, width, colours) {
  const height = frameHeight(panel);
  context.strokeStyle = colours["ink-3"];
  context.lineWidth = 1;
  context.setLineDash(panel.kind === "measured" ? [] : [4, 3]);
  context.strokeRect(0.5, STRIP - 0.5, width - 1, height + 1);
  context.setLineDash([]);
  const from = x(panel.tail_start_s), to = x(panel.makespan_s);
  context.strokeStyle = context.fillStyle = colours.ink;
  verticalLine(context, to, STRIP - 7, STRIP + height, []);
  verticalLine(context, from, STRIP - 7, STRIP + height, [3, 3]);
  context.beginPath();
  context.moveTo(from, STRIP - 4);
  context.lineTo(to, STRIP - 4);
  context.stroke();
  context.font = `11.5px ${colours.font}`;
  drawTailText(context, panel.tail_text, from, to, width, colours);
}

function verticalLine(context, x, top, bottom, dash) {
  context.setLineDash(dash);
  context.beginPath();
  context.moveTo(Math.round(x) - 0.5, top);
  context.lineTo(Math.round(x) - 0.5, bottom);
  context.stroke();
  context.setLineDash([]);
}

function drawTailText(context, text, from, to, width, colours) {
  const needed = context.measureText(text).width + 8;
  const room = to - from;
  const centre = room >= needed + 16 ? (from + to) / 2 : to + needed + 4 <= width ? to + needed / 2 + 4 : from - needed / 2 - 4;
  if (to < 0 || from > width) return;
  const left = clamp(centre - needed / 2, 0, Math.max(0, width - needed));
  context.fillStyle = colours.surface;
  context.fillRect(left, 0, needed, STRIP - 2);
  context.fillStyle = colours.ink;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.fillText(text, left + 4, STRIP / 2 - 1);
}

function drawAxis(context, view, width, time, format, colours) {
  context.font = `11.5px ${colours.font}`;
  context.textBaseline = "top";
  const x = (t) => ((t - view.from) / (view.to - view.from)) * width;
  for (const [tick, label] of axisTicks(view.from, view.to, width, format)) {
    context.strokeStyle = colours["ink-3"];
    verticalLine(context, clamp(x(tick), 1, width), 0, 4, []);
    drawAxisLabel(context, label, x(tick), width, colours["ink-3"], null);
  }
  if (time >= view.from && time <= view.to) {
    context.font = `650 11.5px ${colours.font}`;
    drawAxisLabel(context, format.text(time), x(time), width, colours.ink, colours.surface);
  }
}

function drawAxisLabel(context, label, at, width, colour, ground) {
  const size = context.measureText(label).width;
  const left = clamp(at - size / 2, 0, width - size);
  if (ground) {
    context.fillStyle = ground;
    context.fillRect(left - 6, 4, size + 12, AXIS - 4);
  }
  context.textAlign = "left";
  context.fillStyle = colour;
  context.fillText(label, left, 6);
}

function outlineBlock(context, panel, block, x, width, colours) {
  const height = laneHeight(panel), tall = Math.max(height, 6);
  const left = clamp(x(panel.start[block]), -4, width + 4), right = clamp(x(panel.end[block]), -4, width + 4);
  const top = clamp(STRIP + panel.lane[block] * height + height / 2 - tall / 2, STRIP, Infinity);
  for (const [colour, line] of [[colours.surface, 4], [colours.ink, 2]]) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(left, top, Math.max(right - left, 2), tall);
  }
}

// ---- The timeline ----

export function createTimeline(root, firstData) {
  const abort = new AbortController();
  const listen = (target, type, handler, more) => target.addEventListener(type, handler, { signal: abort.signal, ...more });
  const reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
  const state = { time: 0, view: { from: 0, to: 1 }, speed: 1, playing: false, hovered: null, cursor: null };
  let data, panels, format, colours, parts, pending = 0, baseStale = true, lastFrame = 0;

  function update(next) {
    const sameClock = data && next.end_s === data.end_s;
    data = next;
    panels = data.panels.map((panel, i) => readPanel(panel, data[`lanes_${i}`]));
    format = timeFormat(data.end_s);
    pause();
    state.hovered = state.cursor = null;
    if (!sameClock) {
      state.time = data.end_s;
      state.view = { from: 0, to: data.end_s };
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

  // ---- What is pointed at ----

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
      return `${panel.name}: ${blockWords(panel, pointed.block, data.text, format)}`;
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

  // ---- Moving in time ----

  function play() {
    if (state.time >= data.end_s) state.time = 0;
    state.playing = true;
    lastFrame = performance.now();
    schedule();
  }

  function pause() {
    state.playing = false;
  }

  function goTo(time, announce = true) {
    pause();
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

  // ---- Pointer and keys ----

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

// ---- The page's elements ----

function build(root, data, panels) {
  const focused = root.querySelector(":focus")?.dataset.part;
  root.replaceChildren();
  const whole = element("div", "fa-timeline", root);
  const columns = element("div", "fa-columns", whole);
  columns.dataset.count = data.columns.length;
  const parts = { panels: [], axes: [] };
  for (const column of data.columns) buildColumn(element("section", "fa-column", columns), column, panels, parts);
  const foot = element("div", "fa-foot", whole);
  buildLegend(foot, data);
  parts.readout = element("p", "fa-readout", foot);
  parts.readout.dataset.part = "readout";
  buildTransport(element("div", "fa-transport", whole), data, parts);
  parts.live = element("p", "fa-live", whole);
  parts.live.setAttribute("aria-live", "polite");
  if (focused) root.querySelector(`[data-part="${focused}"]`)?.focus({ preventScroll: true });
  return parts;
}

function buildColumn(column, { title, note, panels: indices }, panels, parts) {
  const head = element("header", "fa-column-head", column);
  element("h3", "", head, title);
  element("span", "fa-note", head, note);
  for (const index of indices) {
    const panel = panels[index];
    const row = element("div", "fa-panel", column);
    const label = element("div", "fa-panel-label", row);
    element("b", "", label, panel.label);
    element("span", "", label, panel.sublabel);
    const busy = element("span", "fa-busy", label);
    const main = element("div", "fa-panel-main", row);
    const headline = element("p", "fa-headline", main);
    element("span", "", headline, panel.headline);
    element("span", `fa-provenance fa-${panel.kind}`, headline, panel.provenance);
    const box = element("div", "fa-lanes", main);
    const base = element("canvas", "", box);
    const over = element("canvas", "fa-over", box);
    over.tabIndex = 0;
    over.dataset.part = `panel-${index}`;
    over.setAttribute("role", "img");
    over.setAttribute("aria-label", `${panel.name}. ${panel.headline}. ${panel.tail_text}`);
    parts.panels[index] = { panel, box, base, over, busy };
  }
  parts.axes.push(element("canvas", "fa-axis", column));
}

function buildLegend(foot, data) {
  const legend = element("p", "fa-legend", foot);
  element("span", "fa-ramp", legend);
  element("span", "", legend, data.text.legend);
}

function buildTransport(bar, data, parts) {
  const button = (part, path, label, parent) => {
    const node = element("button", "fa-button", parent);
    node.type = "button";
    node.innerHTML = icon(path);
    node.title = label;
    node.setAttribute("aria-label", label);
    node.dataset.part = part;
    return node;
  };
  const buttons = element("div", "fa-buttons", bar);
  parts.first = button("first", ICONS.start, data.text.first, buttons);
  parts.back = button("back", ICONS.back, data.text.back, buttons);
  parts.play = button("play", ICONS.play, data.text.play, buttons);
  parts.play.classList.add("fa-play");
  parts.on = button("on", ICONS.on, data.text.on, buttons);
  parts.last = button("last", ICONS.end, data.text.last, buttons);
  parts.scrub = element("input", "fa-scrub", bar);
  Object.assign(parts.scrub, { type: "range", min: "0", max: "1", step: "any" });
  parts.scrub.setAttribute("aria-label", data.text.scrub);
  parts.scrub.dataset.part = "scrub";
  parts.position = element("output", "fa-position", bar);
  parts.pace = element("span", "fa-note fa-pace", bar);
  parts.speed = element("select", "fa-speed", bar);
  parts.speed.setAttribute("aria-label", data.text.speed);
  parts.speed.dataset.part = "speed";
  for (const speed of SPEEDS) parts.speed.append(new Option(`${speed}×`, speed));
  const zooms = element("div", "fa-buttons", bar);
  parts.zoomOut = button("out", ICONS.out, data.text.zoom_out, zooms);
  parts.zoomIn = button("in", ICONS.in, data.text.zoom_in, zooms);
  parts.fit = button("fit", ICONS.fit, data.text.fit, zooms);
  const chips = element("div", "fa-chips", bar);
  for (const { kind, text } of data.chips) element("span", `fa-chip fa-${kind}`, chips, text);
}

const mounted = new WeakMap();

// Called by the host with the same root each time the data change.
export function render(root, data) {
  const timeline = mounted.get(root);
  if (timeline) timeline.update(data);
  else mounted.set(root, createTimeline(root, data));
}
