"""The tile player as a Jupyter widget: the same script, style and words as the page, fed by the kernel."""

from __future__ import annotations

from functools import partial
from typing import Any

import anywidget
import traitlets

from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.tile_movement.inspector import answer
from pages.shared.tile_movement.player_data import BYTES, CLOCKS, STEPS, Host, player_data
from pages.shared.tile_movement.question import read_question
from simulator import Trace
from simulator.gpu import gpu_named
from viz.packing import pack_data, script_of, style_of
from viz.player import ASSET
from viz.player.equation import MemoryAt
from viz.player.example import checkpoints_of
from viz.player.scene import walk_of
from viz.script import EXPORT
from viz.theme import DARK, LIGHT, css_variables

# What a front end calls. It takes any export called `render` for its own, so the script exports nothing else.
ADAPTER = """
export default {
  render({ model, el }) {
    const root = document.createElement("div");
    root.className = "fa-root";
    root.dataset.lmSuppressShortcuts = "true"; // keys inside the player are the player's, not the notebook's
    el.append(root);
    const draw = () => {
      const { buffer, byteOffset, byteLength } = model.get("payload");
      render(root, unpackData(new Uint8Array(buffer, byteOffset, byteLength)), (name, value) => {
        if (name === "question") return model.send(value);
        model.set(name === "clock" ? "clock" : "place", value);
        model.save_changes();
      });
    };
    const hear = (answer) => root.player.answer(answer);
    model.on("change:payload", draw);
    model.on("msg:custom", hear);
    draw();
    return () => {
      model.off("change:payload", draw);
      model.off("msg:custom", hear);
    };
  },
};
"""
DARK_NOTEBOOKS = '[data-jp-theme-light="false"] .fa-root, .vscode-dark .fa-root'


def _script() -> str:
    return EXPORT.sub("", script_of(ASSET)) + ADAPTER


def _style() -> str:
    """Nested under the widget's root, so that no rule reaches the rest of a notebook."""
    light, dark = css_variables(LIGHT), css_variables(DARK)
    return f".fa-root {{ {light} }}\n{DARK_NOTEBOOKS} {{ {dark} }}\n.fa-root {{\n{style_of(ASSET)}\n}}"


class TilePlayer(anywidget.AnyWidget):
    """One trace, or two of one problem side by side. `place` tells where it stands on `clock`.

    `clock` is "steps"; for two traces also "bytes", which is theirs unless asked otherwise, and "time"
    (modelled, in fs). Raises ValueError for no trace or more than two, two problems, an unknown GPU,
    language or clock, or a walk too long to be shown.
    """

    _esm = _script()
    _css = _style()
    payload = traitlets.Bytes().tag(sync=True)
    clock = traitlets.Unicode().tag(sync=True)
    place = traitlets.Int().tag(sync=True)

    def __init__(
        self, *traces: Trace, clock: str = "", place: int = 0, gpu: str = "h200", language: str = "en"
    ) -> None:
        if not 1 <= len(traces) <= 2:
            raise ValueError(f"traces must be one or two, got {len(traces)}")
        if language not in LANGUAGES:
            raise ValueError(f"language must be one of {', '.join(LANGUAGES)}, got {language}")
        clocks = CLOCKS if len(traces) == 2 else (STEPS,)
        clock = clock or (BYTES if len(traces) == 2 else STEPS)
        if clock not in clocks:
            raise ValueError(f"clock must be one of {', '.join(clocks)}, got {clock}")
        self._memories: dict[int, MemoryAt] = {}
        self._say = partial(translate, language)
        self._walks = [walk_of(trace) for trace in traces]
        data = player_data(
            self._say,
            self._walks,
            gpu_named(gpu),
            clock=clock,
            time=place,
            key="notebook",
            language=language,
            host=Host.NOTEBOOK,
        )
        super().__init__(payload=pack_data(data), clock=clock, place=place)
        self.on_msg(self._answer)

    def _answer(self, _: object, asked: dict[str, Any], buffers: object) -> None:
        """Sends what is in a tile to the player that asked."""
        question = read_question(asked, [walk.trace for walk in self._walks])
        trace = self._walks[question.walk].trace
        self.send(answer(self._say, trace, self._memory_of(question.walk), question))

    def _memory_of(self, walk: int) -> MemoryAt | None:
        if self._walks[walk].numbers is None:
            return None
        if walk not in self._memories:
            self._memories[walk] = checkpoints_of(self._walks[walk].trace).at
        return self._memories[walk]
