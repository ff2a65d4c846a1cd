// What a tile is and what the mask does to it, in words: for the pointer, the keyboard and a screen reader.
import { fillTemplate, subscript } from "./svg.js";
import { TENSOR, TENSOR_LETTERS, alongKeys, hasNumbers, isPair, isPartial } from "./walk.js";

/** `Q₃ · queries 192–255`, or for a tile pair what its queries see of its keys. */
export function describeTile(walk, rules, { tensor, queryTile, keyTile }, texts) {
  const queries = span(queryTile % walk.tilesInHead, walk.queryRows, walk.queryLen);
  const keys = span(keyTile, walk.keyRows, walk.keyLen);
  if (isPair(tensor)) return ruleText(walk, rules, queryTile, keyTile, queries, keys, texts);
  const [tile, [first, last]] = alongKeys(tensor) ? [keyTile, keys] : [queryTile, queries];
  const index = hasNumbers(tensor) ? "" : subscript(isPartial(tensor) ? keyTile : tile);
  const letter = tensor === TENSOR.STATISTICS ? statisticsName(walk) : TENSOR_LETTERS[tensor] + index;
  return fillTemplate(alongKeys(tensor) ? texts.keysOf : texts.queriesOf, { letter, first, last, tile });
}

export const statisticsName = (walk) => (walk.statisticsPerRow === 2 ? "m, ℓ" : "L");

function span(tile, rows, length) {
  return [tile * rows, Math.min((tile + 1) * rows, length) - 1];
}

/** The mask's rule is Python's: `rules` holds its answers, this only says them. */
function ruleText(walk, rules, queryTile, keyTile, queries, keys, texts) {
  const inHead = queryTile % walk.tilesInHead; // the mask is the same for every head
  const state = rules.states[inHead * walk.keyTiles + keyTile];
  const [ofFirst, ofLast] = rules.seen[inHead].map((seen) => seenText(seen, texts));
  const values = {
    first_query: queries[0], last_query: queries[1], first_key: keys[0], last_key: keys[1],
    seen_by_first: ofFirst, seen_by_last: ofLast,
  };
  const skipped = walk.storesScores ? texts.hidden : texts.skipped;
  const verdict = { f: texts.full, p: texts.partly, s: skipped }[state];
  return fillTemplate(`${walk.causal ? texts.sees : texts.seesAll}${verdict}`, values);
}

function seenText([first, last], texts) {
  if (last < 0) return texts.noKey;
  return first > 0 ? fillTemplate(texts.keysFromTo, { first, last }) : fillTemplate(texts.keysUpTo, { last });
}
