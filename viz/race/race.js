// A race of measured times: each bar fills in its own time, all on one clock that is slowed by a stated factor.
import { buildRace } from "./elements.js";
import { clockText, setText } from "./words.js";

const FASTEST_FRAME_MS = 100; // a tab that was hidden does not leap

/** Called again with the same root when the data change; a new key is a new race. */
export function render(root, data) {
  const race = root.race;
  if (race?.data.key === data.key && race.signature === JSON.stringify(data)) return;
  const isNew = race?.data.key !== data.key;
  cancelAnimationFrame(race?.request);
  const next = { data, signature: JSON.stringify(data), guess: isNew ? "" : race.guess, ms: isNew ? 0 : race.ms, request: 0 };
  root.race = next;
  next.parts = buildRace(root, data, { start: () => start(root), guess: (id) => guess(root, id) });
  draw(root);
  if (!isNew || !data.starts) return;
  root.scrollIntoView({ block: "center", behavior: "smooth" });
  start(root);
}

function start(root) {
  const race = root.race;
  cancelAnimationFrame(race.request);
  race.ms = window.matchMedia("(prefers-reduced-motion: reduce)").matches ? lengthOf(race) : 0;
  let last = performance.now();
  const frame = (now) => {
    if (!root.isConnected || root.race !== race) return;
    race.ms += Math.min(now - last, FASTEST_FRAME_MS) / race.data.factor;
    last = now;
    draw(root);
    if (race.ms < lengthOf(race)) race.request = requestAnimationFrame(frame);
  };
  draw(root);
  if (race.ms < lengthOf(race)) race.request = requestAnimationFrame(frame);
}

function lengthOf({ data }) {
  return Math.max(0, ...data.lanes.map((lane) => lane.ms ?? 0));
}

function guess(root, id) {
  root.race.guess = root.race.guess === id ? "" : id;
  draw(root);
}

/** The picture at one time: a function of the data, the time and the guess alone. */
function draw(root) {
  const { data, parts, ms, guess: guessed } = root.race;
  const length = lengthOf(root.race);
  const over = length > 0 && ms >= length;
  setText(parts.clock, ms > 0 ? clockText(Math.min(ms, length)) : "");
  setText(parts.start, ms > 0 ? data.text.again : data.text.start);
  setText(parts.outcome, over ? data.text.outcome : "");
  setText(parts.verdict, verdict(data, guessed, over));
  data.lanes.forEach((lane, index) => drawLane(parts.lanes[index], lane, { ms, over, guessed, data }));
}

function drawLane(part, lane, { ms, over, guessed, data }) {
  part.name.setAttribute("aria-pressed", String(guessed === lane.id));
  if (lane.ms === null) return;
  const share = Math.min(1, ms / lane.ms);
  part.bar.style.width = `${100 * share}%`;
  part.row.classList.toggle("done", share === 1);
  part.row.classList.toggle("winner", over && data.winners.includes(lane.id));
  const waiting = ms > 0 ? `${Math.floor(100 * share)} % ${data.text.of.replace("{time}", lane.time)}` : "";
  const level = over && data.winners.length > 1 && data.winners.includes(lane.id) ? ` · ${data.text.level}` : "";
  setText(part.time, share === 1 ? lane.time + level : waiting);
}

function verdict({ lanes, winners, text }, guessed, over) {
  const lane = lanes.find(({ id }) => id === guessed);
  if (!lane) return text.guess;
  if (!over) return text.guess_of.replace("{name}", lane.name);
  return (winners.includes(guessed) ? text.guessed_right : text.guessed_wrong).replace("{name}", lane.name);
}
