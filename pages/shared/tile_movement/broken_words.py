"""What the player says of a walk that goes without something, or whose tiles no block can hold.

Knows nothing of Streamlit, so that any host may call it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kernels.refusal import out_of_shared_memory_text
from simulator.broken import BROKEN_AT
from simulator.gpu import GpuSpec
from simulator.trace import Removed, StepKind, Tensor, Trace
from viz.player.breaking import RowErrors
from viz.player.numbers import Numbers, is_replayable
from viz.player.scene import Walk
from viz.units import format_capacity

SHADES = ("1", "2", "3", "4", "of")  # of `Wrong`, and of what they are shares
NAMES = {
    Tensor.OUTPUT: "O",
    Tensor.QUERY_GRADIENT: "dQ",
    Tensor.KEY_GRADIENT: "dK",
    Tensor.VALUE_GRADIENT: "dV",
}


def broken_payload(say: Callable[..., str], walk: Walk, gpu: GpuSpec) -> dict[str, Any] | None:
    """What `broken.js` draws; None for a walk that is whole and fits. Numbers may come later."""
    trace, removed = walk.trace, walk.trace.algorithm.removed
    if removed is None:
        return _refusal(say, trace, gpu)
    return {
        "title": say(f"break.{removed}.title"),
        "why": say(why_key(trace, removed)),
        "here": say("break.here", part=say(f"break.{removed}.part")),
        "kinds": [int(kind) for kind in _shown_at(trace, removed)],
        "quoted": "",
        "found": found_payload(say, walk),
    }


def _shown_at(trace: Trace, removed: Removed) -> tuple[StepKind, ...]:
    """The steps that do without, with the one that multiplies O by the factor which an earlier step gave."""
    kinds = BROKEN_AT[trace.algorithm.name][removed]
    scales_o = StepKind.SOFTMAX in kinds and removed in (Removed.RESCALE, Removed.MERGE)
    return (*kinds, StepKind.VALUES) if scales_o else kinds


def found_payload(say: Callable[..., str], walk: Walk) -> dict[str, Any] | None:
    """By how much a walk that goes without something ends wrong; None where it is whole, or not replayed."""
    if walk.trace.algorithm.removed is None:
        return None
    if not is_replayable(walk.trace):
        return {"outcome": say("break.too_large"), "shades": [], "wrong": {}}
    if walk.numbers is None:
        return None
    return {
        "shades": [say(f"break.shade.{shade}") for shade in SHADES],
        "outcome": "\n".join(_outcomes(say, walk.numbers)),
        "wrong": {
            str(int(tensor)): "".join(map(str, errors.levels.tolist()))
            for tensor, errors in walk.numbers.errors.items()
            if errors.wrong_rows
        },
    }


def why_key(trace: Trace, removed: Removed) -> str:
    """The reason differs where a walk does another thing in that place."""
    backward = Tensor.OUTPUT_GRADIENT in trace.algorithm.slots
    family = "backward" if backward else trace.algorithm.name
    told = {
        (Removed.NATURAL, "backward"), (Removed.NATURAL, "flash_decoding"), (Removed.MAXIMUM, "backward"),
        (Removed.MERGE, "flash_decoding"), (Removed.MERGE, "backward"), (Removed.RESCALE, "flash_decoding"),
    }  # fmt: skip
    return f"break.{removed}.why.{family}" if (removed, family) in told else f"break.{removed}.why"


def _outcomes(say: Callable[..., str], numbers: Numbers) -> list[str]:
    return [
        _outcome(say, NAMES[tensor], errors)
        if errors.wrong_rows
        else say("break.right", tensor=NAMES[tensor])
        for tensor, errors in numbers.errors.items()
    ]


def _outcome(say: Callable[..., str], name: str, errors: RowErrors) -> str:
    return say(
        "break.outcome.not_finite" if errors.not_finite_rows else "break.outcome",
        tensor=name,
        wrong=f"{errors.wrong_rows:,}",
        rows=f"{len(errors.levels):,}",
        nan=f"{errors.not_finite_rows:,}",
        difference=f"{errors.largest_difference:.3g}",
        largest=f"{errors.largest_exact:.3g}",
    )


def _refusal(say: Callable[..., str], trace: Trace, gpu: GpuSpec) -> dict[str, Any] | None:
    """Triton's own words. Standard attention's simplified count keeps more than a chip holds, and says so."""
    needed, limit = int(trace.steps.shared_bytes.max()), gpu.max_shared_bytes_per_block
    if needed <= limit or trace.algorithm.name == "standard":
        return None
    values = {
        "query_rows": trace.tile.query_rows,
        "key_rows": trace.tile.key_rows,
        "needed": format_capacity(needed),
        "limit": format_capacity(limit),
        "gpu": gpu.name,
    }
    return {
        "title": say("break.tile.title"),
        "why": say("break.tile.why", **values),
        "here": "",
        "kinds": [],
        "quoted": out_of_shared_memory_text(needed, limit),
        "found": None,
    }
