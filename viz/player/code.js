// The lines of each walk beside the scene, with those marked that the step performs: the algorithm's or our kernel's.
import { htmlNode, setAll } from "./svg.js";

const ALGORITHM = 0;

/** `listings` has two views of each walk; `shown` is the one to start with, `choose(view)` is told of another. */
export function createCode(host, walks, listings, texts, shown, choose) {
  const card = htmlNode(host, "section", "code-card");
  const head = htmlNode(card, "header");
  htmlNode(head, "h2", "", texts.title);
  const group = htmlNode(head, "div", "views");
  setAll(group, { role: "group", "aria-label": texts.views });
  const buttons = [texts.algorithm, texts.kernel].map((name, view) => {
    const button = htmlNode(group, "button", "", name);
    setAll(button, { type: "button", "data-view": view });
    button.addEventListener("click", () => show(view));
    return button;
  });
  const body = htmlNode(card, "div", "listings");
  let columns = [];
  let positions = walks.map(() => 0);
  show(shown ?? ALGORITHM);
  return {
    choose: (chosen) => [...body.children].forEach((column, index) => column.classList.toggle("chosen", index === chosen)),
    draw(at) {
      positions = at;
      columns.forEach((column, index) => column.draw(at[index]));
    },
  };

  function show(view) {
    const chosen = [...body.children].findIndex((column) => column.classList.contains("chosen"));
    buttons.forEach((button, index) => setAll(button, { "aria-pressed": String(index === view) }));
    card.classList.toggle("wide", view !== ALGORITHM);
    body.replaceChildren();
    columns = walks.map((walk, index) => createColumn(body, walk, listings[index][view], view));
    body.children[chosen]?.classList.add("chosen");
    columns.forEach((column, index) => column.draw(positions[index]));
    choose(view);
  }
}

function createColumn(body, walk, listing, view) {
  const column = htmlNode(body, "div", "listing");
  setAll(column, { "data-code": walk.algorithm });
  htmlNode(column, "h3", "", [walk.short, listing.source].filter(Boolean).join(" · "));
  if (listing.note) htmlNode(column, "p", "note", listing.note);
  if (!listing.lines.length) return { draw() {} };
  const scrolls = view !== ALGORITHM;
  const list = htmlNode(column, "ol", scrolls ? "scrolls" : "");
  setAll(list, { tabindex: scrolls ? "0" : "-1", "aria-label": listing.source });
  const lines = listing.lines.map(([number, text]) => {
    const line = htmlNode(list, "li");
    htmlNode(line, "span", "number", String(number));
    htmlNode(line, "code", "", text);
    return line;
  });
  let marked = [];
  return {
    draw(position) {
      const current = position > 0 ? listing.current[walk.caption[position - 1]] : [];
      if (current === marked) return;
      marked.forEach((index) => lines[index].removeAttribute("aria-current"));
      current.forEach((index) => setAll(lines[index], { "aria-current": "step" }));
      marked = current;
      // In the next frame, before it is drawn: to measure now would lay the whole page out once more.
      if (current.length && scrolls) requestAnimationFrame(() => bringIntoView(list, lines[current[0]], lines[current.at(-1)]));
    },
  };
}

/** Scrolls the list alone, never the page; its lines are placed in it. */
function bringIntoView(list, first, last) {
  const [top, bottom] = [first.offsetTop, last.offsetTop + last.offsetHeight];
  if (top >= list.scrollTop && bottom <= list.scrollTop + list.clientHeight) return;
  list.scrollTop = Math.max((top + bottom - list.clientHeight) / 2, 0);
}
