// Blocks on SMs over time: the grid, the chip and the timelines of several runs on one clock. Plain JavaScript.
//
// createTimeline(root, data) draws into `root` and gives { update(data), destroy() }. `data` comes from lanes.py:
// `panels` (one run each), `columns` (which panels stand under one another), `end_s` (of the clock), `chip` (the panel
// whose chip is shown first), `comparison`, `chips`, `text` (the words, with {placeholders}) and, for each panel, a
// column `lanes_<i>`: start s (float32) of every block, its end s (float32; of a seamless panel those of the slots'
// last blocks alone) and its slot (uint16). The picture is a function of the data, the visible range, the block that
// is picked and the time alone.

import { clamp, createClock } from "./clock.js";
import { setText } from "./dom.js";
import { AXIS, FOOT, STRIP, drawAxis, drawBlocks, drawFrame, frameHeight, laneHeight } from "./draw.js";
import { outlineBlock, readColours, shadeBlock, sizeCanvas } from "./draw.js";
import { build } from "./elements.js";
import { ICONS, icon } from "./icons.js";
import { wireChip, wireGrid, wireKeys, wirePanel, wireTransport } from "./input.js";
import { blockAt, blocksAt, busySlots, partOf, placeOf, readPanel } from "./runs.js";
import { blockWords, fill, slowdown, timeFormat } from "./words.js";

const VEIL = 0.62; // over what is still to come
const MOST_OUTLINES = 8; // more marked blocks are shaded
const countOf = ([first, end, step]) => Math.max(0, Math.ceil((end - first) / step));

export function createTimeline(root, firstData) {
  const abort = new AbortController();
  const listen = (target, type, handler, more) => target.addEventListener(type, handler, { signal: abort.signal, ...more });
  // The block that is meant: under the pointer, else at a lane of the keyboard's, else picked.
  const state = { hovered: null, cursor: null, picked: null, chip: 0 };
  const clock = createClock((viewMoved) => {
    viewStale ||= viewMoved;
    schedule();
  });
  const player = { root, listen, state, clock, schedule, announce, pick, pointedBlock };
  let colours, format, pending = 0;
  let sizeStale = true, viewStale = true; // what has to be drawn again: everything, or what depends on the range in view
  let drawnBlock = null; // that the grid shows as pointed at

  function update(data) {
    const before = player.data?.panels ?? [];
    const sameRuns = data.end_s === player.data?.end_s && data.panels.every(({ grid }, i) => grid === before[i]?.grid);
    const panels = data.panels.map((panel, i) => readPanel(panel, data[`lanes_${i}`]));
    format = timeFormat(data.end_s);
    clock.pause();
    if (!sameRuns) {
      Object.assign(state, { picked: null, chip: data.chip });
      const { tail_start_s, makespan_s } = panels[data.chip];
      // In its tail, where some SMs are busy and some are not; halfway where all end together.
      clock.reset(data.end_s, tail_start_s < makespan_s ? (tail_start_s + makespan_s) / 2 : makespan_s / 2);
    }
    state.hovered = state.cursor = null;
    Object.assign(player, { data, panels, parts: build(root, data, panels) });
    wireTransport(player);
    wireGrid(player);
    wireChip(player);
    player.parts.panels.forEach((drawn, index) => wirePanel(player, drawn, index));
    observer.disconnect();
    for (const { box } of player.parts.panels) observer.observe(box);
    observer.observe(player.parts.grid.canvas);
    redraw();
    root.dataset.ready = "1";
  }

  function redraw() {
    sizeStale = viewStale = true;
    schedule();
  }

  function schedule() {
    if (!pending) pending = requestAnimationFrame(draw);
  }

  function draw(now) {
    pending = 0;
    if (!root.clientWidth) return; // hidden, or on its way out of the page
    if (clock.playing) clock.advance(now);
    if (sizeStale) colours = readColours(root);
    const pointed = describe(pointedBlock()), { parts, panels } = player;
    const marked = panels.map((panel) => (pointed ? blocksAt(panel, pointed.place) : []));
    parts.panels.forEach((drawn, i) => drawPanel(drawn, marked[i]));
    for (const axis of parts.axes) {
      const width = axis.clientWidth;
      drawAxis(sizeCanvas(axis, width, AXIS), clock.view, width, clock.time, format, colours);
    }
    const block = pointed && `${pointed.grid} ${pointed.block}`;
    if (sizeStale || block !== drawnBlock) parts.grid.draw(colours, pointed);
    drawnBlock = block;
    parts.chip.show(state.chip, clock.time, marked[state.chip], colours, format);
    sizeStale = viewStale = false;
    showState(pointed);
    if (clock.playing) schedule();
  }

  function drawPanel(drawn, marked) {
    const { panel, base, over, box } = drawn, { view, time } = clock;
    if (sizeStale) Object.assign(drawn, { width: box.clientWidth, height: STRIP + frameHeight(panel) + FOOT });
    const { width, height } = drawn;
    const x = (t) => ((t - view.from) / (view.to - view.from)) * width;
    if (sizeStale) box.style.height = `${height}px`;
    if (viewStale) {
      const context = sizeCanvas(base, width, height);
      drawBlocks(context, panel, view, width, colours);
      drawFrame(context, panel, x, width, colours);
    }
    const context = sizeCanvas(over, width, height);
    const at = clamp(x(time), 1, width - 1);
    context.globalAlpha = VEIL;
    context.fillStyle = colours.surface;
    context.fillRect(at, STRIP, width - at - 1, height - STRIP - FOOT);
    context.globalAlpha = 1;
    const mark = marked.length <= MOST_OUTLINES ? outlineBlock : shadeBlock;
    for (const block of marked) mark(context, panel, block, x, width, colours);
    if (clock.shown()) {
      context.fillStyle = colours.ink;
      context.fillRect(at - 1, STRIP - 3, 2, height - STRIP - FOOT + 5);
    }
  }

  function pointedBlock() {
    if (state.hovered) return state.hovered;
    if (!state.cursor) return state.picked;
    const { panel, lane } = state.cursor;
    const block = blockAt(player.panels[panel], lane, clock.time);
    return block < 0 ? null : { panel, block };
  }

  function describe(pointed) {
    if (!pointed) return null;
    const panel = player.panels[pointed.panel], place = placeOf(panel, pointed.block);
    const ends = panel.owned[partOf(panel, pointed.block)], owned = { queries: ends.slice(0, 3), keys: ends.slice(3) };
    const words = { ...place, queries: countOf(owned.queries), keys: countOf(owned.keys) };
    return {
      ...pointed, place, owned, grid: panel.grid, part: partOf(panel, pointed.block), owns_text: fill(panel.owns_text, words), amount_text: fill(panel.amount_text, words),
    };
  }

  function pointedWords(pointed) {
    if (pointed) {
      const panel = player.panels[pointed.panel];
      return `${panel.name}: ${blockWords(panel, pointed.block, format)}`;
    }
    if (!state.cursor) return player.data.text.hint;
    const panel = player.panels[state.cursor.panel], lane = state.cursor.lane;
    return `${panel.name}: ${fill(player.data.text.idle, {
      sm: Math.floor(lane / panel.slots_per_sm), slot: lane % panel.slots_per_sm, time: format.text(clock.time),
    })}`;
  }

  function showState(pointed) {
    const { data, parts } = player, part = clock.time / data.end_s;
    root.dataset.time = String(clock.time);
    root.dataset.block = pointed ? `${pointed.panel}:${pointed.block}` : "";
    setText(parts.readout, pointedWords(pointed));
    setText(parts.position, format.text(clock.time));
    parts.scrub.value = String(part);
    parts.scrub.setAttribute("aria-valuetext", format.text(clock.time));
    parts.scrub.style.setProperty("--fa-at", `${part * 100}%`);
    for (const { panel, busy } of parts.panels) {
      setText(busy, fill(data.text.busy, { busy: busySlots(panel, clock.time), slots: panel.lanes }));
    }
    if (parts.play.dataset.playing !== String(clock.playing)) {
      parts.play.dataset.playing = String(clock.playing);
      parts.play.innerHTML = icon(clock.playing ? ICONS.pause : ICONS.play);
      parts.play.setAttribute("aria-label", clock.playing ? data.text.pause : data.text.play);
    }
    parts.zoomOut.disabled = parts.fit.disabled = clock.whole();
    setText(parts.pace, fill(data.text.pace, { times: slowdown(clock.secondsToPlay() / data.end_s) }));
  }

  function pick(block) {
    Object.assign(state, { picked: block, hovered: null, cursor: null });
    schedule();
  }

  function announce() {
    player.parts.live.textContent = state.cursor || state.picked ? pointedWords(pointedBlock()) : format.text(clock.time);
  }

  const observer = new ResizeObserver(redraw);
  wireKeys(player);
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
