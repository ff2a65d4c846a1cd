// The panel of one tile: its numbers, where its bytes live, and the arithmetic of the step with its numbers in it.
// It computes nothing: `ask(question)` goes to the host, and `answer` draws what came back.
import { htmlNode, setAll, show } from "./svg.js";
import { TENSOR_NAMES } from "./walk.js";
import { createHeat } from "./heat.js";

const NOTHING_CHOSEN = { row: 0, key: null, channel: 0 };

/** `follow(question)` gives the question anew for where the walks are now; `wayTo(walk, step)` gives what takes them to a step, or null. */
export function createInspector(host, texts, { ask, follow, wayTo }) {
  const card = htmlNode(host, "section", "inspector");
  setAll(card, { "aria-label": texts.title });
  show(card, false);
  const state = { question: null, asked: 0, opener: null };
  card.addEventListener("keydown", (event) => event.key === "Escape" && close());
  return {
    open(tile, opener) {
      state.opener = opener;
      put({ ...NOTHING_CHOSEN, ...state.question, ...tile });
      show(card, true);
      host.classList.add("inspecting");
      if (!card.childElementCount) drawWaiting();
      card.querySelector("h2").focus({ preventScroll: true });
      state.arrives = true;
    },
    /** Motion has stopped: the numbers of another step are asked for. */
    rest() {
      if (state.question && follow(state.question).step !== state.question.step) put(follow(state.question));
    },
    draw() {
      if (state.question) card.classList.toggle("stale", follow(state.question).step !== state.question.step);
    },
    answer(answer) {
      if (state.question && answer.id === state.asked) draw(answer);
    },
  };

  function put(question) {
    state.question = question;
    state.asked += 1;
    setAll(card, { "aria-busy": "true" });
    ask({ ...question, id: state.asked });
  }

  function close() {
    state.question = null;
    show(card, false);
    card.replaceChildren();
    host.classList.remove("inspecting");
    state.opener?.focus({ preventScroll: true });
  }

  function drawWaiting() {
    const title = htmlNode(card, "h2", "", texts.title);
    setAll(title, { tabindex: "-1" });
  }

  function draw(answer) {
    const focused = card.contains(card.getRootNode().activeElement) && card.getRootNode().activeElement.dataset.keeps;
    setAll(card, { "aria-busy": "false" });
    card.classList.remove("stale");
    card.replaceChildren();
    const ofTile = htmlNode(card, "div", "of-tile");
    drawHead(ofTile, answer);
    if (answer.absent) drawAbsent(ofTile, answer);
    else drawNumbers(ofTile, answer);
    const ofStep = htmlNode(card, "div", "of-step");
    drawArithmetic(ofStep, answer);
    for (const note of answer.notes) htmlNode(ofStep, "p", "note", note);
    card.querySelector(`[data-keeps="${focused || "title"}"]`)?.focus({ preventScroll: true });
    if (state.arrives) card.scrollIntoView({ block: "nearest" });
    state.arrives = false;
  }

  function drawHead(parent, answer) {
    const head = htmlNode(parent, "header");
    htmlNode(head, "i", `swatch ${TENSOR_NAMES[answer.tensor]}`);
    const title = htmlNode(head, "h2", "", answer.title);
    setAll(title, { tabindex: "-1", "data-keeps": "title" });
    htmlNode(head, "span", "kind", answer.kind);
    const button = htmlNode(head, "button", "close", "×");
    setAll(button, { type: "button", "aria-label": texts.close, title: texts.close });
    button.addEventListener("click", close);
    htmlNode(parent, "p", "where", answer.place);
    htmlNode(parent, "p", "where", answer.address);
  }

  function drawAbsent(parent, answer) {
    const line = htmlNode(parent, "p", "absent", answer.absent);
    const go = answer.goTo === null ? null : wayTo(state.question.walk, answer.goTo);
    if (!go) return;
    const button = htmlNode(line, "button", "", answer.goToText);
    setAll(button, { type: "button" });
    button.addEventListener("click", go);
  }

  function choose(axis, index) {
    if (axis) put({ ...state.question, [axis]: index });
  }

  function drawNumbers(parent, { heat, table, axes }) {
    const numbers = htmlNode(parent, "div", "numbers");
    const picture = htmlNode(numbers, "figure");
    createHeat(picture, heat, (row, column) => {
      const chosen = { ...state.question };
      if (axes[0]) chosen[axes[0]] = row;
      if (axes[1]) chosen[axes[1]] = column;
      put(chosen);
    });
    htmlNode(picture, "figcaption", "", heat.range);
    drawTable(htmlNode(numbers, "div", "near"), table, axes);
  }

  function drawTable(parent, table, axes) {
    const grid = htmlNode(parent, "table");
    const head = htmlNode(htmlNode(grid, "thead"), "tr");
    htmlNode(head, "th", "", table.corner);
    for (const { label, index, chosen } of table.columns) {
      drawChoice(htmlNode(head, "th", chosen ? "chosen" : ""), label, axes[1], index);
    }
    const body = htmlNode(grid, "tbody");
    for (const { label, index, chosen, cells } of table.rows) {
      const line = htmlNode(body, "tr", chosen ? "chosen" : "");
      drawChoice(htmlNode(line, "th"), label, axes[0], index);
      cells.forEach((cell, column) => htmlNode(line, "td", chosen && table.columns[column].chosen ? "chosen" : "", cell));
    }
  }

  function drawChoice(cell, label, axis, index) {
    if (!axis) return cell.append(label);
    const button = htmlNode(cell, "button", "", label);
    setAll(button, { type: "button", "data-keeps": `${axis}-${index}` });
    button.addEventListener("click", () => choose(axis, index));
  }

  function drawArithmetic(parent, { lines, rows, row, heading }) {
    const head = htmlNode(parent, "div", "arithmetic-head");
    htmlNode(head, "h3", "", heading);
    if (rows) {
      const label = htmlNode(head, "label", "", texts.row);
      const field = htmlNode(label, "input");
      setAll(field, { type: "number", min: rows[0], max: rows[1], value: row, "data-keeps": "row" });
      field.addEventListener("change", () => {
        const wanted = Math.min(Math.max(Math.round(Number(field.value)), rows[0]), rows[1]);
        choose("row", wanted - rows[0]);
      });
    }
    const list = htmlNode(parent, "ol", "arithmetic");
    for (const { label, equation, result, note, when } of lines) {
      const line = htmlNode(list, "li", when);
      if (when === "now") setAll(line, { "aria-current": "step" });
      const name = htmlNode(line, "span", "name");
      htmlNode(name, "b", "", label);
      htmlNode(name, "span", "", note);
      const sum = htmlNode(line, "span", "equation", equation);
      htmlNode(sum, "strong", "", result);
    }
  }
}
