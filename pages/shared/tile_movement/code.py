"""The listings of a walk as the player takes them. Reads our kernels as text, and imports none.

Knows nothing of Streamlit, so that any host may call it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from viz.player.kernel_listing import KernelLine, kernel_lines
from viz.player.kernel_sources import KERNELS
from viz.player.listing import LISTINGS, lines_of_step, step_name
from viz.player.scene import Walk

ROOT = Path(__file__).resolve().parents[3]
INDENT = "  "
NOTED = (
    "flash_decoding",
    "flash_v1_backward",
    "flash_v2_backward",
)  # where kernel and walk are not quite one
Say = Callable[..., str]  # the string of a catalogue key


def listings_payload(say: Say, walk: Walk) -> list[dict[str, Any]]:
    """Two views of a walk: the algorithm's lines, and those of our kernels, none where we have none.

    `current` has for each caption of the walk the indices of the lines that its step performs.
    """
    name = walk.trace.algorithm.name
    listing, kernel = LISTINGS[name], _kernel(name)
    return [
        {
            "source": listing.source,
            "note": "",
            "lines": [[line.number or "", INDENT * line.indent + line.text] for line in listing.lines],
            "current": _current(walk, [line.steps for line in listing.lines]),
        },
        {
            "source": ", ".join(dict.fromkeys(source.path for source in KERNELS[name])),
            "note": say(f"code.note.{name}") if name in NOTED else "",
            "lines": [[line.number or "", line.text] for line in kernel],
            "current": _current(walk, [line.steps for line in kernel]),
        },
    ]


def _current(walk: Walk, marked: list[tuple[str, ...]]) -> list[tuple[int, ...]]:
    return [lines_of_step(step_name(key), marked) for key in walk.captions.keys]


@cache
def _kernel(name: str) -> tuple[KernelLine, ...]:
    """The lines of all files, each under its path where there are several."""
    lines: list[KernelLine] = []
    for source in KERNELS[name]:
        if len(KERNELS[name]) > 1:
            lines.append(KernelLine(0, f"# {source.path}", ()))
        lines += kernel_lines((ROOT / source.path).read_text(encoding="utf-8"), source)
    return tuple(lines)
