// One walk as a picture: HBM, bus and chip. The picture is a function of position and fraction alone.
import { fillTemplate, grouped, htmlNode, setText, svgNode } from "./svg.js";
import { NARROW, layoutScene } from "./layout.js";
import { createBanner } from "./broken.js";
import { createBus } from "./bus.js";
import { createChip } from "./chip.js";
import { createHbm } from "./hbm.js";
import { pairsDone } from "./walk.js";

/** `makePicker(frame)` gives what lets tiles be pointed at. */
export function createScene(parent, walk, texts, compact, makePicker) {
  const card = htmlNode(parent, "section", "scene");
  card.dataset.walk = walk.algorithm;
  const head = htmlNode(card, "header", "scene-head");
  htmlNode(head, "h2", "", walk.name);
  htmlNode(head, "p", "", walk.lead);
  const progress = htmlNode(head, "strong", "progress");
  const banner = createBanner(card, walk);
  const frame = htmlNode(card, "div", "frame");
  const svg = svgNode(frame, "svg", { role: "img", "aria-label": walk.name });
  const picker = makePicker(frame);
  if (walk.storesScores) htmlNode(card, "p", "legend only-narrow", texts.simplified);
  if (walk.causal) drawLegend(card, walk, texts);
  let parts = [];
  let width = 0;

  const build = (room) => {
    width = room;
    const layout = layoutScene(walk, width, width < NARROW, compact);
    svg.setAttribute("viewBox", `0 0 ${layout.width} ${layout.height}`);
    svg.setAttribute("height", layout.height);
    svg.replaceChildren();
    const hbm = createHbm(svg, walk, layout, texts);
    const chip = createChip(svg, walk, layout, texts);
    const bus = createBus(svg, walk, layout, texts, chip.slotRect);
    parts = [hbm, chip, bus];
    picker.place(layout, chip.slotRect);
  };

  return {
    room: () => Math.round(card.clientWidth - horizontalPadding(card)),
    resize(room) {
      const changes = room > 0 && room !== width; // a card that left the document has no width
      if (changes) build(room);
      return changes;
    },
    svg,
    choose: (chosen) => card.classList.toggle("chosen", chosen),
    draw(position, fraction) {
      card.dataset.step = String(position);
      setText(progress, progressText(walk, position, texts));
      banner.draw(position);
      if (!parts.length) return; // not laid out yet: the host has given no room
      const [hbm, chip, bus] = parts;
      hbm.draw(position);
      chip.draw(position, fraction === 1);
      bus.draw(position, fraction);
      picker.draw(position);
    },
  };
}

function horizontalPadding(node) {
  const style = getComputedStyle(node);
  return parseFloat(style.paddingLeft) + parseFloat(style.paddingRight);
}

function progressText(walk, position, texts) {
  const done = pairsDone(walk, walk.storesScores ? 1 : 0, position);
  const all = pairsDone(walk, 0, walk.length);
  return fillTemplate(texts.pairsDone, { done: grouped(done), all: grouped(all) });
}

/** What the hatch means: skipped in the flash walks, stored all the same in the standard one. */
function drawLegend(card, walk, texts) {
  const legend = htmlNode(card, "p", "legend");
  const states = walk.storesScores ? ["visited", "masked", "coming"] : ["visited", "partly", "skipped", "coming"];
  for (const state of states) {
    htmlNode(legend, "i", `swatch ${state}`);
    htmlNode(legend, "span", "", texts[state]);
  }
}
