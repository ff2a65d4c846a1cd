// The scrub bar: a lane for each walk on one axis, the playhead across all of them, and where a walk ends.
import { fillTemplate, htmlNode, setText, subscript } from "./svg.js";
import { paintLane } from "./lane.js";

const MARK_ROOM = 46; // px between marks of the outer tiles
const TICK_ROOM = 110; // px between ticks of an axis

export function createScrub(card, walks, clock, reading, texts, player) {
  const frame = htmlNode(card, "div", "lanes");
  const names = htmlNode(frame, "div", "lane-names");
  if (walks.length > 1) walks.forEach((walk) => htmlNode(names, "b", "", walk.short));
  const slider = htmlNode(frame, "div", "scrub");
  slider.tabIndex = 0;
  slider.setAttribute("role", "slider");
  slider.setAttribute("aria-label", texts.scrub);
  slider.setAttribute("aria-valuemin", "0");
  slider.setAttribute("aria-valuemax", String(clock.length));
  const lanes = walks.map((walk, index) => createLane(slider, walk, clock, index, reading, texts));
  const veil = htmlNode(slider, "div", "veil");
  const playhead = htmlNode(slider, "div", "playhead");
  const marks = htmlNode(slider, "div", "marks");
  let width = 0;

  const seek = (event) => {
    const box = slider.getBoundingClientRect();
    player.scrubTo(((event.clientX - box.left) / box.width) * clock.length);
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
    room: () => slider.clientWidth,
    resize(room) {
      if (room === width) return false;
      width = room;
      const colours = laneColours(slider);
      lanes.forEach((lane) => lane.resize(width, colours));
      marks.replaceChildren();
      if (walks.length > 1) drawAxis(marks, clock, width, reading);
      else drawOuterTiles(marks, walks[0], width);
      return true;
    },
    draw(stop, time) {
      const share = `${(100 * time) / clock.length}%`;
      veil.style.left = share;
      playhead.style.left = share;
      slider.setAttribute("aria-valuenow", String(stop));
    },
    describe: (text) => slider.setAttribute("aria-valuetext", text),
  };
}

/** A lane as long as its walk; after the end of the shorter walk, a hatch that names the end. */
function createLane(slider, walk, clock, index, reading, texts) {
  const lane = htmlNode(slider, "div", "lane");
  const canvas = htmlNode(lane, "canvas");
  const share = clock.ends[index] / clock.length;
  if (share < 1) {
    const over = htmlNode(lane, "div", "over");
    over.style.left = `${100 * share}%`;
    setText(htmlNode(over, "span"), fillTemplate(texts.endsAt, { walk: walk.short, place: reading.end(index) }));
  }
  return { resize: (width, colours) => paintLane(canvas, walk, clock.times[index], width * share, colours) };
}

function laneColours(node) {
  const style = getComputedStyle(node);
  const colour = (name) => style.getPropertyValue(`--lane-${name}`).trim() || style.getPropertyValue(`--fa-${name}`).trim();
  return { read: colour("read"), compute: colour("compute"), write: colour("write") };
}

/** Ticks at round places, each with its unit. */
function drawAxis(node, clock, width, reading) {
  const apart = roundedUp((clock.length * TICK_ROOM) / width);
  for (let value = 0; (value / clock.length) * width < width - 50; value += apart) {
    htmlNode(node, "span", "", value === 0 ? "0" : reading.tick(value)).style.left = `${(100 * value) / clock.length}%`;
  }
}

/** The next of 1, 2, 5, 10, 20, 50, … */
function roundedUp(value) {
  const power = 10 ** Math.floor(Math.log10(value));
  const factor = [1, 2, 5, 10].find((each) => each * power >= value);
  return Math.max(1, factor * power);
}

/** Names of outer tiles under the lane, as many as have room. */
function drawOuterTiles(node, walk, width) {
  let free = 0;
  walk.outerStart.forEach((start, outer) => {
    const x = (start / walk.length) * width;
    const name = outerName(walk, start, outer);
    if (!name || x < free || x > width - 20) return;
    htmlNode(node, "span", "", name).style.left = `${x}px`;
    free = x + MARK_ROOM;
  });
}

/** K₃ or Q₃; where blocks share the keys of a query tile, Õ₃ of a split and O₀ of the tile that is merged. */
function outerName(walk, start, outer) {
  const [letter, tile] = walk.outerIsKey ? ["K", walk.keyTile[start]] : ["Q", walk.queryTile[start]];
  if (walk.splits === 1) return tile < 0 ? "" : letter + subscript(tile);
  return outer < walk.splits * walk.queryTiles ? `Õ${subscript(outer % walk.splits)}` : `O${subscript(tile)}`;
}
