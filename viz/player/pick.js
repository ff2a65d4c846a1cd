// Tiles that can be pointed at, in HBM and on the chip: by mouse, finger or arrow keys; Enter or a click picks one.
import { htmlNode, setAll, setText, show } from "./svg.js";
import { alongKeys, heldInSlot, isPair, isPartial, slotOwner, tilesOf } from "./walk.js";
import { tileRect } from "./layout.js";

const SLACK = 5; // px around what is too slim to hit
const ARROWS = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };

/** `describe(tile)` says what a tile is; `pick(tile)` is called with the chosen one, or is null. */
export function createPicker(frame, walk, texts, describe, pick) {
  const note = htmlNode(frame, "p", "pick-note");
  setAll(note, { role: "status" });
  const hbm = createSurface(frame, note, texts.pickHbm, describe, pick && ((tile, opener) => pick({ ...tile, onChip: false }, opener)));
  const chip = createSurface(frame, note, texts.pickChip, describe, pick && ((tile, opener) => pick({ ...tile, onChip: true }, opener)));
  return {
    place(layout, slotRect) {
      hbm.place(layout.hbm, hbmTiles(walk, layout.tensors));
      chip.place(layout.chip, slotTiles(walk, slotRect, () => chip.position));
    },
    draw(position) {
      chip.position = position;
    },
  };
}

/** Areas of HBM: each a tensor, its rectangle, and how many tiles it has across and down. */
function hbmTiles(walk, tensors) {
  const inHbm = (tensor) => walk.inHbm.has(tensor) || (isPair(tensor) && tensors[tensor]);
  return Object.keys(tensors)
    .map(Number)
    .filter((tensor) => Number.isInteger(tensor) && inHbm(tensor))
    .map((tensor) => {
      const [across, down] = tilesOf(walk, tensor);
      const byKey = alongKeys(tensor) || isPair(tensor) || isPartial(tensor);
      return {
        rect: tensors[tensor],
        across,
        down,
        tileAt: (x, y) => ({ tensor, queryTile: alongKeys(tensor) ? -1 : y, keyTile: byKey ? x : -1 }),
        rectAt: (x, y) => tileRect(walk, tensors, tensor, y, x),
      };
    });
}

/** Slots of the chip: each holds one tile, or none. */
function slotTiles(walk, slotRect, positionOf) {
  return walk.slots
    .filter(({ tensor }) => slotOwner(walk, tensor) === tensor && slotRect(tensor))
    .map(({ tensor }) => ({
      rect: slotRect(tensor),
      across: 1,
      down: 1,
      tileAt: () => tileInSlot(walk, positionOf() - 1, tensor),
      rectAt: () => slotRect(tensor),
    }));
}

/** What a slot holds at a step, where tensors may share one. Null where it is empty. */
export function tileInSlot(walk, index, slotTensor) {
  const tensor = heldInSlot(walk, index, slotOwner(walk, slotTensor));
  if (tensor < 0) return null;
  if (isPair(tensor)) return { tensor, queryTile: walk.queryTile[index], keyTile: walk.keyTile[index] };
  const tile = walk.tileInSlot[tensor][index];
  if (isPartial(tensor)) return { tensor, queryTile: walk.queryTile[index], keyTile: tile };
  return { tensor, queryTile: alongKeys(tensor) ? -1 : tile, keyTile: alongKeys(tensor) ? tile : -1 };
}

function createSurface(frame, note, label, describe, pick) {
  const surface = htmlNode(frame, "div", "pick-surface");
  const mark = htmlNode(surface, "i", "pick-mark");
  setAll(surface, { role: "button", tabindex: "0", "aria-label": label });
  let areas = [];
  let origin = { x: 0, y: 0 };
  let at = null; // [area, x, y]
  point(null);

  surface.addEventListener("pointermove", (event) => point(hit(event)));
  surface.addEventListener("pointerleave", () => point(null));
  surface.addEventListener("focus", () => surface.matches(":focus-visible") && point(at ?? [areas[0], 0, 0]));
  surface.addEventListener("blur", () => point(null));
  surface.addEventListener("click", (event) => choose(event.detail ? hit(event) : (at ?? [areas[0], 0, 0])));
  surface.addEventListener("keydown", (event) => {
    if (ARROWS[event.key] && !event.shiftKey && at) {
      event.preventDefault();
      point(neighbour(areas, at, ARROWS[event.key]));
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      choose(at);
    }
  });

  return {
    place(region, tiles) {
      areas = tiles;
      origin = { x: region.x, y: region.y };
      setBox(surface, region, { x: 0, y: 0 });
      point(null);
    },
  };

  function point(place) {
    at = place;
    const tile = place && place[0].tileAt(place[1], place[2]);
    show(mark, Boolean(place));
    show(note, Boolean(tile));
    surface.classList.toggle("pointing", Boolean(tile && pick));
    if (!place) return;
    const rect = place[0].rectAt(place[1], place[2]);
    setBox(mark, rect, origin);
    if (!tile) return;
    setText(note, describe(tile));
    setAll(surface, { "aria-label": `${label}: ${note.textContent}` });
    note.style.left = `${Math.max(4, Math.min(rect.x + rect.width / 2 - 110, frame.clientWidth - 228))}px`;
    note.style.top = rect.y > 70 ? "" : `${rect.y + rect.height + 8}px`;
    note.style.bottom = rect.y > 70 ? `${frame.clientHeight - rect.y + 8}px` : "";
  }

  function choose(place) {
    const tile = place && place[0].tileAt(place[1], place[2]);
    if (tile && pick) pick(tile, surface);
  }

  function hit(event) {
    const box = frame.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top];
    const area = areas.find(({ rect }) => inside(rect, x, y, 0)) ?? areas.find(({ rect }) => inside(rect, x, y, SLACK));
    return area ? [area, ...tileNear(area, x, y)] : null;
  }
}

const inside = (rect, x, y, slack) =>
  x >= rect.x - slack && x <= rect.x + rect.width + slack && y >= rect.y - slack && y <= rect.y + rect.height + slack;

/** The tile of an area that is nearest to a point; tiles are as long as one another but for the last. */
function tileNear(area, x, y) {
  const across = Array.from({ length: area.across }, (_, tile) => tile);
  const down = Array.from({ length: area.down }, (_, tile) => tile);
  const column = across.findLast((tile) => area.rectAt(tile, 0).x <= x) ?? 0;
  const row = down.findLast((tile) => area.rectAt(0, tile).y <= y) ?? 0;
  return [column, row];
}

/** One tile on in a direction: in the same tensor, else in the nearest tensor that lies there. */
function neighbour(areas, [area, x, y], [dx, dy]) {
  const [nextX, nextY] = [x + dx, y + dy];
  if (nextX >= 0 && nextY >= 0 && nextX < area.across && nextY < area.down) return [area, nextX, nextY];
  const centre = middle(area.rectAt(x, y));
  const away = (rect) => (dx ? dx * (middle(rect).x - centre.x) : dy * (middle(rect).y - centre.y));
  const aside = ({ rect }) => {
    const [low, high, here] = dx ? [rect.y, rect.y + rect.height, centre.y] : [rect.x, rect.x + rect.width, centre.x];
    return Math.max(low - here, here - high, 0);
  };
  const there = areas.filter((other) => other !== area && away(other.rect) > 1);
  if (!there.length) return [area, x, y];
  const nearest = there.reduce((best, other) => {
    const cost = (each) => away(each.rect) + 4 * aside(each);
    return cost(other) < cost(best) ? other : best;
  });
  return [nearest, ...tileNear(nearest, centre.x, centre.y)];
}

const middle = (rect) => ({ x: rect.x + rect.width / 2, y: rect.y + rect.height / 2 });

function setBox(node, rect, origin) {
  const style = { left: rect.x - origin.x, top: rect.y - origin.y, width: rect.width, height: rect.height };
  for (const [name, value] of Object.entries(style)) node.style[name] = `${value}px`;
}
