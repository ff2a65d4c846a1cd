"""The recorded launches that Blocks on SMs shows: one problem in two orders."""

from __future__ import annotations

from functools import cache

from kernels.placements import RECORDED, RecordedPlacement, placements_of, read_launches
from simulator.launch import Order

RECORDING = RECORDED / "h200_v2_d128_causal.json"
HEADS = 16  # more blocks than slots, and few enough that each can be seen


@cache
def shown_placements() -> tuple[RecordedPlacement, RecordedPlacement]:
    """The first run that was kept of the natural order and of longest first."""
    recorded_on, launches = read_launches(RECORDING)
    by_order = {launch.facts.order: launch for launch in launches if launch.facts.heads == HEADS}
    natural, longest = (
        placements_of(by_order[order], recorded_on)[0] for order in (Order.NATURAL, Order.LONGEST_FIRST)
    )
    return natural, longest
