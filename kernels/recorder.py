"""`python -m kernels.recorder`: launches forward kernels whose programs note where and when they ran, and
keeps that as placements (kernels.placements).

Every kernel, mask, head dim, length, number of heads and order asked for is one launch of batch 1 in float16.
Exits with 0 when done, 2 for bad arguments, 3 where this machine cannot record (one line says why).
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from kernels.arguments import at_least_one, integers, names_among
from kernels.bench import UNAVAILABLE_EXIT
from kernels.environment import describe, why_unavailable
from kernels.gpcs import group_by_clock
from kernels.placements import RecordedLaunch, RecordedOn, write_launches
from kernels.results import Environment, json_line
from simulator.launch import Kernel, Order
from simulator.problem import AttentionShape

HOW = (
    "each program noted %smid, %globaltimer (32 ns steps) and %clock64 at its start and end; "
    "SMs whose clocks ran together share a GPC"
)


KERNELS = (Kernel.V1_FORWARD, Kernel.V2_FORWARD)  # whose launches note where and when they ran


@dataclass(frozen=True, slots=True)
class Case:
    """One launch to record."""

    kernel: Kernel
    shape: AttentionShape
    order: Order


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run was asked for: each case, `launches` times."""

    cases: tuple[Case, ...]
    launches: int
    commit: str
    out: Path


def plan_of(arguments: Sequence[str]) -> Plan:
    """The plan on a command line. Exits with 2 and a sentence for a bad one."""
    parser = argparse.ArgumentParser(prog="python -m kernels.recorder", description=__doc__.split("\n\n")[0])
    parser.add_argument("--kernels", default=Kernel.V2_FORWARD.value, help=", ".join(KERNELS))
    parser.add_argument("--orders", default=",".join(Order), help="of V2's programs; V1 has the natural one")
    parser.add_argument("--heads", default="16")
    parser.add_argument("--lengths", default="4096", help="of queries and keys")
    parser.add_argument("--head-dims", default="128")
    parser.add_argument("--causal", choices=("no", "yes", "both"), default="yes")
    parser.add_argument("--launches", type=int, default=3, help="how often each launch is recorded")
    parser.add_argument("--commit", default="", help="of this code, where it is not in a git checkout")
    parser.add_argument("--out", type=Path, required=True, help="a .json file; columns go to .npz beside it")
    asked = parser.parse_args(arguments)
    try:
        return Plan(
            cases=tuple(_cases(asked)),
            launches=at_least_one("launches", asked.launches),
            commit=asked.commit,
            out=asked.out,
        )
    except ValueError as error:
        parser.error(str(error))


def _cases(asked: argparse.Namespace) -> Iterator[Case]:
    kernels = [Kernel(name) for name in names_among("kernels", asked.kernels, KERNELS)]
    orders = [Order(name) for name in names_among("orders", asked.orders, Order)]
    masks = {"no": (False,), "yes": (True,), "both": (False, True)}[asked.causal]
    head_dims, lengths = integers("head_dims", asked.head_dims), integers("lengths", asked.lengths)
    heads_asked = integers("heads", asked.heads)
    for kernel, causal, head_dim, length, heads in product(kernels, masks, head_dims, lengths, heads_asked):
        shape = AttentionShape(length, length, head_dim, causal=causal, query_heads=heads, kv_heads=heads)
        for order in orders if kernel is Kernel.V2_FORWARD else (Order.NATURAL,):
            yield Case(kernel, shape, order)


def run(plan: Plan) -> None:
    """Records the plan on the current GPU and says of each launch how long it took, plain and noting."""
    import torch

    from kernels.record import clock_probe, record
    from kernels.timing import TIMING, Stopwatch

    device = torch.device("cuda", torch.cuda.current_device())
    environment = describe(device, timing=TIMING, commit=plan.commit, module="kernels.recorder")
    watch = Stopwatch(device)
    launches: list[RecordedLaunch] = []
    probes = [clock_probe(device)]
    for case in plan.cases:
        launch = record(
            case.kernel, case.shape, case.order, launches=plan.launches, device=device, watch=watch
        )
        facts = launch.facts
        print(f"{facts.name}: {facts.plain_ms:.4f} ms, noting {facts.noting_ms:.4f} ms", flush=True)
        launches.append(launch)
        probes.append(clock_probe(device))  # the clocks of two GPCs drift apart while they work
    gpcs = group_by_clock(probes, sm_count=environment.sm_count)
    write_launches(plan.out, _recorded_on(environment, tuple(gpcs.tolist())), launches)


def _recorded_on(environment: Environment, gpcs: tuple[int, ...]) -> RecordedOn:
    return RecordedOn(
        gpu=environment.gpu,
        sm_count=environment.sm_count,
        driver=environment.driver,
        torch=environment.torch,
        triton=environment.triton,
        python=environment.python,
        month=environment.date[:7],
        clocks=environment.clocks,
        how=HOW,
        by=environment.command,
        date=environment.date,
        commit=environment.commit,
        gpc_of_sm=gpcs,
    )


def main(arguments: Sequence[str]) -> int:
    plan = plan_of(arguments)
    lacking = why_unavailable()
    if lacking:
        print(json_line(lacking))
        return UNAVAILABLE_EXIT
    run(plan)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
