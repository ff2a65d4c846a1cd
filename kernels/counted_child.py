"""`python -m kernels.counted_child NAMES FILE`: runs cases one by one while a profiler looks on, and notes of
each what it was. A child of kernels.counters.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import torch
import triton

from kernels.checks import limits_of
from kernels.configs import choose_config, decode_configs, decode_shared_bytes
from kernels.counted_cases import CASES, Case, Note
from kernels.flash_decoding import choose_splits
from kernels.flash_v1 import flash_v1_forward
from kernels.flash_v2 import launch_flash_v2
from kernels.inputs import Inputs, random_inputs
from kernels.problem import new_output, pose
from kernels.providers import provider_of
from kernels.standard import standard_forward


@triton.jit
def case_boundary():
    """Launched before each case, so that a list of kernels can be split at it (counted_cases.BOUNDARY)."""


def prepare(case: Case, inputs: Inputs) -> tuple[Callable[[], object], Note]:
    """The case's call, and what it is. Raises what the implementation raises."""
    q, k, v, causal = inputs.q, inputs.k, inputs.v, case.shape.causal
    if case.config is None:
        direction = "decode" if case.shape.query_len == 1 else "forward"
        prepared = provider_of(case.implementation, direction).prepare(inputs)
        return prepared.call, Note(prepared.config, _splits(case, inputs))
    if case.implementation == "flash_v2":
        problem = pose(q, k, v, causal=causal)
        out, lse = new_output(problem)
        launch = partial(launch_flash_v2, problem, out, lse, config=case.config, order=case.order)
        return launch, Note(f"{case.config}, {case.order.value}")
    forward = flash_v1_forward if case.implementation == "flash_v1" else standard_forward
    return partial(forward, q, k, v, causal=causal, config=case.config), Note(str(case.config))


def _splits(case: Case, inputs: Inputs) -> int:
    if case.implementation != "flash_decoding":
        return 1
    limits = limits_of(inputs.q.device)
    configs = decode_configs(case.shape)
    config = choose_config(case.shape, limits, configs, bound=decode_shared_bytes)
    return choose_splits(case.shape, config, limits)


def run_case(case: Case, device: torch.device) -> Note:
    """Runs a case once to compile it, and once more while the profiler looks on, after a boundary."""
    call: Callable[[], object]
    try:
        inputs = random_inputs(case.shape, "forward", device=device, dtype=torch.float16)
        call, note = prepare(case, inputs)
        call()
    except Exception as error:  # whatever it raises costs this case alone
        call, note = _nothing, Note(unavailable=str(error).strip().split("\n")[0])
    torch.cuda.synchronize(device)
    torch.cuda.profiler.start()
    case_boundary[(1,)]()
    call()
    torch.cuda.synchronize(device)
    torch.cuda.profiler.stop()
    return note


def _nothing() -> None:
    """Stands in for a call that cannot be made."""


def main(arguments: Sequence[str]) -> int:
    names, notes = arguments[0].split(","), Path(arguments[1])
    device = torch.device("cuda", torch.cuda.current_device())
    case_boundary[(1,)]()  # compiles it
    with notes.open("w", encoding="utf-8") as file:
        for case in (case for case in CASES if case.name in names):
            file.write(json.dumps(asdict(run_case(case, device))) + "\n")
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
