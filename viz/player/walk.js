// A walk as the browser keeps it: the columns of a trace, and what can be read off them for every step at once.
// Steps are counted from 1 in the interface: position 0 is before the first, position n shows step n.
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
/** The role that gives a tensor its colour: a gradient wears the hue of what it is the gradient of. */
export const TENSOR_NAMES = [
  "query", "key", "value", "scores", "scores", "output", "statistics", "output", "statistics", "output", "statistics",
  "scores", "scores", "query", "key", "value", "query",
];
export const TENSOR_LETTERS = [
  "Q", "K", "V", "S", "P", "O", "", "O", "L", "dO", "D", "dP", "dS", "dQ", "dK", "dV", "ΣdQ",
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
  walk.largestMove = walk.sizes.reduce((largest, [moved]) => Math.max(largest, moved), 1);
  walk.movedBefore = sumMoved(walk);
  walk.movedUpTo = addMoves(walk);
  walk.tileInSlot = tilesInSlots(walk);
  walk.cellDone = cellsDone(walk);
  walk.writtenAt = firstWrites(walk);
  walk.softmaxSteps = Array.from(walk.op.keys()).filter((index) => kindOf(walk, index) === KIND.SOFTMAX);
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
  const sums = Array.from({ length: TENSORS }, () => [0, 1].map(() => new Float64Array(walk.length + 1)));
  for (let index = 0; index < walk.length; index++) {
    for (const pair of sums) for (const sum of pair) sum[index + 1] = sum[index];
    if (isMove(walk, index)) sums[tensorOf(walk, index)][directionOf(walk, index)][index + 1] += movedBytes(walk, index);
  }
  return sums;
}

/** For each tensor and step, the tile that its slot was last given: a key tile for K and V, else a query tile. */
function tilesInSlots(walk) {
  return Array.from({ length: TENSORS }, (_, tensor) => {
    const tiles = new Int16Array(walk.length);
    const column = tensor === TENSOR.KEY || tensor === TENSOR.VALUE ? walk.keyTile : walk.queryTile;
    let tile = -1;
    for (let index = 0; index < walk.length; index++) {
      const starts = kindOf(walk, index) === KIND.INIT && tensor === TENSOR.STATISTICS;
      if ((tensorOf(walk, index) === tensor || starts) && column[index] >= 0) tile = column[index];
      tiles[index] = tile;
    }
    return tiles;
  });
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

/** For O and its statistics, the first step that writes each query tile to HBM. */
function firstWrites(walk) {
  const writes = { [TENSOR.OUTPUT]: [], [TENSOR.STATISTICS]: [] };
  for (const tensor of [TENSOR.OUTPUT, TENSOR.STATISTICS]) {
    writes[tensor] = new Int32Array(walk.queryTiles).fill(NEVER);
    for (let index = walk.length - 1; index >= 0; index--) {
      const stores = kindOf(walk, index) === KIND.STORE && tensorOf(walk, index) === tensor;
      if (stores) writes[tensor][walk.queryTile[index]] = index;
    }
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
    if (kindOf(walk, index) === KIND.SOFTMAX) ofTile[queryTile] = softmaxes++;
    if (queryTile >= 0) latest[index] = ofTile[queryTile];
  }
  return latest;
}

export function captionValues(walk, position) {
  const index = position - 1;
  const query = walk.queryTile[index];
  const key = walk.keyTile[index];
  const last = (tile, rows, length) => Math.min((tile + 1) * rows, length) - 1;
  return {
    q: query,
    k: key,
    next_key_tile: key + 1,
    last_key_tile: walk.keyTiles - 1,
    first_query: query * walk.queryRows,
    last_query: last(query, walk.queryRows, walk.queryLen),
    first_key: key * walk.keyRows,
    last_key: last(key, walk.keyRows, walk.keyLen),
    head_dim: walk.headDim,
    bytes: movedBytes(walk, index).toLocaleString("en-US") + " B",
  };
}
