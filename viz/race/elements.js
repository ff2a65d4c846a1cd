// The elements of a race: a head with clock and button, a row for each lane, a line for the outcome and the guess.

const KEYS = "123456789";

export function buildRace(root, data, on) {
  const focused = root.querySelector(":focus")?.dataset.part;
  root.replaceChildren();
  const whole = element("div", "fa-race", root);
  const head = element("div", "fa-race-head", whole);
  const start = button("fa-race-start", head, data.text.start, "start", on.start);
  const clock = element("b", "fa-race-clock", head);
  element("span", "fa-race-factor", head, data.text.factor);
  const lanes = data.lanes.map((lane, index) => buildLane(whole, lane, index, on));
  const outcome = element("p", "fa-race-outcome", whole);
  outcome.setAttribute("role", "status");
  const verdict = element("p", "fa-race-guess", whole);
  element("p", "fa-race-note", whole, data.text.provenance);
  start.disabled = !data.lanes.some((lane) => lane.ms !== null);
  whole.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const lane = data.lanes[KEYS.indexOf(event.key)];
    if (lane && event.key) on.guess(lane.id);
    if (event.key === "r" || event.key === "R") on.start();
  });
  if (focused) root.querySelector(`[data-part="${focused}"]`)?.focus({ preventScroll: true });
  return { start, clock, lanes, outcome, verdict };
}

function buildLane(whole, lane, index, on) {
  const row = element("div", `fa-race-lane${lane.ours ? " ours" : ""}`, whole);
  const name = button("fa-race-name", row, lane.name, `lane-${index}`, () => on.guess(lane.id));
  name.title = `${index + 1}`;
  if (lane.ms === null) {
    element("span", "fa-race-why", row, lane.why);
    return { row, name };
  }
  const track = element("div", "fa-race-track", row);
  const bar = element("div", "fa-race-bar", track);
  return { row, name, bar, time: element("span", "fa-race-time", row) };
}

function button(className, parent, text, part, onClick) {
  const node = element("button", className, parent, text);
  node.type = "button";
  node.dataset.part = part;
  node.addEventListener("click", onClick);
  return node;
}

function element(tag, className, parent, text) {
  const node = document.createElement(tag);
  node.className = className;
  if (text !== undefined) node.textContent = text;
  parent.append(node);
  return node;
}
