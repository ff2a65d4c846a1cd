// A walk as the browser keeps it: the columns of a trace, and what can be read off them for every step at once.
// Steps are counted from 1 in the interface: position 0 is before the first, position n shows step n.
import { exactBytes } from "./svg.js";

export const KIND = {
  LOAD: 0, STORE: 1, ADD: 2, INIT: 3, SCORES: 4, SOFTMAX: 5, VALUES: 6, FINISH: 7, MERGE: 8, WEIGHTS: 9, DELTA: 10,
  VALUE_GRADIENT: 11, PROBABILITY_GRADIENT: 12, SCORE_GRADIENT: 13, QUERY_GRADIENT: 14, KEY_GRADIENT: 15,
};
export const TENSOR = {
  QUERY: 0, KEY: 1, VALUE: 2, SCORES: 3, PROBABILITIES: 4, OUTPUT: 5, STATISTICS: 6, PARTIAL_OUTPUT: 7,
  PARTIAL_STATISTICS: 8, OUTPUT_GRADIENT: 9, DELTA: 10, PROBABILITY_GRADIENT: 11, SCORE_GRADIENT: 12,
  QUERY_GRADIENT: 13, KEY_GRADIENT: 14, VALUE_GRADIENT: 15, QUERY_GRADIENT_SUM: 16,
};
const TENSORS = Object.keys(TENSOR).length;
const ALONG_KEYS = new Set([TENSOR.KEY, TENSOR.VALUE, TENSOR.KEY_GRADIENT, TENSOR.VALUE_GRADIENT]);
const PAIRS = new Set([TENSOR.SCORES, TENSOR.PROBABILITIES, TENSOR.PROBABILITY_GRADIENT, TENSOR.SCORE_GRADIENT]);
export const alongKeys = (tensor) => ALONG_KEYS.has(tensor);
export const isPair = (tensor) => PAIRS.has(tensor);
/** A tensor that each split has one of: a step names the split as its key tile. */
export const isPartial = (tensor) => tensor === TENSOR.PARTIAL_OUTPUT || tensor === TENSOR.PARTIAL_STATISTICS;
export const hasNumbers = (tensor) => tensor === TENSOR.STATISTICS || tensor === TENSOR.DELTA || tensor === TENSOR.PARTIAL_STATISTICS;
/** What takes the place of another tensor in its slot. */
const TAKES_PLACE = {
  [TENSOR.PROBABILITIES]: TENSOR.SCORES, [TENSOR.SCORE_GRADIENT]: TENSOR.PROBABILITY_GRADIENT,
  [TENSOR.QUERY_GRADIENT]: TENSOR.QUERY_GRADIENT_SUM,
};
/** Steps after which m and l are others. */
const UPDATES = new Set([KIND.SOFTMAX, KIND.MERGE]);
/** The role that gives a tensor its colour: a gradient wears the hue of what it is the gradient of. */
export const TENSOR_NAMES = [
  "query", "key", "value", "scores", "scores", "output", "statistics", "output", "statistics", "output", "statistics",
  "scores", "scores", "query", "key", "value", "query",
];
export const TENSOR_LETTERS = [
  "Q", "K", "V", "S", "P", "O", "", "Õ", "L", "dO", "D", "dP", "dS", "dQ", "dK", "dV", "ΣdQ",
];
export const READ = 0;
export const WRITE = 1;
const NEVER = 2 ** 31 - 1;
const COLUMN_TYPES = {
  op: Uint8Array, caption: Uint8Array, queryTile: Int16Array, keyTile: Int16Array,
  size: Uint16Array, outerStart: Int32Array, rows: Float32Array,
};

export function decodeWalk(description, block) {
  const walk = { ...description };
  for (const [name, [start, length]] of Object.entries(description.columns)) {
    const Type = COLUMN_TYPES[name];
    walk[name] = new Type(block.buffer, block.byteOffset + start, length / Type.BYTES_PER_ELEMENT);
  }
  walk.length = walk.op.length;
  walk.rowCount = walk.heads * walk.queryLen; // of the heads that share K and V, one head after the other
  walk.tilesInHead = walk.queryTiles / walk.heads;
  walk.inHbm = tensorsMoved(walk);
  walk.largestMove = walk.sizes.reduce((largest, [moved]) => Math.max(largest, moved), 1);
  walk.movedBefore = sumMoved(walk);
  walk.movedUpTo = addMoves(walk);
  walk.tileInSlot = tilesInSlots(walk);
  walk.cellDone = cellsDone(walk);
  walk.writtenAt = firstWrites(walk);
  walk.softmaxSteps = Array.from(walk.op.keys()).filter((index) => UPDATES.has(kindOf(walk, index)));
  walk.updates = walk.softmaxSteps.length > 0 && walk.slots.some(({ tensor }) => tensor === TENSOR.STATISTICS);
  walk.rowsOfStep = latestRows(walk);
  return walk;
}

export const kindOf = (walk, index) => walk.ops[walk.op[index]][0];
export const tensorOf = (walk, index) => walk.ops[walk.op[index]][1];
export const movedBytes = (walk, index) => walk.sizes[walk.size[index]][0];
export const modelledFs = (walk, index) => walk.sizes[walk.size[index]][5];
export const isMove = (walk, index) => index >= 0 && kindOf(walk, index) <= KIND.ADD;
/** Towards the chip or towards HBM; an addition is carried like a write. */
export const directionOf = (walk, index) => (kindOf(walk, index) === KIND.LOAD ? READ : WRITE);
export const isResident = (walk, index, tensor) => index >= 0 && (walk.sizes[walk.size[index]][6] >> tensor) & 1;

/** Bytes of a tensor in a direction up to and with step `position`. */
export function bytesSoFar(walk, position, tensor, direction) {
  return walk.movedBefore[tensor][direction][position];
}

/** Bytes moved up to and with each step; [0] is before the first. */
function addMoves(walk) {
  const sums = new Float64Array(walk.length + 1);
  for (let index = 0; index < walk.length; index++) sums[index + 1] = sums[index] + movedBytes(walk, index);
  return sums;
}

function sumMoved(walk) {
  const nothing = new Float64Array(walk.length + 1);
  const sums = Array.from({ length: TENSORS }, (_, tensor) =>
    [0, 1].map(() => (walk.inHbm.has(tensor) ? new Float64Array(walk.length + 1) : nothing)),
  );
  const counted = [...walk.inHbm].flatMap((tensor) => sums[tensor]);
  for (let index = 0; index < walk.length; index++) {
    for (const sum of counted) sum[index + 1] = sum[index];
    if (isMove(walk, index)) sums[tensorOf(walk, index)][directionOf(walk, index)][index + 1] += movedBytes(walk, index);
  }
  return sums;
}

function tensorsMoved(walk) {
  const moved = new Set([TENSOR.QUERY, TENSOR.KEY, TENSOR.VALUE]);
  for (let index = 0; index < walk.length; index++) if (isMove(walk, index)) moved.add(tensorOf(walk, index));
  return moved;
}

/** The tensor whose slot a tensor has: its own, or that of what it takes the place of. */
export function slotOwner(walk, tensor) {
  const owner = TAKES_PLACE[tensor];
  return walk.slots.some((slot) => slot.tensor === owner) ? owner : tensor;
}

/** Which of the tensors that share a slot is in it at a step; -1 where it is empty. */
export function heldInSlot(walk, index, owner) {
  const sharing = walk.slots.map((slot) => slot.tensor).filter((tensor) => slotOwner(walk, tensor) === owner);
  return sharing.findLast((tensor) => isResident(walk, index, tensor)) ?? -1;
}

/** Rows of a query tile among the rows of all heads: first, and one past the last. */
export function rowsOfTile(walk, tile) {
  const head = Math.floor(tile / walk.tilesInHead);
  const first = (tile % walk.tilesInHead) * walk.queryRows;
  return [first, Math.min(first + walk.queryRows, walk.queryLen)].map((row) => head * walk.queryLen + row);
}

/** For each tensor and step, the tile that its slot was last given: along keys, of a split, or along queries. */
function tilesInSlots(walk) {
  return Array.from({ length: TENSORS }, (_, tensor) => {
    const tiles = new Int16Array(walk.slots.some((slot) => slot.tensor === tensor) ? walk.length : 0);
    const column = alongKeys(tensor) || isPartial(tensor) ? walk.keyTile : walk.queryTile;
    let tile = -1;
    for (let index = 0; index < tiles.length; index++) {
      const starts = kindOf(walk, index) === KIND.INIT && tensor === TENSOR.STATISTICS;
      const ends = tensorOf(walk, index) === TENSOR.PARTIAL_OUTPUT && tensor === TENSOR.PARTIAL_STATISTICS;
      if ((tensorOf(walk, index) === tensor || starts || ends) && column[index] >= 0) tile = column[index];
      tiles[index] = tile;
    }
    return tiles;
  });
}

/** Whether a step works on a tile pair, rather than on a split, whose number stands in the same column. */
export function isOnPair(walk, index) {
  const ofSplit = isPartial(tensorOf(walk, index)) || kindOf(walk, index) === KIND.MERGE;
  return !ofSplit && walk.queryTile[index] >= 0 && walk.keyTile[index] >= 0;
}

/** The step that fills each cell of the S map, and of the P map where P is stored: [S cells, P cells]. */
function cellsDone(walk) {
  const cells = () => new Int32Array(walk.queryTiles * walk.keyTiles).fill(NEVER);
  const done = [cells(), cells()];
  for (let index = 0; index < walk.length; index++) {
    const tensor = tensorOf(walk, index);
    const fills = walk.storesScores ? kindOf(walk, index) === KIND.STORE : kindOf(walk, index) === KIND.SCORES;
    if (!fills || (tensor !== TENSOR.SCORES && tensor !== TENSOR.PROBABILITIES)) continue;
    done[tensor - TENSOR.SCORES][walk.queryTile[index] * walk.keyTiles + walk.keyTile[index]] = index;
  }
  return done;
}

export function isVisited(walk, map, queryTile, keyTile, position) {
  return walk.cellDone[map][queryTile * walk.keyTiles + keyTile] < position;
}

/** Cells of the S map (0) or the P map (1) that are filled by then. */
export function pairsDone(walk, map, position) {
  let count = 0;
  for (const step of walk.cellDone[map]) count += step < position;
  return count;
}

export function isSkipped(walk, queryTile, keyTile) {
  return walk.cellDone[0][queryTile * walk.keyTiles + keyTile] === NEVER;
}

/** How many tiles a tensor has in HBM, across and down. */
export function tilesOf(walk, tensor) {
  if (isPartial(tensor)) return [walk.splits, walk.queryTiles];
  return [alongKeys(tensor) || isPair(tensor) ? walk.keyTiles : 1, alongKeys(tensor) ? 1 : walk.queryTiles];
}

/** For each tensor that is written but pairs, the first step that writes each tile to HBM, row by row. */
function firstWrites(walk) {
  const writes = {};
  for (let index = walk.length - 1; index >= 0; index--) {
    const tensor = tensorOf(walk, index);
    if (!isMove(walk, index) || directionOf(walk, index) === READ || isPair(tensor)) continue;
    const [across, down] = tilesOf(walk, tensor);
    writes[tensor] ??= new Int32Array(across * down).fill(NEVER);
    const x = across > 1 ? walk.keyTile[index] : 0;
    const y = down > 1 ? walk.queryTile[index] : 0;
    writes[tensor][y * across + x] = index;
  }
  return writes;
}

/** For each step, which softmax last changed the rows of its query tile (-1: none yet). */
function latestRows(walk) {
  const latest = new Int32Array(walk.length).fill(-1);
  const ofTile = new Int32Array(walk.queryTiles).fill(-1);
  let softmaxes = 0;
  for (let index = 0; index < walk.length; index++) {
    const queryTile = walk.queryTile[index];
    if (kindOf(walk, index) === KIND.INIT && queryTile >= 0) ofTile[queryTile] = -1;
    if (UPDATES.has(kindOf(walk, index))) ofTile[queryTile] = softmaxes++;
    if (queryTile >= 0) latest[index] = ofTile[queryTile];
  }
  return latest;
}

export function captionValues(walk, position) {
  const index = position - 1;
  const tile = walk.queryTile[index];
  const query = tile < 0 ? tile : tile % walk.tilesInHead; // a caption counts the queries of a head
  const key = walk.keyTile[index];
  const last = (tile, rows, length) => Math.min((tile + 1) * rows, length) - 1;
  return {
    q: tile,
    k: key,
    next_key_tile: key + 1,
    last_key_tile: walk.keyTiles - 1,
    first_query: query * walk.queryRows,
    last_query: last(query, walk.queryRows, walk.queryLen),
    first_key: key * walk.keyRows,
    last_key: last(key, walk.keyRows, walk.keyLen),
    head_dim: walk.headDim,
    bytes: exactBytes(movedBytes(walk, index)),
  };
}
