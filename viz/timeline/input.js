// What hands do: keys, the transport, pointers on the timelines, picks in the grid and the chip.

import { clamp } from "./clock.js";
import { STRIP, laneHeight } from "./draw.js";
import { blockAt } from "./runs.js";

const STEP = 0.01; // of the visible range, for an arrow key
const LEAP = 0.1; // with Shift
const FAR = 10; // lanes or cells, with Shift
const ZOOM = 1.5;
const DRAG_PX = 4; // a press that moves less is a click
const REACH_PX = 3; // how far from the pointer a block is still meant
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

const hasModifier = (event) => event.altKey || event.ctrlKey || event.metaKey;

function togglePlay({ clock }) {
  if (clock.playing) clock.pause();
  else clock.play();
}

function goTo({ clock, announce }, time) {
  clock.goTo(time);
  announce();
}

function step(player, part) {
  goTo(player, player.clock.time + part * player.clock.length());
}

function moveCursor(player, by) {
  const { state, panels, schedule, announce } = player;
  const at = state.cursor ?? cursorAt(player, state.picked?.panel ?? 0);
  const lane = state.cursor ? clamp(at.lane + by, 0, panels[at.panel].lanes - 1) : at.lane;
  Object.assign(state, { hovered: null, cursor: { panel: at.panel, lane } });
  schedule();
  announce();
}

// Where the keyboard enters a timeline: at the lane of the picked block, or at the first.
function cursorAt({ state, panels }, panel) {
  const { picked } = state;
  return { panel, lane: picked?.panel === panel ? panels[panel].lane[picked.block] : 0 };
}

export function wireKeys(player) {
  const { root, listen, clock } = player;
  const keys = {
    " ": () => togglePlay(player),
    ArrowLeft: (event) => step(player, event.shiftKey ? -LEAP : -STEP),
    ArrowRight: (event) => step(player, event.shiftKey ? LEAP : STEP),
    ArrowUp: (event) => moveCursor(player, event.shiftKey ? -FAR : -1),
    ArrowDown: (event) => moveCursor(player, event.shiftKey ? FAR : 1),
    Home: () => goTo(player, 0),
    End: () => goTo(player, clock.end),
    "+": () => clock.zoom(ZOOM),
    "=": () => clock.zoom(ZOOM),
    "-": () => clock.zoom(1 / ZOOM),
  };
  listen(root, "keydown", (event) => {
    const inSelect = event.target.tagName === "SELECT";
    const onButton = event.target.tagName === "BUTTON" && event.key === " ";
    const act = keys[event.key];
    if (!act || inSelect || onButton || hasModifier(event) || event.defaultPrevented) return;
    event.preventDefault();
    act(event);
  });
}

export function wireTransport(player) {
  const { parts, clock, schedule } = player;
  parts.first.onclick = () => goTo(player, 0);
  parts.back.onclick = () => step(player, -STEP);
  parts.play.onclick = () => togglePlay(player);
  parts.on.onclick = () => step(player, STEP);
  parts.last.onclick = () => goTo(player, clock.end);
  parts.zoomIn.onclick = () => clock.zoom(ZOOM * ZOOM);
  parts.zoomOut.onclick = () => clock.zoom(1 / ZOOM / ZOOM);
  parts.fit.onclick = () => clock.moveView(0, clock.end);
  parts.scrub.oninput = () => clock.goTo(Number(parts.scrub.value) * clock.end);
  parts.speed.value = String(clock.speed);
  parts.speed.onchange = () => {
    clock.speed = Number(parts.speed.value);
    schedule();
  };
}

export function wireGrid(player) {
  const { listen, state, panels, announce, pointedBlock } = player, { grid } = player.parts;
  const pick = (block) => {
    grid.builder.finish(); // a block is picked in a whole grid
    const onChip = panels[state.chip].grid === panels[block.panel].grid; // of equal grids, the run whose chip is shown
    player.pick(onChip ? { ...block, panel: state.chip } : block);
    announce();
  };
  listen(grid.canvas, "click", (event) => pick(grid.blockAt(event)));
  listen(grid.canvas, "keydown", (event) => {
    const arrow = ARROWS[event.key];
    if (!arrow || hasModifier(event)) return;
    event.preventDefault();
    const far = event.shiftKey ? FAR : 1;
    pick(grid.beside(pointedBlock(), arrow[0] * far, arrow[1] * far));
  });
}

export function wireChip({ listen, state, schedule, pick, announce, parts }) {
  const { chip } = parts;
  const blockUnder = (event) => {
    const slot = chip.slotAt(event.target);
    return slot?.block ? { panel: state.chip, block: Number(slot.block) } : null;
  };
  const hover = (block) => {
    state.hovered = block;
    schedule();
  };
  listen(chip.plan, "pointerover", (event) => hover(blockUnder(event)));
  listen(chip.plan, "pointerleave", () => hover(null));
  listen(chip.plan, "click", (event) => {
    pick(blockUnder(event));
    announce();
  });
  listen(chip.run, "change", () => {
    state.chip = Number(chip.run.value);
    schedule();
  });
}

export function wirePanel(player, drawn, index) {
  const { root, listen, state, clock, schedule, pick } = player, { over, box, panel } = drawn;
  const shift = (pixels) => (pixels / box.clientWidth) * clock.length();
  let press = null;
  listen(over, "pointerdown", (event) => {
    press = { x: event.clientX, from: clock.view.from, moved: false };
    over.setPointerCapture(event.pointerId);
  });
  listen(over, "pointermove", (event) => {
    if (press) {
      press.moved ||= Math.abs(event.clientX - press.x) >= DRAG_PX;
      if (press.moved) clock.moveView(press.from - shift(event.clientX - press.x));
      return;
    }
    const found = nearBlock(panel, spotOf(drawn, clock, event));
    state.hovered = found >= 0 ? { panel: index, block: found } : null;
    schedule();
  });
  listen(over, "pointerup", (event) => {
    if (press && !press.moved) {
      const spot = spotOf(drawn, clock, event), found = nearBlock(panel, spot);
      pick(found >= 0 ? { panel: index, block: found } : null);
      if (found < 0) state.cursor = { panel: index, lane: spot.lane };
      goTo(player, spot.time);
    }
    press = null;
  });
  listen(over, "pointercancel", () => (press = null));
  listen(over, "pointerleave", () => {
    state.hovered = null;
    schedule();
  });
  listen(over, "focus", () => {
    state.chip = index;
    if (state.cursor?.panel !== index) state.cursor = cursorAt(player, index);
    schedule();
  });
  listen(over, "wheel", (event) => {
    if (!event.ctrlKey && !event.metaKey && !root.matches(":focus-within")) return; // the page scrolls
    event.preventDefault();
    if (Math.abs(event.deltaX) > Math.abs(event.deltaY)) clock.moveView(clock.view.from + shift(event.deltaX));
    else clock.zoom(ZOOM ** (-event.deltaY / 100), spotOf(drawn, clock, event).time);
  }, { passive: false });
}

function spotOf({ box, panel }, clock, event) {
  const bounds = box.getBoundingClientRect(), height = laneHeight(panel);
  const time = clock.view.from + ((event.clientX - bounds.left) / bounds.width) * clock.length();
  const lane = Math.floor(clamp((event.clientY - bounds.top - STRIP) / height, 0, panel.lanes - 1));
  return { time: clamp(time, 0, clock.end), lane, reach: Math.ceil(REACH_PX / height) };
}

function nearBlock(panel, { time, lane, reach }) {
  for (let off = 0; off <= reach; off++) {
    for (const near of off ? [lane - off, lane + off] : [lane]) {
      const block = near < 0 || near >= panel.lanes ? -1 : blockAt(panel, near, time);
      if (block >= 0) return block;
    }
  }
  return -1;
}
