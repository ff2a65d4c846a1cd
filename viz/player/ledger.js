// Bytes so far, per tensor and direction on one scale, beside the closed form that the walk ends on.
import { createCounted } from "./counted.js";
import { exactBytes, fillTemplate, htmlNode, setText } from "./svg.js";
import { READ, TENSOR, TENSOR_LETTERS, TENSOR_NAMES, WRITE, bytesSoFar, directionOf, tensorOf } from "./walk.js";

export function createLedger(parent, walks, { ratio, surprises, counted, texts }) {
  const card = htmlNode(parent, "section", "ledger");
  const head = htmlNode(card, "header");
  htmlNode(head, "h2", "", texts.bytesSoFar);
  htmlNode(head, "p", "", texts.algorithmic);
  if (ratio) htmlNode(head, "strong", "ratio", ratio);
  htmlNode(head, "span", "provenance", texts.exact);
  for (const surprise of surprises) htmlNode(card, "p", "surprise", surprise);
  const scale = Math.max(...walks.flatMap((walk) => movedTensors(walk).map((tensor) => moved(walk, walk.length, tensor))));
  const body = htmlNode(card, "div", "sides");
  const sides = walks.map((walk, index) => createSide(body, walk, counted[index], texts, scale, walks.length > 1));
  return {
    /** `pending` is what each walk's step under way has not moved yet. */
    draw: (positions, pending) => sides.forEach((side, index) => side.draw(positions[index], pending[index])),
  };
}

const moved = (walk, position, tensor) =>
  bytesSoFar(walk, position, tensor, READ) + bytesSoFar(walk, position, tensor, WRITE);
const movedTensors = (walk) => Object.values(TENSOR).filter((tensor) => moved(walk, walk.length, tensor) > 0);

/** L is a split's own where L of all keys is another row. */
const letterOf = (tensor) => (tensor === TENSOR.PARTIAL_STATISTICS ? "L̃" : TENSOR_LETTERS[tensor]);

function createSide(body, walk, counted, texts, scale, compares) {
  const side = htmlNode(body, "div", "side");
  side.dataset.ledger = walk.algorithm;
  const table = htmlNode(side, "div", "bytes");
  for (const text of [compares ? walk.short : "", "", texts.read, texts.write]) htmlNode(table, "span", "column", text);
  const rows = movedTensors(walk).map((tensor) => createRow(table, walk, tensor, scale));
  htmlNode(table, "span", "total name", texts.all);
  htmlNode(table, "span", "total");
  const totals = [READ, WRITE].map((direction) => {
    const node = htmlNode(table, "span", "total figure");
    node.dataset.counter = direction === READ ? "read" : "write";
    return node;
  });
  const sum = createProof(side, walk, counted, texts);
  return {
    draw(position, pending) {
      const bytes = rows.map((row) => row.draw(position, pending));
      totals.forEach((node, direction) => {
        const total = bytes.reduce((all, row) => all + row[direction], 0);
        node.dataset.bytes = String(total);
        setText(node, exactBytes(total));
      });
      sum.draw(walk.movedUpTo[position] - pending);
    },
  };
}

function createRow(table, walk, tensor, scale) {
  const name = TENSOR_NAMES[tensor];
  const label = tensor === TENSOR.STATISTICS ? (walk.statisticsPerRow === 2 ? "m, ℓ" : "L") : letterOf(tensor);
  htmlNode(table, "span", `name ${name}`, label);
  const track = htmlNode(table, "span", "track");
  const bars = ["", " written"].map((direction) => htmlNode(track, "i", `bar ${name}${direction}`));
  const figures = bars.map(() => htmlNode(table, "span", "figure"));
  const drawn = [-1, -1];
  return {
    draw(position, pending) {
      return [READ, WRITE].map((direction) => {
        const under = pending > 0 && tensorOf(walk, position - 1) === tensor && directionOf(walk, position - 1) === direction;
        const bytes = bytesSoFar(walk, position, tensor, direction) - (under ? pending : 0);
        const never = bytesSoFar(walk, walk.length, tensor, direction) === 0;
        if (bytes !== drawn[direction]) {
          bars[direction].style.width = `${(100 * bytes) / scale}%`;
          setText(figures[direction], never ? "–" : exactBytes(bytes));
        }
        drawn[direction] = bytes;
        return bytes;
      });
    },
  };
}

/** The closed form with a mark that the sum of all steps agrees, then the same with its letters and numbers. */
function createProof(card, walk, counted, texts) {
  const proof = htmlNode(card, "div", "proof");
  const whole = htmlNode(proof, "p", "equation whole");
  htmlNode(whole, "span", "", texts.wholeWalk);
  htmlNode(whole, "code", "", walk.formula);
  htmlNode(whole, "b", "", `= ${exactBytes(walk.closedFormBytes)}`).dataset.closedForm = String(walk.closedFormBytes);
  const total = walk.readBytes + walk.writtenBytes;
  const agrees = total === walk.closedFormBytes;
  const mark = agrees ? `✓ ${texts.agrees}` : `✗ ${fillTemplate(texts.differs, { bytes: exactBytes(total) })}`;
  htmlNode(whole, "b", agrees ? "agrees" : "differs", mark);
  htmlNode(proof, "p", "form", walk.letters.map((letter) => withMeaning(letter, texts)).join("; "));
  htmlNode(htmlNode(proof, "p", "equation"), "code", "", `= ${walk.writtenOut}`);
  const soFar = htmlNode(proof, "p", "equation");
  htmlNode(soFar, "span", "", texts.upToHere);
  const bytes = htmlNode(soFar, "b");
  createCounted(proof, counted, texts);
  const result = walk.replayable ? createResult(proof, walk, texts) : null;
  htmlNode(proof, "h3", "", texts.notice);
  for (const note of walk.notes) htmlNode(proof, "p", "note", note);
  return {
    draw(movedSoFar) {
      setText(bytes, exactBytes(movedSoFar));
      result?.draw();
    },
  };
}

/** How far the replay ends from float64; nothing until it has been replayed. */
function createResult(proof, walk, texts) {
  if (walk.broken) return { draw() {} }; // its banner says what becomes of it
  const title = htmlNode(proof, "h3", "", texts.exactResult);
  const note = htmlNode(proof, "p", "note");
  const told = walk.backward ? texts.gradientsExact : texts.difference;
  return {
    draw() {
      title.hidden = note.hidden = walk.difference === null;
      if (walk.difference !== null) setText(note, fillTemplate(told, { difference: walk.difference }));
    },
  };
}

function withMeaning(letter, texts) {
  const meaning = texts[`letter_${letter.split(" ")[0]}`];
  return meaning ? `${letter} ${meaning}` : letter;
}
