// Between a player and its host: a question comes as an event of the window, an answer leaves as one; where the player
// shows walks other than those whose numbers came, it asks for theirs.
// A mount of its own, since a host that answers inside it need not touch the player.
export function render(root, data, report) {
  if (!root.firstChild) root.append(document.createElement("span")); // a root that stays empty reads as not ready
  root.report = report;
  root.numbersOf = data.numbers?.key;
  if (!root.listens) {
    if (data.asks) listen(root, "fa-ask", (question) => root.report("question", question));
    if (data.numbers) listen(root, "fa-shown", (key) => key !== root.numbersOf && root.report("shown", key));
    root.listens = true;
  }
  if (data.numbers) deliver(data);
  if (data.answer) window.dispatchEvent(new CustomEvent("fa-answer", { detail: data.answer }));
}

function listen(root, name, hear) {
  const onEvent = (event) => (root.isConnected ? hear(event.detail) : window.removeEventListener(name, onEvent));
  window.addEventListener(name, onEvent);
}

/** What the replay of the walks found, kept for a player that is not there yet or starts anew. */
function deliver({ numbers, rows }) {
  const all = new Float32Array(rows.buffer, rows.byteOffset, rows.byteLength / 4);
  let start = 0;
  const walks = numbers.lengths.map((length, index) => {
    start += length;
    return { rows: all.subarray(start - length, start), difference: numbers.differences[index], found: numbers.found[index] };
  });
  window.faNumbers = { key: numbers.key, walks };
  window.dispatchEvent(new CustomEvent("fa-numbers"));
}
