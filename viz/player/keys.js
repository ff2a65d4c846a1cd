// Keys: they act anywhere on a page that is the player's, or only inside it, except where a field or another control has use for them.
const TAKEN_BY = "input, textarea, select, [contenteditable], [role=combobox], [role=listbox], [role=radiogroup], dialog";
const PRESSED_BY = "button, a, summary, [role=button], [role=tab]";

export function bindKeys(host, player, everywhere) {
  const actions = {
    " ": () => player.toggle(),
    ArrowLeft: (event) => (event.shiftKey ? player.moveOuter(false) : player.moveBy(-1)),
    ArrowRight: (event) => (event.shiftKey ? player.moveOuter(true) : player.moveBy(1)),
    PageUp: () => player.moveBy(-1),
    PageDown: () => player.moveBy(1),
    Home: () => player.moveTo(0),
    End: () => player.moveTo(Infinity),
    "+": () => player.changeSpeed(1),
    "=": () => player.changeSpeed(1),
    "-": () => player.changeSpeed(-1),
  };
  const onKey = (event) => {
    if (!host.isConnected) return window.removeEventListener("keydown", onKey);
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    const path = event.composedPath();
    const [target] = path;
    if (!everywhere && !path.includes(host)) return;
    const act = actions[event.key];
    if (!act || !(target instanceof Element) || target.closest(TAKEN_BY)) return;
    if (event.key === " " && target.closest(PRESSED_BY)) return;
    event.preventDefault();
    act(event);
  };
  window.addEventListener("keydown", onKey);
  return () => window.removeEventListener("keydown", onKey);
}
