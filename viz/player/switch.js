// What two walks need to choose: which of them a phone shows, and the clock that they share.
import { BYTES, STEPS, TIME } from "./clock.js";
import { fillTemplate, htmlNode, setAll, setText } from "./svg.js";

/** On a phone the walks take turns: a switch that tells how far each is. Hidden where both have room. */
export function createSwitch(parent, walks, clock, texts, choose) {
  const group = htmlNode(parent, "div", "switch");
  setAll(group, { role: "group", "aria-label": texts.switch });
  const buttons = walks.map((walk, index) => {
    const button = htmlNode(group, "button");
    setAll(button, { type: "button", "data-switch": walk.algorithm });
    button.addEventListener("click", () => choose(index));
    return button;
  });
  return {
    draw(time, chosen) {
      buttons.forEach((button, index) => {
        const share = Math.floor((100 * Math.min(time, clock.ends[index])) / clock.ends[index]);
        setText(button, fillTemplate(texts.shareDone, { walk: walks[index].short, share }));
        setAll(button, { "aria-pressed": String(index === chosen) });
      });
    },
  };
}

export function createClockChoice(parent, clock, texts, choose) {
  const label = htmlNode(parent, "label", "clock");
  htmlNode(label, "span", "", texts.clock);
  const select = htmlNode(label, "select");
  const names = { [BYTES]: texts.bytesMoved, [STEPS]: texts.tileSteps, [TIME]: texts.modelledTime };
  for (const [kind, name] of Object.entries(names)) htmlNode(select, "option", "", name).value = kind;
  select.value = clock.kind;
  select.addEventListener("change", () => choose(select.value));
}
