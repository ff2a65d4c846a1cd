"""`python -m kernels.bench`: times attention implementations against each other and prints JSON lines as they
come.

Prints the environment, then progress and results (kernels.results). Exits with 0 when done, 2 for bad
arguments, 3 where this machine cannot measure (one `unavailable` line says why), 143 when stopped by SIGTERM
or Ctrl-C, which acts within one measurement.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TextIO

from kernels.arguments import at_least_one, integers, names_among
from kernels.environment import describe, why_unavailable
from kernels.results import IMPLEMENTATIONS, ON_REQUEST, BenchResult, Environment, Progress, Record, json_line
from simulator.problem import AttentionShape

UNAVAILABLE_EXIT = 3
STOPPED_EXIT = 128 + signal.SIGTERM
_ELEMENT_BYTES = {"float16": 2, "float32": 4}


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run was asked for: every implementation on every shape, `rounds` times in turns."""

    shapes: tuple[AttentionShape, ...]
    dtype: str
    implementations: tuple[str, ...]
    rounds: int
    commit: str
    out: Path | None


class StoppedError(Exception):
    """The run was asked to stop."""


class _StopFlag:
    """Set by the first SIGTERM or SIGINT."""

    def __init__(self) -> None:
        self.is_set = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._set)

    def _set(self, *_: object) -> None:
        self.is_set = True


class _Sink:
    """Writes each record as a line, at once; the file keeps all but progress."""

    def __init__(self, stream: TextIO, out: Path | None) -> None:
        self._stream = stream
        self._file = out and out.open("w", encoding="utf-8")

    def write(self, record: Record) -> None:
        line = json_line(record) + "\n"
        for target in (self._stream, None if isinstance(record, Progress) else self._file):
            if target:
                target.write(line)
                target.flush()


def plan_of(arguments: Sequence[str]) -> Plan:
    """The plan on a command line. Exits with 2 and a sentence for a bad one."""
    parser = argparse.ArgumentParser(prog="python -m kernels.bench", description=__doc__.split("\n\n")[0])
    parser.add_argument("--lengths", default="1024,2048,4096,8192,16384", help="of queries and keys")
    parser.add_argument("--head-dims", default="64,128")
    parser.add_argument("--causal", choices=("no", "yes", "both"), default="both")
    parser.add_argument("--dtype", choices=tuple(_ELEMENT_BYTES), default="float16")
    parser.add_argument(
        "--tokens", type=int, default=16384, help="batch x length; at least one batch is taken"
    )
    parser.add_argument(
        "--hidden", type=int, default=2048, help="heads x head dim; at least one head is taken"
    )
    parser.add_argument(
        "--implementations", default=",".join(IMPLEMENTATIONS), help=f"also {', '.join(ON_REQUEST)}"
    )
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--commit", default="", help="of this code, where it is not in a git checkout")
    parser.add_argument("--out", type=Path, help="also keep the environment and the results in this file")
    asked = parser.parse_args(arguments)
    try:
        return Plan(
            shapes=tuple(_shapes(asked)),
            dtype=asked.dtype,
            implementations=tuple(
                names_among("implementations", asked.implementations, [*IMPLEMENTATIONS, *ON_REQUEST])
            ),
            rounds=at_least_one("rounds", asked.rounds),
            commit=asked.commit,
            out=asked.out,
        )
    except ValueError as error:
        parser.error(str(error))


def _shapes(asked: argparse.Namespace) -> Iterator[AttentionShape]:
    tokens, hidden = at_least_one("tokens", asked.tokens), at_least_one("hidden", asked.hidden)
    masks = {"no": (False,), "yes": (True,), "both": (False, True)}[asked.causal]
    head_dims, lengths = integers("head_dims", asked.head_dims), integers("lengths", asked.lengths)
    for head_dim, causal, length in product(head_dims, masks, lengths):
        heads = max(1, hidden // head_dim)
        yield AttentionShape(
            query_len=length,
            key_len=length,
            head_dim=head_dim,
            causal=causal,
            batch=max(1, tokens // length),
            query_heads=heads,
            kv_heads=heads,
            element_bytes=_ELEMENT_BYTES[asked.dtype],
        )


def run(plan: Plan, sink: _Sink, stop: _StopFlag) -> None:
    """Measures the plan on the current GPU. Raises StoppedError when the flag is set."""
    import torch

    from kernels.clocks import GpuMonitor
    from kernels.measure import Session, measure_problem
    from kernels.providers import provider_of
    from kernels.timing import TIMING, Stopwatch

    device = torch.device("cuda", torch.cuda.current_device())
    environment: Environment = describe(device, timing=TIMING, commit=plan.commit)
    sink.write(environment)
    providers = [provider_of(name) for name in plan.implementations]
    results: list[BenchResult] = []

    def announce(current: str) -> None:
        if stop.is_set:
            raise StoppedError
        sink.write(Progress(len(results), len(plan.shapes) * len(providers), current))

    session = Session(
        run=environment.run,
        device=device,
        dtype=getattr(torch, plan.dtype),
        rounds=plan.rounds,
        stopwatch=Stopwatch(device),
        monitor=GpuMonitor(device),
        announce=announce,
    )
    for shape in plan.shapes:
        for result in measure_problem(shape, providers, session):
            results.append(result)
            sink.write(result)
        torch.cuda.empty_cache()


def main(arguments: Sequence[str]) -> int:
    plan = plan_of(arguments)
    stop = _StopFlag()
    lacking = why_unavailable()
    sink = _Sink(sys.stdout, None if lacking else plan.out)
    try:
        if lacking:
            sink.write(lacking)
            return UNAVAILABLE_EXIT
        run(plan, sink, stop)
    except StoppedError:
        return STOPPED_EXIT
    except BrokenPipeError:  # whoever listened is gone
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return STOPPED_EXIT
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
