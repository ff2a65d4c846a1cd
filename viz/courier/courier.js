// Between a player and its host: a question comes as an event of the window, an answer leaves as one.
// A mount of its own, since a host that answers inside it need not touch the player.
export function render(root, data, report) {
  if (!root.firstChild) root.append(document.createElement("span")); // a root that stays empty reads as not ready
  root.report = report;
  if (!root.listens) {
    const onAsk = (event) => (root.isConnected ? root.report("question", event.detail) : window.removeEventListener("fa-ask", onAsk));
    window.addEventListener("fa-ask", onAsk);
    root.listens = true;
  }
  if (data.answer) window.dispatchEvent(new CustomEvent("fa-answer", { detail: data.answer }));
}
