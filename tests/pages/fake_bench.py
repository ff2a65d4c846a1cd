"""Stands in for `python -m kernels.bench`: its arguments and its lines, without a GPU; the times are made up.

With `--hold FILE` it stops after its third result and waits until FILE is there.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from kernels.plan import plan_of  # noqa: E402
from kernels.results import (  # noqa: E402
    OFFERED,
    BenchResult,
    Environment,
    Progress,
    Record,
    Verdict,
    json_line,
)
from simulator.problem import AttentionShape  # noqa: E402

GPU = "Imaginary GPU"
HELD_AFTER = 3
OUT_OF_MEMORY = "out of memory: 68.7 GB asked for"
MS = {"flash_v2": 1.0, "cudnn": 1.2, "flash": 2.0, "efficient": 4.0, "math": 20.0}


def say(record: Record) -> None:
    print(json_line(record), flush=True)


def measured(name: str, shape: AttentionShape, direction: str = "forward") -> BenchResult:
    """V2 is exactly twice as fast as SDPA flash; the others spread by 20 %; math does not fit from 4k on."""
    blank = BenchResult("fake", name, OFFERED[direction][name], shape, "float16", direction)
    if name == "math" and shape.key_len >= 4096:
        return replace(blank, unavailable=OUT_OF_MEMORY)
    ms = MS.get(name, 3.0) * (shape.key_len / 1024) ** 2
    spread = 1.0 if name in ("flash_v2", "flash") else 1.2
    return replace(
        blank,
        samples_ms=(ms, ms * spread, ms / spread),
        repetitions=10,
        verdict=Verdict(correct=True, error=2.6e-4, yardstick=5.2e-4),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--hold", type=Path)
    asked, rest = parser.parse_known_args()
    plan = plan_of(rest)
    say(
        Environment(
            run="fake", gpu=GPU, capability="9.0", sm_count=1, memory_bytes=2**30, driver="0", torch="0",
            triton="0", cuda="0", cudnn="0", python="3", date="2000-01-01T00:00:00+00:00",
            command="fake_bench", commit="", timing="made up", clocks="",
        )
    )  # fmt: skip
    points = [(name, shape) for shape in plan.shapes for name in plan.implementations]
    for done, (name, shape) in enumerate(points):
        size = f"{shape.query_len} x {shape.key_len} d{shape.head_dim}"
        say(Progress(done, len(points), f"{name} {plan.direction} {size}, round 1 of 3"))
        while asked.hold and done == HELD_AFTER and not asked.hold.exists():
            time.sleep(0.02)
        say(measured(name, shape, plan.direction))


if __name__ == "__main__":
    main()
