"""Stands in for `python -m kernels.bench`: its arguments and its lines, without a GPU; the times are made up.

With `--hold FILE` it stops after its third result and waits until FILE is there.
"""

import argparse
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from kernels.results import (  # noqa: E402
    IMPLEMENTATIONS,
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


def measured(name: str, length: int, head_dim: int, *, causal: bool) -> BenchResult:
    """V2 is exactly twice as fast as SDPA flash; the others spread by 20 %; math does not fit from 4k on."""
    shape = AttentionShape(length, length, head_dim, causal=causal, query_heads=2, kv_heads=2)
    blank = BenchResult("fake", name, IMPLEMENTATIONS[name], shape, "float16")
    if name == "math" and length >= 4096:
        return BenchResult("fake", name, IMPLEMENTATIONS[name], shape, "float16", unavailable=OUT_OF_MEMORY)
    ms, spread = MS[name] * (length / 1024) ** 2, 1.0 if name in ("flash_v2", "flash") else 1.2
    return BenchResult(
        run=blank.run,
        implementation=name,
        label=blank.label,
        shape=shape,
        dtype="float16",
        samples_ms=(ms, ms * spread, ms / spread),
        repetitions=10,
        verdict=Verdict(correct=True, error=2.6e-4, yardstick=5.2e-4),
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    for option in ("--lengths", "--head-dims", "--implementations"):
        parser.add_argument(option, required=True)
    parser.add_argument("--causal", choices=("yes", "no"), required=True)
    parser.add_argument("--hold", type=Path)
    asked = parser.parse_args()
    say(
        Environment(
            run="fake", gpu=GPU, capability="9.0", sm_count=1, memory_bytes=2**30, driver="0", torch="0",
            triton="0", cuda="0", cudnn="0", python="3", date="2000-01-01T00:00:00+00:00",
            command="fake_bench", commit="", timing="made up", clocks="",
        )
    )  # fmt: skip
    causal, head_dim = asked.causal == "yes", int(asked.head_dims)
    names = asked.implementations.split(",")
    points = [(name, int(length)) for length in asked.lengths.split(",") for name in names]
    for done, (name, length) in enumerate(points):
        say(Progress(done, len(points), f"{name} {length} x {length} d{head_dim}, round 1 of 3"))
        while asked.hold and done == HELD_AFTER and not asked.hold.exists():
            time.sleep(0.02)
        say(measured(name, length, head_dim, causal=causal))


if __name__ == "__main__":
    main()
