"""The nearest settings of Blocks on SMs that a GPU, a grid and a picture can hold, and why."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod

from pages.shared.address import Complaint
from pages.shared.blocks_on_sms.device_here import why_no_device
from pages.shared.blocks_on_sms.gpus import amd_complaint
from pages.shared.blocks_on_sms.recordings import recorded_problems
from pages.shared.blocks_on_sms.runs import cuts_of, grid_of, most_splits, resources_of
from pages.shared.blocks_on_sms.settings import (
    DECODING,
    HERE,
    ROW_CHOICES,
    V1_SPLIT,
    WHAT_IF,
    Settings,
    gpu_of,
)
from simulator.gpu import MAX_GRID
from simulator.occupancy import CannotLaunchError, Resource, resource_occupancy
from simulator.roof import AMD_GPUS
from viz.units import format_capacity

MOST_BLOCKS = 1_000_000
BY_HAND = {Resource.SHARED: ("shared", "stages", "key_rows"), Resource.REGISTERS: ("threads", "registers")}


def resolve(settings: Settings) -> tuple[Settings, list[Complaint]]:
    """Applies each rule in turn: what fits a block, splits with work, grid and picture, the recording."""
    complaints: list[Complaint] = []
    for rule in (
        _cuda_gpu,
        _present_gpu,
        _fitting_hand,
        _fitting_rows,
        _fitting_splits,
        _fitting_grid,
        _kept_run,
    ):
        settings, more = rule(settings)
        complaints += more
    return settings, complaints


def _cuda_gpu(asked: Settings) -> tuple[Settings, list[Complaint]]:
    """A GPU that CUDA's occupancy rule is for."""
    if asked.gpu not in AMD_GPUS:
        return asked, []
    shown = replace(asked, gpu=Settings().gpu)
    return shown, [amd_complaint(AMD_GPUS[asked.gpu], shown)]


def _present_gpu(asked: Settings) -> tuple[Settings, list[Complaint]]:
    """The GPU of this machine, where there is one that says what it is."""
    reason = why_no_device() if asked.gpu == HERE else ""
    if not reason:
        return asked, []
    shown = replace(asked, gpu=Settings().gpu)
    return shown, [Complaint("sms.no_gpu_here", {"reason": reason, "shown": gpu_of(shown).name})]


def _fitting_hand(asked: Settings) -> tuple[Settings, list[Complaint]]:
    """What was changed by hand and does not fit goes back to the kernel's own."""
    refusal = _refusal(asked)
    if asked.view != WHAT_IF or refusal is None:
        return asked, []
    own = Settings()
    names = BY_HAND.get(refusal.resource, ("threads",))
    fitting = replace(asked, **{name: getattr(own, name) for name in names})
    if fitting == asked:  # the rows are to blame
        return asked, []
    return fitting, [Complaint(f"sms.by_hand.{refusal.resource}", _refused_values(refusal))]


def _fitting_rows(asked: Settings) -> tuple[Settings, list[Complaint]]:
    refusal = _refusal(asked)
    if refusal is None:
        return asked, []
    smaller = (replace(asked, rows=rows) for rows in reversed(ROW_CHOICES) if int(rows) < int(asked.rows))
    fitting = next((settings for settings in smaller if _refusal(settings) is None), None)
    if fitting is None:  # smaller rows do not help a kernel that has its own
        fitting, more = _fitting_rows(replace(asked, compare=Settings().compare))
        return fitting, [Complaint("sms.no_kernel", _refused_values(refusal)), *more]
    values = {"value": asked.rows, "shown": fitting.rows, **_refused_values(refusal)}
    return fitting, [Complaint(f"sms.cannot_launch.{refusal.resource}", values)]


def _refused_values(refusal: CannotLaunchError) -> dict[str, str]:
    in_bytes = refusal.resource is Resource.SHARED
    say = format_capacity if in_bytes else "{:,}".format
    return {
        "gpu": refusal.gpu.name,
        "needed": say(refusal.needed),
        "available": say(refusal.available),
    }


def _refusal(settings: Settings) -> CannotLaunchError | None:
    try:
        for cut in cuts_of(replace(settings, splits=1)):
            resource_occupancy(resources_of(cut, settings), gpu_of(settings))
    except CannotLaunchError as refusal:
        return refusal
    return None


def _fitting_splits(asked: Settings) -> tuple[Settings, list[Complaint]]:
    if asked.splits == 0 or asked.compare not in (V1_SPLIT, DECODING):
        return asked, []
    most = most_splits(asked)
    if most == asked.splits:
        return asked, []
    return replace(asked, splits=most), [
        Complaint("sms.splits_without_work", {"value": asked.splits, "shown": most})
    ]


def _fitting_grid(asked: Settings) -> tuple[Settings, list[Complaint]]:
    """The largest batch, and failing that heads, whose grids the hardware and the picture can hold."""
    over = _over_limit(asked)
    if over is None:
        return asked, []
    heads = _largest(asked.heads, lambda heads: _over_limit(replace(asked, batch=1, heads=heads)) is None)
    batch = _largest(asked.batch, lambda batch: _over_limit(replace(asked, batch=batch, heads=heads)) is None)
    key, blocks, limit = over
    values = {"blocks": f"{blocks:,}", "limit": f"{limit:,}", "batch": f"{batch:,}", "heads": f"{heads:,}"}
    return replace(asked, batch=batch, heads=heads), [Complaint(key, values)]


def _over_limit(settings: Settings) -> tuple[str, int, int] | None:
    """The catalogue key, the blocks and the limit of the first that is passed."""
    grids = [grid_of(cut) for cut in cuts_of(settings)]
    for name, sizes, limit in zip("xyz", zip(*grids, strict=True), MAX_GRID, strict=True):
        if max(sizes) > limit:
            return f"sms.grid_limit.{name}", max(sizes), limit
    blocks = sum(map(prod, grids))
    return ("sms.too_many_blocks", blocks, MOST_BLOCKS) if blocks > MOST_BLOCKS else None


def _largest(most: int, holds: Callable[[int], bool]) -> int:
    """The largest number from 1 to `most` that `holds`, given that all smaller ones do then."""
    low, high = 1, most
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if holds(middle) else (low, middle - 1)
    return low


def _kept_run(asked: Settings) -> tuple[Settings, list[Complaint]]:
    """A recording keeps some of its runs; the first is always there."""
    shipped = recorded_problems().get(asked.launch)
    kept = len(next(iter(shipped.values())).launch.facts.kept) if shipped else 1
    if asked.run <= kept:
        return asked, []
    values = {"name": "run", "value": asked.run, "limit": kept}
    return replace(asked, run=kept), [Complaint("address.above", values)]
