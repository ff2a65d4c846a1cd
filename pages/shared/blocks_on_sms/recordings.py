"""The recorded launches that Blocks on SMs shows, and what the model makes of each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import streamlit as st

from kernels.placements import (
    RECORDED,
    RecordedLaunch,
    RecordedOn,
    RecordedPlacement,
    placements_of,
    read_launches,
    shape_of,
)
from simulator.gpu import gpu_named
from simulator.launch import Kernel, Order
from simulator.modelled_run import RecordedRun, refit_run, roofline_run, transfer_run
from simulator.pace import Pace
from simulator.problem import AttentionShape
from simulator.schedule import Schedule

DEFAULT_LAUNCH = "v2_forward_d128_causal_16x4096"  # more blocks than slots, few enough to be seen
RECORDED_GPU = "h200"  # whose peaks the roofline of a recording takes
SEED = 0  # of the scatter, so that a page shows one picture


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """A launch and where it was recorded."""

    launch: RecordedLaunch
    recorded_on: RecordedOn


@cache
def recorded_problems() -> dict[str, dict[Order, Kept]]:
    """The launches of each problem by order; a problem is named by kernel, d, mask, heads and length."""
    problems: dict[str, dict[Order, Kept]] = {}
    for path in sorted(RECORDED.glob("*.json")):
        recorded_on, launches = read_launches(path)
        for launch in launches:
            order = Order(launch.facts.order)
            name = launch.facts.name.removesuffix(f"_{order}")
            problems.setdefault(name, {})[order] = Kept(launch, recorded_on)
    return dict(sorted(problems.items(), key=lambda item: _sort_key(next(iter(item[1].values())))))


@st.cache_resource(show_spinner=False)
def made_here() -> dict[str, dict[Order, Kept]]:
    """The last launches that were made from this page, by a name of their own; kept by `launch_now`."""
    return {}


@cache
def problems_of(kernel: Kernel) -> tuple[str, ...]:
    """The recorded problems of one kernel."""
    return tuple(problem for problem in recorded_problems() if kernel_of(problem) is kernel)


def recorded_kernels() -> tuple[Kernel, ...]:
    """The kernels whose launches are shipped."""
    return tuple(kernel for kernel in Kernel if problems_of(kernel))


def kernel_of(problem: str) -> Kernel:
    """What was launched."""
    return Kernel(next(iter(orders_of(problem).values())).launch.facts.kernel)


def unsplit_of(problem: str) -> str | None:
    """The recorded decode of the same problem that splits no keys."""
    shape = _shape_of(problem)
    return next((other for other in problems_of(Kernel.UNSPLIT_DECODE) if _shape_of(other) == shape), None)


def orders_of(problem: str) -> dict[Order, Kept]:
    """The launches of a problem, shipped or made here."""
    return made_here().get(problem) or recorded_problems()[problem]


@cache
def placement_of(problem: str, order: Order, run: int) -> RecordedPlacement:
    """One launch as it ran the `run`th of the times that are kept, from 1."""
    kept = orders_of(problem)[order]
    return placements_of(kept.launch, kept.recorded_on)[run - 1]


def shown_placements(problem: str, beside: Order, run: int) -> tuple[RecordedPlacement, ...]:
    """A launch in its own order and, where it was recorded in another, one in that order beside it."""
    own = own_order(problem)
    shown = [own, beside] if beside != own and beside in orders_of(problem) else [own]
    return tuple(placement_of(problem, order, run) for order in shown)


def own_order(problem: str) -> Order:
    """The natural order where it was recorded; of a kernel that knows but one order, that one."""
    orders = orders_of(problem)
    return Order.NATURAL if Order.NATURAL in orders else next(iter(orders))


def siblings_of(problem: str) -> list[tuple[str, Order]]:
    """All launches of one kind: kernel, configuration, head dim, mask, length and sharing of heads are the
    same. Smallest first.
    """
    kind = _kind(next(iter(recorded_problems()[problem].values())))
    return [
        (name, order)
        for name, orders in recorded_problems().items()
        for order, kept in orders.items()
        if _kind(kept) == kind
    ]


def pace_source(problem: str) -> tuple[str, Order]:
    """The launch whose paces are tried on its siblings: the smallest in its own order of those that put most
    blocks on an SM.
    """
    own = [(name, order) for name, order in siblings_of(problem) if order is own_order(name)]
    return max(own, key=lambda each: placement_of(*each, 1).schedule.slots_per_sm)


@cache
def refitted(problem: str, order: Order, run: int) -> tuple[Pace, Schedule]:
    """The paces of a recorded run and the model's run at them."""
    return refit_run(_run_of(problem, order, run), np.random.default_rng(SEED))


@cache
def transferred(problem: str, order: Order) -> Schedule:
    """The first kept run of a launch, predicted at the paces of its `pace_source`."""
    source = pace_source(problem)
    slots = placement_of(*source, 1).schedule.slots_per_sm
    return transfer_run(
        refitted(*source, 1)[0], slots, _run_of(problem, order, 1), np.random.default_rng(SEED)
    )


def from_roofline(problem: str, order: Order) -> Schedule:
    """The first kept run of a launch, with durations from the roofline alone."""
    placement = placement_of(problem, order, 1)
    return roofline_run(_run_of(problem, order, 1), placement.shape, placement.tile, gpu_named(RECORDED_GPU))


def _run_of(problem: str, order: Order, run: int) -> RecordedRun:
    placement = placement_of(problem, order, run)
    return RecordedRun(placement.launch, placement.blocks, placement.schedule)


def _shape_of(problem: str) -> AttentionShape:
    return shape_of(next(iter(orders_of(problem).values())).launch.facts)


_Kind = tuple[str, int, bool, int, int, str]


def _kind(kept: Kept) -> _Kind:
    facts = kept.launch.facts
    sharing = facts.heads // (facts.kv_heads or facts.heads)
    return facts.kernel, facts.head_dim, facts.causal, facts.length, sharing, facts.config


def _sort_key(kept: Kept) -> tuple[int, _Kind, int]:
    kind = _kind(kept)
    return list(Kernel).index(Kernel(kind[0])), kind, kept.launch.sm.shape[1]
