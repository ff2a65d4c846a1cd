// Bytes so far, per tensor and direction on one scale, beside the closed form that the walk ends on.
import { exactBytes, fillTemplate, htmlNode, setText } from "./svg.js";
import { READ, TENSOR, TENSOR_NAMES, WRITE, bytesSoFar, totalSoFar } from "./walk.js";

const ORDER = [TENSOR.QUERY, TENSOR.KEY, TENSOR.VALUE, TENSOR.SCORES, TENSOR.PROBABILITIES, TENSOR.OUTPUT, TENSOR.STATISTICS];
const NAMES = ["Q", "K", "V", "S", "P", "O"];

export function createLedger(parent, walks, texts) {
  const card = htmlNode(parent, "section", "ledger");
  const head = htmlNode(card, "header");
  htmlNode(head, "h2", "", texts.bytesSoFar);
  htmlNode(head, "p", "", texts.algorithmic);
  htmlNode(head, "span", "provenance", texts.exact);
  const scale = Math.max(...walks.flatMap((walk) => movedTensors(walk).map((tensor) => moved(walk, walk.length, tensor))));
  const sides = walks.map((walk) => createSide(card, walk, texts, scale));
  return { draw: (positions) => sides.forEach((side, index) => side.draw(positions[index])) };
}

const moved = (walk, position, tensor) =>
  bytesSoFar(walk, position, tensor, READ) + bytesSoFar(walk, position, tensor, WRITE);
const movedTensors = (walk) => ORDER.filter((tensor) => moved(walk, walk.length, tensor) > 0);

function createSide(card, walk, texts, scale) {
  const table = htmlNode(card, "div", "bytes");
  for (const text of ["", "", texts.read, texts.write]) htmlNode(table, "span", "column", text);
  const rows = movedTensors(walk).map((tensor) => createRow(table, walk, tensor, scale));
  htmlNode(table, "span", "total name", texts.all);
  htmlNode(table, "span", "total");
  const totals = [READ, WRITE].map((direction) => {
    const node = htmlNode(table, "span", "total figure");
    node.dataset.counter = direction === READ ? "read" : "write";
    return node;
  });
  const sum = createProof(card, walk, texts);
  return {
    draw(position) {
      rows.forEach((row) => row.draw(position));
      totals.forEach((node, direction) => {
        const bytes = totalSoFar(walk, position, direction);
        node.dataset.bytes = String(bytes);
        setText(node, exactBytes(bytes));
      });
      sum.draw(position);
    },
  };
}

function createRow(table, walk, tensor, scale) {
  const name = TENSOR_NAMES[tensor];
  const label = tensor === TENSOR.STATISTICS ? (walk.statisticsPerRow === 2 ? "m, ℓ" : "L") : NAMES[tensor];
  htmlNode(table, "span", `name ${name}`, label);
  const track = htmlNode(table, "span", "track");
  const bars = ["", " written"].map((direction) => htmlNode(track, "i", `bar ${name}${direction}`));
  const figures = bars.map(() => htmlNode(table, "span", "figure"));
  const drawn = [-1, -1];
  return {
    draw(position) {
      [READ, WRITE].forEach((direction) => {
        const bytes = bytesSoFar(walk, position, tensor, direction);
        const never = bytesSoFar(walk, walk.length, tensor, direction) === 0;
        if (bytes === drawn[direction]) return;
        drawn[direction] = bytes;
        bars[direction].style.width = `${(100 * bytes) / scale}%`;
        setText(figures[direction], never ? "–" : exactBytes(bytes));
      });
    },
  };
}

/** The closed form in letters and numbers, and the sum of events with a mark of agreement. */
function createProof(card, walk, texts) {
  const proof = htmlNode(card, "div", "proof");
  htmlNode(proof, "h3", "", texts.wholeWalk);
  const form = htmlNode(proof, "p", "form");
  htmlNode(form, "code", "", walk.formula);
  htmlNode(form, "span", "where", walk.letters.map((letter) => withMeaning(letter, texts)).join("; "));
  const written = htmlNode(proof, "p", "equation");
  htmlNode(written, "code", "", walk.writtenOut);
  htmlNode(written, "b", "", `= ${exactBytes(walk.closedFormBytes)}`).dataset.closedForm = String(walk.closedFormBytes);
  const total = walk.readBytes + walk.writtenBytes;
  const agrees = total === walk.closedFormBytes;
  const events = htmlNode(proof, "p", "equation");
  htmlNode(events, "span", "", texts.sumOfEvents);
  htmlNode(events, "b", agrees ? "agrees" : "differs", `${exactBytes(total)} ${agrees ? "✓ " + texts.agrees : "✗ " + texts.differs}`);
  const soFar = htmlNode(proof, "p", "equation");
  htmlNode(soFar, "span", "", texts.upToHere);
  const bytes = htmlNode(soFar, "b");
  if (walk.difference !== null) {
    htmlNode(proof, "h3", "", texts.exactResult);
    htmlNode(proof, "p", "note", fillTemplate(texts.difference, { difference: walk.difference }));
  }
  htmlNode(proof, "h3", "", texts.notice);
  for (const note of walk.notes) htmlNode(proof, "p", "note", note);
  return {
    draw(position) {
      setText(bytes, exactBytes(totalSoFar(walk, position, READ) + totalSoFar(walk, position, WRITE)));
    },
  };
}

function withMeaning(letter, texts) {
  const meaning = texts[`letter_${letter.split(" ")[0]}`];
  return meaning ? `${letter} ${meaning}` : letter;
}
