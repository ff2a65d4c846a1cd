// Draws a run on canvas: its blocks, its frame and tail, the axis, an outline. Colours come from `--fa-…`.

import { clamp } from "./clock.js";
import { axisTicks } from "./words.js";
import { drawPixels } from "./pixels.js";
import { RAMP_STEPS, shadeOf, startedBy } from "./runs.js";

const FRAME_TARGET = 180; // css px that the lanes of a panel may take
const MOST_BARS = 6000; // more blocks than that are drawn by pixels, each the mean of what falls on it

export const STRIP = 18; // css px over a frame, for its tail
export const FOOT = 6; // css px under it, for the waves
const MOST_WAVES = 40; // more would be a bar
export const AXIS = 20;

export function readColours(root) {
  const style = getComputedStyle(root);
  const colour = (name) => style.getPropertyValue(`--fa-${name}`).trim();
  const names = ["ink", "ink-2", "ink-3", "line", "surface", "page"];
  const ramp = [colour("work-low"), colour("work-mid"), colour("work-high")].map(parseHex);
  const mixed = Array.from({ length: RAMP_STEPS + 1 }, (_, i) => {
    const at = (i / RAMP_STEPS) * 2, from = ramp[at < 1 ? 0 : 1], to = ramp[at < 1 ? 1 : 2], part = at < 1 ? at : at - 1;
    return from.map((v, c) => Math.round(v + (to[c] - v) * part));
  });
  return {
    ...Object.fromEntries(names.map((name) => [name, colour(name)])),
    font: colour("font"), ramp: mixed.map((rgb) => `rgb(${rgb.join(",")})`), rampRgb: mixed, pageRgb: parseHex(colour("page")),
  };
}

function parseHex(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

export function sizeCanvas(canvas, width, height) {
  const [w, h] = [Math.round(width * ratio()), Math.round(height * ratio())];
  if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
  const context = canvas.getContext("2d");
  context.setTransform(1, 0, 0, 1, 0, 0);
  context.clearRect(0, 0, w, h);
  context.setTransform(ratio(), 0, 0, ratio(), 0, 0);
  return context;
}

const ratio = () => window.devicePixelRatio || 1;

function pixelsOfSm(panel) {
  return Math.max(1, Math.floor((FRAME_TARGET * ratio()) / panel.sm_count));
}

export function laneHeight(panel) {
  return pixelsOfSm(panel) / ratio() / panel.slots_per_sm;
}

export function frameHeight(panel) {
  return panel.lanes * laneHeight(panel);
}

export function drawBlocks(context, panel, view, width, colours) {
  context.fillStyle = colours.page;
  context.fillRect(0, STRIP, width, frameHeight(panel));
  const spans = Array.from({ length: panel.lanes }, (_, lane) => visibleSpan(panel, lane, view));
  if (spans.reduce((sum, [first, end]) => sum + end - first, 0) <= MOST_BARS) {
    drawBars(context, panel, spans, view, width, colours);
  } else drawPixels(context, panel, spans, view, Math.round(STRIP * ratio()), pixelsOfSm(panel), colours);
}

// The blocks of a lane that may be seen, as positions in `byLane`.
function visibleSpan(panel, lane, { from, to }) {
  return [Math.max(startedBy(panel, lane, from) - 1, panel.laneFirst[lane]), startedBy(panel, lane, to)];
}

function drawBars(context, panel, spans, view, width, colours) {
  const height = laneHeight(panel), gap = height >= 6 ? 1 : 0, scale = width / (view.to - view.from);
  spans.forEach(([first, end], lane) => {
    for (let at = first; at < end; at++) {
      const block = panel.byLane[at];
      const left = (panel.start[block] - view.from) * scale, right = (panel.end[block] - view.from) * scale;
      if (right < 0) continue;
      const seam = right - left > 4 ? 1 : 0; // so that equal neighbours can be told apart
      context.fillStyle = colours.ramp[shadeOf(panel, block)];
      context.fillRect(left, STRIP + lane * height, Math.max(right - left - seam, 0.5), height - gap);
    }
  });
}

export function drawFrame(context, panel, x, width, colours) {
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
  drawWaves(context, panel, x, STRIP + height + 1, colours);
}

// Where the blocks of each further wave begin, if a wave is as many blocks as there are lanes: a guide, no barrier.
function drawWaves(context, panel, x, top, colours) {
  if (panel.kind === "measured" || panel.blocks > MOST_WAVES * panel.lanes) return;
  context.strokeStyle = colours["ink-3"];
  for (let first = panel.lanes; first < panel.blocks; first += panel.lanes) {
    verticalLine(context, x(panel.starts[first]), top, top + FOOT - 1, []);
  }
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

export function drawAxis(context, view, width, time, format, colours) {
  const x = (t) => ((t - view.from) / (view.to - view.from)) * width;
  context.textBaseline = "top";
  context.textAlign = "left";
  context.font = `650 11.5px ${colours.font}`;
  const shown = time >= view.from && time <= view.to;
  const now = shown ? drawAxisLabel(context, format.text(time), x(time), width, colours.ink) : { left: 0, right: 0 };
  context.font = `11.5px ${colours.font}`;
  for (const [tick, label] of axisTicks(view.from, view.to, width, format)) {
    context.strokeStyle = colours["ink-3"];
    verticalLine(context, clamp(x(tick), 1, width), 0, 4, []);
    const { left, right } = axisLabelPlace(context, label, x(tick), width);
    if (!shown || right + 6 < now.left || left - 6 > now.right) drawAxisLabel(context, label, x(tick), width, colours["ink-3"]);
  }
}

function axisLabelPlace(context, label, at, width) {
  const size = context.measureText(label).width;
  const left = clamp(at - size / 2, 0, width - size);
  return { left, right: left + size };
}

function drawAxisLabel(context, label, at, width, colour) {
  const place = axisLabelPlace(context, label, at, width);
  context.fillStyle = colour;
  context.fillText(label, place.left, 6);
  return place;
}

export function outlineBlock(context, panel, block, x, width, colours) {
  const [left, right, lane] = placeOnPanel(panel, block, x, width), height = laneHeight(panel), tall = Math.max(height, 6);
  const top = clamp(lane + height / 2 - tall / 2, STRIP, Infinity);
  for (const [colour, line] of [[colours.surface, 4], [colours.ink, 2]]) {
    context.strokeStyle = colour;
    context.lineWidth = line;
    context.strokeRect(left, top, Math.max(right - left, 2), tall);
  }
}

// For many blocks at a time, of which outlines would cover one another.
export function shadeBlock(context, panel, block, x, width, colours) {
  const [left, right, lane] = placeOnPanel(panel, block, x, width);
  context.globalAlpha = 0.45;
  context.fillStyle = colours.ink;
  context.fillRect(left, lane, Math.max(right - left, 2), laneHeight(panel));
  context.globalAlpha = 1;
}

function placeOnPanel(panel, block, x, width) {
  const [left, right] = [panel.start[block], panel.end[block]].map((time) => clamp(x(time), -4, width + 4));
  return [left, right, STRIP + panel.lane[block] * laneHeight(panel)];
}
