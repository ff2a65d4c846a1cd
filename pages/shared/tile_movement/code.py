"""The listings of a walk as the player takes them. Reads our kernels as text, and imports none."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

from viz.player.kernel_listing import KERNELS, KernelLine, kernel_lines
from viz.player.listing import LISTINGS, lines_of_step, step_name
from viz.player.scene import Walk

ROOT = Path(__file__).resolve().parents[3]
INDENT = "  "


def listings_payload(walk: Walk) -> list[dict[str, Any]]:
    """Views of a walk: the algorithm's lines, and those of our kernel where it is shown.

    `current` has for each caption of the walk the indices of the lines that its step performs.
    """
    name = walk.trace.algorithm.name
    listing = LISTINGS[name]
    algorithm = {
        "source": listing.source,
        "lines": [[line.number or "", INDENT * line.indent + line.text] for line in listing.lines],
        "current": _current(walk, [line.steps for line in listing.lines]),
    }
    if name not in KERNELS:
        return [algorithm]
    kernel = _kernel(name)
    return [
        algorithm,
        {
            "source": KERNELS[name].path,
            "lines": [[line.number, line.text] for line in kernel],
            "current": _current(walk, [line.steps for line in kernel]),
        },
    ]


def _current(walk: Walk, marked: list[tuple[str, ...]]) -> list[tuple[int, ...]]:
    return [lines_of_step(step_name(key), marked) for key in walk.captions.keys]


@cache
def _kernel(name: str) -> tuple[KernelLine, ...]:
    source = KERNELS[name]
    return kernel_lines((ROOT / source.path).read_text(encoding="utf-8"), source)
