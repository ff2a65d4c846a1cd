"""`python -m kernels.recorder`: launches kernels whose programs note where and when they ran, and keeps that
as placements (kernels.placements).

Every kernel, mask, head dim, length and number of heads asked for, every order of V2's forward and every
number of Flash-Decoding's splits, is one launch of batch 1 in float16. Exits with 0 when done, 2 for bad
arguments, 3 where this machine cannot record (one line says why).
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from kernels.bench import UNAVAILABLE_EXIT
from kernels.environment import describe, why_unavailable
from kernels.gpcs import group_by_clock
from kernels.placements import RecordedLaunch, RecordedOn, write_launches
from kernels.recording_plan import Plan, plan_of
from kernels.results import Environment, json_line

HOW = (
    "each program noted %smid, %globaltimer (32 ns steps) and %clock64 at its start and end; "
    "SMs whose clocks ran together share a GPC"
)


def run(plan: Plan) -> None:
    """Records the plan on the current GPU and says of each launch how long it took, plain and noting. Raises
    ValueError for a launch that a kernel cannot serve here.
    """
    import torch

    from kernels.record import clock_probe, record
    from kernels.timing import TIMING, Stopwatch

    device = torch.device("cuda", torch.cuda.current_device())
    environment = describe(device, timing=TIMING, commit=plan.commit, module="kernels.recorder")
    watch = Stopwatch(device)
    launches: list[RecordedLaunch] = []
    probes = [clock_probe(device)]
    for case in plan.cases:
        launch = record(case, launches=plan.launches, device=device, watch=watch)
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
    try:
        run(plan)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
