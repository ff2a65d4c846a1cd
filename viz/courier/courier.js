// Between a player and its host: a question comes as an event of the window, an answer leaves as one.
// A mount of its own, since a host that answers inside it need not touch the player.
export function render(root, data, report) {
  if (!root.firstChild) root.append(document.createElement("span")); // a root that stays empty reads as not ready
  root.report = report;
  if (data.asks && !root.listens) {
    const onAsk = (event) => (root.isConnected ? root.report("question", event.detail) : window.removeEventListener("fa-ask", onAsk));
    window.addEventListener("fa-ask", onAsk);
    root.listens = true;
  }
  if (data.numbers) deliver(data);
  if (data.answer) window.dispatchEvent(new CustomEvent("fa-answer", { detail: data.answer }));
}

/** What the replay of the walks found, kept for a player that is not there yet or starts anew. */
function deliver({ numbers, rows }) {
  const all = new Float32Array(rows.buffer, rows.byteOffset, rows.byteLength / 4);
  let start = 0;
  const walks = numbers.lengths.map((length, index) => {
    start += length;
    return { rows: all.subarray(start - length, start), difference: numbers.differences[index] };
  });
  window.faNumbers = { key: numbers.key, walks };
  window.dispatchEvent(new CustomEvent("fa-numbers"));
}
