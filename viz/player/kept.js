// The numbers that a file keeps of a few steps: looked up where a page would ask its host.
export function keptAnswer(kept, question) {
  const { walk, step, tensor, onChip, queryTile, keyTile } = question;
  const found = onChip && kept.answers[[walk, step, tensor, queryTile, keyTile].join(" ")];
  return { ...(found || { ...kept.absent, tensor }), id: question.id };
}
