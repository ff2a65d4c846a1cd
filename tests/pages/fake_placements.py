"""Recordings made up for tests: launches of every kernel dealt out greedily, with times of our own making."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kernels.placements import (
    LaunchFacts,
    RecordedLaunch,
    RecordedOn,
    program_blocks,
    shape_of,
    write_launches,
)
from simulator.launch import Kernel, Order, plan_launch
from simulator.problem import TileShape
from simulator.schedule import assign_to_slots

SMS, SLOTS_PER_SM = 20, 1
ON = RecordedOn("Made-up GPU", SMS, "1", "2", "3", "3.11", "2026-12", "none", "made up", "a test")
HEADS, LENGTH = (4, 16), 512


def write_fakes(folder: Path) -> None:
    """A file of every kernel of a backward and of a decode."""
    launches = [_dealt_out(facts) for facts in (*_backward_facts(), *_decode_facts())]
    write_launches(folder / "fake.json", ON, launches)


def _backward_facts():
    for kernel in (Kernel.V2_BACKWARD, Kernel.V2_KEY_GRADIENTS, Kernel.V2_QUERY_GRADIENTS):
        for causal in (False, True):
            for heads in HEADS:
                by_row = kernel is Kernel.V2_QUERY_GRADIENTS
                order = Order.LONGEST_FIRST if causal or by_row else Order.NATURAL
                yield LaunchFacts(
                    f"{kernel}_{'causal' if causal else 'full'}_{heads}_{order}", kernel.value, 1, heads,
                    LENGTH, 64, causal, 64, 64, order.value, 4 if causal else 1, 1, (1,),
                )  # fmt: skip


def _decode_facts():
    cases = [(Kernel.FLASH_DECODING, splits) for splits in (1, 4, 16)] + [(Kernel.UNSPLIT_DECODE, 1)]
    for kernel, splits in cases:
        yield LaunchFacts(
            f"{kernel}_{splits}_natural", kernel.value, 1, 8, 4096, 128, False, 16, 64, "natural", 1, 1, (1,),
            query_len=1, kv_heads=2, splits=splits,
        )  # fmt: skip


def _dealt_out(facts: LaunchFacts) -> RecordedLaunch:
    """3 µs a block, 1 µs a tile pair, a little noise."""
    tile = TileShape(facts.query_rows, facts.key_rows)
    launch = plan_launch(Kernel(facts.kernel), shape_of(facts), tile, splits=facts.splits)
    programs = program_blocks(facts)
    noise = np.random.default_rng(0).uniform(0.99, 1.01, len(programs))
    schedule = assign_to_slots(
        (3e-6 + 1e-6 * launch.work_tiles) * noise,
        sm_count=SMS,
        slots_per_sm=SLOTS_PER_SM,
        order=programs,
        pause_s=2e-7,
    )
    start_ns, end_ns = (
        np.rint(1e9 * seconds[programs]).astype(int) for seconds in (schedule.start_s, schedule.end_s)
    )
    return RecordedLaunch(facts, schedule.slot[programs][None] % SMS, start_ns[None], end_ns[None])
