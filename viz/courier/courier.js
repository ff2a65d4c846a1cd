// Between a player and its host: a question comes as an event of the window, an answer leaves as one; where the player
// shows walks other than those it follows, it says so, and what is not there yet it asks for again.
// A mount of its own, since a host that answers inside it need not touch the player.
const ASK_AGAIN_MS = 300;

export function render(root, data, report) {
  if (!root.firstChild) root.append(document.createElement("span")); // a root that stays empty reads as not ready
  root.report = report;
  root.follows = data.follows;
  if (!root.listens) {
    if (data.asks) listen(root, "fa-ask", (question) => root.report("question", question));
    if (data.follows) listen(root, "fa-shown", (key) => key !== root.follows && root.report("shown", key));
    root.listens = true;
  }
  root.awaits = data.awaits;
  if (data.awaits) askAgain(root);
  if (data.numbers) deliver(data);
  if (data.answer) window.dispatchEvent(new CustomEvent("fa-answer", { detail: data.answer }));
}

/** Until something else than `awaits` comes. Each report differs, or it would be none. */
function askAgain(root) {
  if (root.asking) return;
  root.asking = setInterval(() => {
    if (root.awaits && root.isConnected) return root.report("awaited", Date.now());
    clearInterval(root.asking);
    root.asking = null;
  }, ASK_AGAIN_MS);
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
