// The bus between HBM and the chip, and the tiles that travel on it: read towards the chip, write towards HBM.
import { exactBytes, lerpRect, setAll, setRect, setText, show, svgNode } from "./svg.js";
import { READ, TENSOR_NAMES, WRITE, directionOf, isMove, movedBytes, tensorOf } from "./walk.js";
import { layoutBus, tileRect } from "./layout.js";
import { tileLabel } from "./chip.js";

const LABELLED = 26; // px: a smaller tile carries no label

export function createBus(svg, walk, layout, texts, slotRect) {
  const lanes = layoutBus(layout.bus, layout.narrow);
  const group = svgNode(svg, "g", { class: "bus" });
  const arrows = lanes.map((lane, direction) => createArrow(group, lane, direction, layout.narrow, texts));
  const settling = createTravelling(group);
  const moving = createTravelling(group);
  const bytes = svgNode(group, "text", { class: "figure" });

  const stops = (index) => {
    const [tensor, direction] = [tensorOf(walk, index), directionOf(walk, index)];
    const home = tileRect(walk, layout.tensors, tensor, walk.queryTile[index], walk.keyTile[index]);
    const path = [home, lanes[direction].rest, slotRect(tensor)];
    return direction === READ ? path : path.reverse();
  };

  return {
    /** `fraction` is 1 at rest: the tile of the step stands on the bus and the one before has arrived. */
    draw(position, fraction) {
      const index = position - 1;
      const moves = isMove(walk, index);
      const direction = moves ? directionOf(walk, index) : -1;
      arrows.forEach((arrow, lane) => arrow.draw(lane === direction));
      moving.show(moves);
      if (moves) {
        const [from, rest] = stops(index);
        moving.draw(walk, index, lerpRect(from, rest, fraction));
      }
      const arrives = fraction < 1 && isMove(walk, index - 1);
      settling.show(arrives);
      if (arrives) {
        const [, rest, to] = stops(index - 1);
        settling.draw(walk, index - 1, lerpRect(rest, to, fraction));
      }
      show(bytes, moves && fraction === 1);
      if (moves) placeBytes(bytes, lanes[direction], layout.narrow, exactBytes(movedBytes(walk, index)));
    },
  };
}

function placeBytes(node, lane, narrow, text) {
  setText(node, text);
  const { rest } = lane;
  const at = narrow
    ? { x: rest.x - 8, y: rest.y + 32, class: "figure end" }
    : { x: rest.x + rest.width / 2, y: rest.y + rest.height + 17, class: "figure middle" };
  setAll(node, at);
}

function createArrow(group, lane, direction, narrow, texts) {
  const [[x1, y1], [x2, y2]] = [lane.from, lane.to];
  const name = direction === READ ? "read" : "write";
  const arrow = svgNode(group, "g", { class: `arrow ${name}` });
  const [dx, dy] = [Math.sign(x2 - x1), Math.sign(y2 - y1)];
  svgNode(arrow, "path", { d: `M${x1} ${y1}L${x2 - 6 * dx} ${y2 - 6 * dy}`, class: "shaft" });
  svgNode(arrow, "path", {
    d: `M${x2} ${y2}l${-9 * dx - 5 * dy} ${-9 * dy - 5 * dx}l${10 * dy} ${10 * dx}z`, class: "head",
  });
  const at = narrow
    ? { x: direction === WRITE ? x1 + 26 : lane.rest.x - 8, y: (y1 + y2) / 2 - 4, class: direction === WRITE ? "" : "end" }
    : { x: (x1 + x2) / 2, y: lane.rest.y - 9, class: "middle" };
  svgNode(arrow, "text", { ...at, class: `direction ${at.class}` }, direction === READ ? texts.read : texts.write);
  return {
    draw(active) {
      setAll(arrow, { class: `arrow ${name}${active ? " active" : ""}` });
    },
  };
}

/** One tile on its way. A write wears a hatch besides its tensor's colour. */
function createTravelling(group) {
  const node = svgNode(group, "g");
  const tile = svgNode(node, "rect", { rx: 3 });
  const stripe = svgNode(node, "rect", { rx: 1, class: "write-stripe" });
  const label = svgNode(node, "text");
  return {
    show: (visible) => show(node, visible),
    draw(walk, index, rect) {
      const name = TENSOR_NAMES[tensorOf(walk, index)];
      setAll(tile, { class: `tile travelling ${name}` });
      setRect(tile, rect);
      const writes = directionOf(walk, index) === WRITE;
      show(stripe, writes);
      if (writes) setRect(stripe, { x: rect.x, y: rect.y + rect.height - 5, width: rect.width, height: 5 });
      const fits = Math.min(rect.width, rect.height) >= LABELLED;
      show(label, fits);
      if (!fits) return;
      setText(label, tileLabel(walk, index, tensorOf(walk, index)));
      setAll(label, { x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 + 5, class: `tile-label middle ${name}` });
    },
  };
}
