// Buttons, scrub bar, position, speed and keys. It holds no time of its own: it asks the player and is told.
import { fillTemplate, htmlNode, setText } from "./svg.js";
import { createScrub } from "./scrub.js";
import { createTotals } from "./totals.js";

const ICONS = {
  start: "M3 3h2v10H3zM13 3v10L6 8z",
  back: "M11 3v10L4 8z",
  play: "M4 2.5v11l9-5.5z",
  pause: "M4 3h3v10H4zM9 3h3v10H9z",
  on: "M5 3v10l7-5z",
  end: "M3 3v10l7-5zM11 3h2v10h-2z",
};

export function createTransport(parent, walks, clock, reading, texts, player) {
  const card = htmlNode(parent, "section", "transport");
  const controls = htmlNode(card, "div", "controls");
  const buttons = htmlNode(controls, "div", "buttons");
  const button = (action, act) => createButton(buttons, action, texts[action], act);
  button("start", () => player.moveTo(0));
  button("back", () => player.moveBy(-1));
  const play = button("play", () => player.toggle());
  button("on", () => player.moveBy(1));
  button("end", () => player.moveTo(clock.length));

  const place = htmlNode(controls, "p", "reading");
  const speed = createSpeed(controls, texts, player);
  const scrub = createScrub(card, walks, clock, reading, texts, player);
  drawKinds(card, reading, texts);
  const sentences = htmlNode(card, "div", "captions");
  const captions = walks.map(() => createCaption(sentences));
  const totals = createTotals(card, walks, texts);
  const live = htmlNode(card, "p", "announced");
  live.setAttribute("aria-live", "polite");

  return {
    room: scrub.room,
    resize: scrub.resize,
    setSpeed: (index) => (speed.value = String(index)),
    choose: (chosen) => captions.forEach((caption, index) => caption.choose(index === chosen)),
    draw(stop, time, captionTexts, positions, pending) {
      scrub.draw(stop, time);
      totals.draw(positions, pending);
      setText(place, reading.position(stop));
      captions.forEach((caption, index) => caption.draw(captionTexts[index]));
    },
    setPlaying(playing) {
      play.innerHTML = icon(playing ? "pause" : "play");
      play.setAttribute("aria-label", playing ? texts.pause : texts.play);
      play.title = play.getAttribute("aria-label");
    },
    announce(captionTexts) {
      const plain = captionTexts.map((caption) => caption.plain).join(" ");
      scrub.describe(plain);
      setText(live, plain);
    },
  };
}

function drawKinds(card, reading, texts) {
  const legend = htmlNode(card, "p", "legend kinds");
  for (const kind of reading.drawn) {
    htmlNode(legend, "i", `swatch ${kind}`);
    htmlNode(legend, "span", "", texts[kind]);
  }
  if (reading.note) htmlNode(legend, "em", "", reading.note);
}

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
function createCaption(card) {
  const node = htmlNode(card, "p", "caption");
  node.dataset.caption = "";
  return {
    choose: (chosen) => node.classList.toggle("chosen", chosen),
    draw({ walk, template, plain }) {
      if (node.dataset.plain === plain) return;
      node.dataset.plain = plain;
      node.replaceChildren();
      template.split("{walk}").forEach((part, index) => {
        if (index) htmlNode(node, "b", "", walk);
        node.append(part);
      });
    },
  };
}
