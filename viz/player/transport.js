// Buttons, scrub bar, position, speed and keys. It holds no time of its own: it asks the player and is told.
import { fillTemplate, htmlNode, setText, subscript } from "./svg.js";
import { paintLane } from "./lane.js";

const ICONS = {
  start: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  on: "M5 3v10l7-5z",
  end: "M3 3v10l7-5zM11 3h2v10h-2z",
};
const MARK_ROOM = 46; // px between marks of the outer tiles

export function createTransport(parent, walks, texts, player) {
  const card = htmlNode(parent, "section", "transport");
  const controls = htmlNode(card, "div", "controls");
  const buttons = htmlNode(controls, "div", "buttons");
  const button = (action, act) => createButton(buttons, action, texts[action], act);
  button("start", () => player.moveTo(0));
  button("back", () => player.moveBy(-1));
  const play = button("play", () => player.toggle());
  button("on", () => player.moveBy(1));
  button("end", () => player.moveTo(Infinity));

  const reading = htmlNode(controls, "p", "reading");
  const speed = createSpeed(controls, texts, player);
  const scrub = createScrub(card, walks, texts, player);
  drawKinds(card, texts);
  const caption = htmlNode(card, "p", "caption");
  caption.dataset.caption = "";
  const live = htmlNode(card, "p", "announced");
  live.setAttribute("aria-live", "polite");

  return {
    resize: scrub.resize,
    setSpeed: (index) => (speed.value = String(index)),
    draw(position, time, captionText) {
      scrub.draw(position, time);
      setText(reading, fillTemplate(texts.position, { step: number(position), steps: number(player.length) }));
      writeCaption(caption, captionText);
    },
    setPlaying(playing) {
      play.innerHTML = icon(playing ? "pause" : "play");
      play.setAttribute("aria-label", playing ? texts.pause : texts.play);
      play.title = play.getAttribute("aria-label");
    },
    announce(captionText) {
      scrub.describe(captionText.plain);
      setText(live, captionText.plain);
    },
  };
}

function drawKinds(card, texts) {
  const legend = htmlNode(card, "p", "legend kinds");
  for (const kind of ["read", "compute", "write"]) {
    htmlNode(legend, "i", `swatch ${kind}`);
    htmlNode(legend, "span", "", texts[kind]);
  }
}

const number = (value) => value.toLocaleString("en-US");
const icon = (name) => `<svg viewBox="0 0 16 16" aria-hidden="true"><path d="${ICONS[name]}"/></svg>`;

function createButton(parent, action, label, act) {
  const button = htmlNode(parent, "button");
  button.type = "button";
  button.dataset.action = action;
  button.innerHTML = icon(action);
  button.setAttribute("aria-label", label);
  button.title = label;
  button.addEventListener("click", act);
  return button;
}

function createSpeed(parent, texts, player) {
  const label = htmlNode(parent, "label", "speed");
  htmlNode(label, "span", "", texts.speed);
  const select = htmlNode(label, "select");
  player.speeds.forEach((speed, index) => {
    const text = speed.seconds ? fillTemplate(texts.wholeIn, { seconds: speed.seconds }) : `${speed.factor}×`;
    const option = htmlNode(select, "option", "", text);
    option.value = String(index);
  });
  select.addEventListener("change", () => player.setSpeed(Number(select.value)));
  return select;
}

/** Keeps the name of the walk bold; a caption is text, never markup. */
function writeCaption(node, { walk, template, plain }) {
  if (node.dataset.plain === plain) return;
  node.dataset.plain = plain;
  node.replaceChildren();
  template.split("{walk}").forEach((part, index) => {
    if (index) htmlNode(node, "b", "", walk);
    node.append(part);
  });
}

function createScrub(card, walks, texts, player) {
  const slider = htmlNode(card, "div", "scrub");
  slider.tabIndex = 0;
  slider.setAttribute("role", "slider");
  slider.setAttribute("aria-label", texts.scrub);
  slider.setAttribute("aria-valuemin", "0");
  slider.setAttribute("aria-valuemax", String(player.length));
  const lanes = walks.map(() => htmlNode(slider, "canvas"));
  const veil = htmlNode(slider, "div", "veil");
  const playhead = htmlNode(slider, "div", "playhead");
  const marks = htmlNode(slider, "div", "marks");
  let width = 0;

  const seek = (event) => {
    const box = slider.getBoundingClientRect();
    player.scrubTo(Math.round(((event.clientX - box.left) / box.width) * player.length));
  };
  slider.addEventListener("pointerdown", (event) => {
    if (event.button !== 0) return;
    slider.setPointerCapture(event.pointerId);
    seek(event);
  });
  slider.addEventListener("pointermove", (event) => {
    if (slider.hasPointerCapture(event.pointerId)) seek(event);
  });
  slider.addEventListener("pointerup", () => player.stopScrubbing());

  return {
    resize() {
      if (slider.clientWidth === width) return;
      width = slider.clientWidth;
      walks.forEach((walk, index) => paintLane(lanes[index], walk, (width * walk.length) / player.length, laneColours(slider)));
      drawMarks(marks, walks[0], width);
    },
    draw(position, time) {
      const share = `${(100 * time) / player.length}%`;
      veil.style.left = share;
      playhead.style.left = share;
      slider.setAttribute("aria-valuenow", String(position));
    },
    describe: (text) => slider.setAttribute("aria-valuetext", text),
  };
}

function laneColours(node) {
  const style = getComputedStyle(node);
  const colour = (name) => style.getPropertyValue(`--lane-${name}`).trim() || style.getPropertyValue(`--fa-${name}`).trim();
  return { read: colour("read"), compute: colour("compute"), write: colour("write") };
}

/** Names of outer tiles under the lane, as many as have room. */
function drawMarks(node, walk, width) {
  node.replaceChildren();
  const column = walk.algorithm === "flash_v1" ? walk.keyTile : walk.queryTile;
  const letter = walk.algorithm === "flash_v1" ? "K" : "Q";
  let free = 0;
  for (const start of walk.outerStart) {
    const x = (start / walk.length) * width;
    if (column[start] < 0 || x < free || x > width - 20) continue;
    const mark = htmlNode(node, "span", "", letter + subscript(column[start]));
    mark.style.left = `${x}px`;
    free = x + MARK_ROOM;
  }
}
