// The grid, built step by step: the blocks of one head, then the heads, then the batch. A step each for a button, or
// one after the other while it plays. The grid is whole before and after.

import { clamp } from "./clock.js";
import { element } from "./dom.js";
import { ICONS, icon, iconButton } from "./icons.js";

const STEPS = 3;
const STEP_MS = 1200;

// How much of a grid is there `at` so many steps: rows, and of a row the part of its blocks. `null` is the whole.
export function builtAt(at, { head, batch }) {
  if (at === null) return { part: 1, rows: head * batch };
  if (at <= 1) return { part: at, rows: 1 };
  if (at <= 2) return { part: 1, rows: 1 + Math.floor((at - 1) * (head - 1)) };
  return { part: 1, rows: head * (1 + Math.floor((at - 2) * (batch - 1))) };
}

export function buildBuilder(box, grids, text, changed) {
  const bar = element("span", "fa-builder");
  bar.setAttribute("role", "group");
  bar.setAttribute("aria-label", text.build);
  box.querySelector("h3").after(bar);
  const back = iconButton("build-back", ICONS.back, text.build_back, bar);
  const play = iconButton("build", ICONS.play, text.build, bar);
  const on = iconButton("build-on", ICONS.on, text.build_on, bar);
  const words = element("div", "fa-grid-words", box);
  words.setAttribute("aria-live", "polite");
  const lines = grids.map(({ panel }) => buildLine(words, panel));
  const reducedMotion = window.matchMedia("(prefers-reduced-motion: reduce)");
  let at = null, playing = false, last = 0;

  function say() {
    const step = at === null ? STEPS : clamp(Math.ceil(at) - 1, 0, STEPS - 1);
    for (const line of lines) line.forEach((words, i) => words.classList.toggle("fa-said", i === step));
    box.dataset.step = at === null ? "" : String(step + 1);
    play.setAttribute("aria-pressed", String(playing));
    play.innerHTML = `${icon(playing ? ICONS.pause : ICONS.play)}<span>${text.build}</span>`;
  }

  function show() {
    say();
    changed();
  }

  function stop(place) {
    playing = false;
    at = place;
    show();
  }

  function advance(now) {
    if (!playing || !box.isConnected) return;
    const steps = (now - last) / STEP_MS;
    if (!reducedMotion.matches || steps >= 1) {
      at = Math.min(at + (reducedMotion.matches ? 1 : steps), STEPS);
      last = now;
      playing = at < STEPS;
      show();
    }
    requestAnimationFrame(advance);
  }

  function toggle() {
    if (playing) return stop(Math.max(Math.ceil(at), 1));
    playing = true;
    if (at === null || at >= STEPS) at = reducedMotion.matches ? 1 : 0;
    last = performance.now();
    show();
    requestAnimationFrame(advance);
  }

  // Whole, 1, 2, 3 and round again.
  function step(by) {
    const stops = STEPS + 1, next = (Math.ceil(at ?? 0) + by + stops) % stops;
    stop(next === 0 ? null : next);
  }

  back.onclick = () => step(-1);
  on.onclick = () => step(1);
  play.onclick = toggle;
  bar.onkeydown = (event) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!by) return;
    event.preventDefault(); // the arrow is not one of the clock's
    step(by);
  };
  say();
  return { built: () => builtAt(at, grids[0].sizes), finish: () => at !== null && stop(null) };
}

// One line for each step, and for the whole, in one place, so that nothing moves when another is said.
function buildLine(parent, { build_texts, grid_text }) {
  const line = element("p", "", parent);
  return [...build_texts, grid_text].map((text) => element("span", "", line, text));
}
