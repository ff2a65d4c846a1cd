// Where things stand, in pixels: pure functions of a walk and the room there is.
import { narrowChipHeight } from "./slots.js";
import { TENSOR, alongKeys, hasNumbers, isPair, isPartial, rowsOfTile } from "./walk.js";

const PAD = 14;
const HEAD = 30;
const FOOT = 26;
const LABEL = 20;
const GAP = 9;
const WIDE_GAP = 14; // between a map and O
const MAP_GAP = 34; // between S and P
const STATISTICS_WIDTH = 5;
const LABEL_GAP = 20; // between K and S, where the strips at the left are named above them
const NAME_ROOM = { across: 26, down: 17 }; // px from one strip to the next, for their names
const THINNEST = 3; // px, of what would be too slim to see at true proportion
const [SLIM, SLIM_SHOWN] = [8, 14]; // px: a map slimmer than the first is drawn as the second, and so are strips
const [LOWEST, HIGHEST] = [424, 500]; // of a scene on a desktop
const COMPACT_HEIGHT = 372; // where two scenes, their transport and their ledger share a screen
export const NARROW = 480;

/** HBM, bus and chip side by side, or one above the other on a phone. */
export function layoutScene(walk, width, narrow, compact) {
  if (narrow) {
    const hbm = { x: 0, y: 0, width, height: Math.min(width * 0.8, 330) };
    const bus = { x: 0, y: hbm.height, width, height: 60 };
    const chip = { x: 0, y: bus.y + bus.height, width, height: narrowChipHeight(walk) };
    return { width, height: chip.y + chip.height, narrow, hbm, bus, chip, tensors: layoutHbm(walk, hbm) };
  }
  const busWidth = compact ? 92 : 104;
  const chipWidth = Math.max(compact ? 206 : 250, Math.min(320, width * 0.33));
  const hbm = { x: 0, y: 0, width: width - busWidth - chipWidth, height: 0 };
  hbm.height = compact ? COMPACT_HEIGHT : Math.min(Math.max(heightAtFullWidth(walk, hbm), LOWEST), HIGHEST);
  const { height } = hbm;
  const bus = { x: hbm.width, y: 0, width: busWidth, height };
  const chip = { x: hbm.width + busWidth, y: 0, width: chipWidth, height };
  return { width, height, narrow, hbm, bus, chip, tensors: layoutHbm(walk, hbm) };
}

// What stands on each side of S in HBM, from left to right and from top to bottom.
const SIDES = {
  left: [TENSOR.QUERY_GRADIENT, TENSOR.QUERY_GRADIENT_SUM, TENSOR.QUERY],
  right: [TENSOR.OUTPUT, TENSOR.OUTPUT_GRADIENT, TENSOR.STATISTICS, TENSOR.DELTA],
  above: [TENSOR.KEY_GRADIENT, TENSOR.KEY],
  below: [TENSOR.VALUE, TENSOR.VALUE_GRADIENT, TENSOR.PARTIAL_OUTPUT, TENSOR.PARTIAL_STATISTICS],
};

/** The strips on each side of S that this walk has in HBM. */
export function sidesOf(walk) {
  const present = (tensors) => tensors.filter((tensor) => walk.inHbm.has(tensor));
  return Object.fromEntries(Object.entries(SIDES).map(([side, tensors]) => [side, present(tensors)]));
}

/** Gaps and numbers of wide strips, across and down; `apart` is the gap between strips of one side. */
function measure(walk, apart = { across: GAP, down: GAP }) {
  const sides = sidesOf(walk);
  const maps = walk.storesScores ? 2 : 1;
  const [across, down] = [[...sides.left, ...sides.right], [...sides.above, ...sides.below]];
  const thin = (tensors) => tensors.filter(hasNumbers).length;
  const aboveGap = sides.left.length > 1 ? LABEL_GAP : GAP;
  const between = (tensors, gap) => (tensors.length - 1) * gap;
  const gapsAcross = GAP + WIDE_GAP + between(sides.left, apart.across) + between(sides.right, apart.across) + (maps - 1) * MAP_GAP;
  const gapsDown = GAP + aboveGap + between(sides.above, apart.down) + between(sides.below, apart.down);
  return {
    sides, maps, aboveGap, apart,
    wide: { across: across.length - thin(across), down: down.length - thin(down) },
    gaps: { across: gapsAcross + thin(across) * STATISTICS_WIDTH, down: gapsDown + thin(down) * STATISTICS_WIDTH },
  };
}

/** How high HBM is when its tensors use all of its width. */
function heightAtFullWidth(walk, hbm) {
  const { maps, wide, gaps } = measure(walk);
  const scale = (hbm.width - 2 * PAD - LABEL - gaps.across) / (maps * walk.keyLen + wide.across * walk.headDim);
  return HEAD + FOOT + 8 + gaps.down + scale * (walk.rowCount + wide.down * walk.headDim);
}

/** The room that gaps leave, and the scale at which the tensors fill it. */
function fit(walk, hbm, { maps, wide, gaps }) {
  const roomX = hbm.width - 2 * PAD - LABEL - gaps.across;
  const roomY = hbm.height - HEAD - FOOT - 8 - gaps.down;
  const across = maps * walk.keyLen + wide.across * walk.headDim;
  const down = walk.rowCount + wide.down * walk.headDim;
  return { roomX, roomY, scale: Math.min(roomX / across, roomY / down) };
}

/** Gaps that keep the names of slim neighbours apart. */
function namedApart(walk, scale, { sides }) {
  const gap = (tensors, room) => (tensors.length > 1 ? Math.max(GAP, room - walk.headDim * scale) : GAP);
  return {
    across: gap(sides.left, NAME_ROOM.across),
    down: Math.max(gap(sides.above, NAME_ROOM.down), gap(sides.below, NAME_ROOM.down)),
  };
}

/** Rectangles of the tensors in HBM at one scale: Q left of S, K above, V below, O and statistics right. */
function layoutHbm(walk, hbm) {
  const usual = measure(walk);
  const { sides, maps, aboveGap, apart, wide, gaps } = measure(walk, namedApart(walk, fit(walk, hbm, usual).scale, usual));
  const { roomX, roomY, scale } = fit(walk, hbm, { maps, wide, gaps });
  const slim = Math.min(walk.keyLen, walk.rowCount) * scale < SLIM;
  const least = slim ? SLIM_SHOWN : THINNEST;
  const thick = Math.max(walk.headDim * scale, least);
  const mapWidth = Math.max(Math.min(walk.keyLen * scale, (roomX - wide.across * thick) / maps), least);
  const mapHeight = Math.max(Math.min(walk.rowCount * scale, roomY - wide.down * thick), least);
  const used = LABEL + wide.across * thick + maps * mapWidth + gaps.across;
  const size = (tensor) => (hasNumbers(tensor) ? STATISTICS_WIDTH : thick);
  const tensors = { scale, slim };

  let x = hbm.x + (hbm.width - used) / 2 + LABEL;
  const top = hbm.y + HEAD + 4 + (roomY - (mapHeight + wide.down * thick)) / 2;
  const mapY = top + sides.above.reduce((sum, tensor) => sum + size(tensor) + apart.down, 0) - apart.down + aboveGap;
  for (const tensor of sides.left) {
    tensors[tensor] = { x, y: mapY, width: size(tensor), height: mapHeight };
    x += size(tensor) + apart.across;
  }
  x += GAP - apart.across;
  const scores = { x, y: mapY, width: mapWidth, height: mapHeight };
  tensors[TENSOR.SCORES] = scores;
  if (maps === 2) tensors[TENSOR.PROBABILITIES] = { ...scores, x: (x += mapWidth + MAP_GAP) };
  const last = { ...scores, x };
  x += mapWidth + WIDE_GAP;
  for (const tensor of sides.right) {
    tensors[tensor] = { x, y: mapY, width: size(tensor), height: mapHeight };
    x += size(tensor) + apart.across;
  }
  let y = top;
  for (const tensor of sides.above) {
    tensors[tensor] = { x: scores.x, y, width: mapWidth, height: size(tensor) };
    y += size(tensor) + apart.down;
  }
  y = mapY + mapHeight + GAP;
  for (const tensor of sides.below) {
    tensors[tensor] = { x: last.x, y, width: mapWidth, height: size(tensor) };
    y += size(tensor) + apart.down;
  }
  return tensors;
}

/** Start and length of the rows from `first` up to `stop` along a side of `extent` px that `length` rows make. */
const share = ([first, stop], length, extent) => [(first / length) * extent, ((stop - first) / length) * extent];
const keysOfTile = (walk, tile) => (tile < 0 ? [0, walk.keyLen] : [tile * walk.keyRows, Math.min((tile + 1) * walk.keyRows, walk.keyLen)]);
const rowsOrAll = (walk, tile) => (tile < 0 ? [0, walk.rowCount] : rowsOfTile(walk, tile));
const splitOrAll = (walk, split) => (split < 0 ? [0, walk.splits] : [split, split + 1]);

/** Rectangle of a tile in HBM; -1 means all along that side. */
export function tileRect(walk, tensors, tensor, queryTile, keyTile) {
  const whole = tensors[tensor];
  let [x, width] = [0, whole.width];
  if (isPartial(tensor)) [x, width] = share(splitOrAll(walk, keyTile), walk.splits, whole.width);
  else if (alongKeys(tensor) || isPair(tensor)) [x, width] = share(keysOfTile(walk, keyTile), walk.keyLen, whole.width);
  const [y, height] = alongKeys(tensor)
    ? [0, whole.height]
    : share(rowsOrAll(walk, queryTile), walk.rowCount, whole.height);
  return { x: whole.x + x, y: whole.y + y, width, height };
}

/** The two lanes of the bus and where a tile rests on each: [read, write]. */
export function layoutBus(bus, narrow) {
  const size = 46;
  return [0.3, 0.68].map((share, direction) => {
    if (narrow) {
      const x = bus.x + bus.width * (direction ? 0.78 : 0.46);
      const ends = [bus.y + 3, bus.y + bus.height - 3];
      const rest = { x: x - 20, y: bus.y + bus.height / 2 - 20, width: 40, height: 40 };
      return { from: [x, ends[direction]], to: [x, ends[1 - direction]], rest };
    }
    const y = bus.y + bus.height * share;
    const ends = [bus.x + 5, bus.x + bus.width - 5];
    const rest = { x: bus.x + bus.width / 2 - size / 2, y: y - size / 2, width: size, height: size };
    return { from: [ends[direction], y], to: [ends[1 - direction], y], rest };
  });
}
