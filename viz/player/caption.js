// What is said of a walk at a time: the sentence of its step, or that it has not started, or is over.
import { exactBytes, fillTemplate, subscript } from "./svg.js";
import { breaksAt } from "./broken.js";
import { captionValues } from "./walk.js";

/** A caption as a template that still holds `{walk}`, and as plain text. */
export function captionOf(walk, position, ended, texts) {
  const template = templateOf(walk, position, ended, texts);
  return { walk: walk.short, template, plain: fillTemplate(template, { walk: walk.short }) };
}

function templateOf(walk, position, ended, texts) {
  if (position === 0) return texts.beforeStart;
  if (ended) return fillTemplate(texts.ended, { bytes: exactBytes(walk.movedUpTo[walk.length]) });
  const values = captionValues(walk, position);
  const named = { ...values, q_sub: subscript(values.q), k_sub: subscript(values.k) };
  const told = fillTemplate(walk.captions[walk.caption[position - 1]], named);
  return breaksAt(walk, position) ? `${told} ${walk.broken.here}` : told;
}
