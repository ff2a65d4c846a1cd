"""`python -m kernels.tune`: tries tiles, warps and stages of one kernel on one problem, and prints the map as
JSON lines (kernels.tuning).

Each configuration is compiled and run in a process of its own first; those that live are judged and timed in
turns. Those that do not fit, do not compile or end their process stay in the map with the reason. Exits with
0 when done, 2 for bad arguments, 3 where this machine cannot measure.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from kernels.arguments import at_least_one, integers
from kernels.bench import UNAVAILABLE_EXIT
from kernels.configs import DeviceLimits, KernelConfig, check_fits
from kernels.environment import describe, why_unavailable
from kernels.plan import ELEMENT_BYTES
from kernels.results import BenchResult, Environment, json_line
from kernels.tuning import (
    BOUNDS,
    Candidate,
    Resources,
    Space,
    TuningMap,
    configs_in,
    line,
    space_of,
    write_map,
)
from simulator.problem import AttentionShape

_LABELS = {
    "forward": ("flash_v2", "FlashAttention-2 in Triton"),
    "backward": ("flash_v2", "FlashAttention-2 in Triton"),
    "decode": ("flash_decoding", "Flash-Decoding in Triton"),
}
_DESCRIPTION = "Tries tiles, warps and stages of one kernel on one problem and prints the map as JSON lines."
_TRIAL_S = 180.0  # a compiler that takes longer is given up


@dataclass(frozen=True, slots=True)
class Asked:
    """The problem, and what is tried on it."""

    direction: str
    shape: AttentionShape
    dtype: str
    space: Space
    rounds: int
    commit: str
    out: Path | None


Trial = Callable[[Asked, KernelConfig], Resources | str]  # what it got, or why it has no time


def asked_of(arguments: Sequence[str]) -> Asked:
    """What a command line asks for. Exits with 2 and a sentence for a bad one."""
    parser = argparse.ArgumentParser(prog="python -m kernels.tune", description=_DESCRIPTION)
    parser.add_argument("--direction", choices=tuple(_LABELS), default="forward")
    parser.add_argument("--length", type=int, default=4096, help="of queries and keys; of keys in a decode")
    parser.add_argument("--head-dim", type=int, default=128)
    parser.add_argument("--causal", choices=("no", "yes"), default="no")
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--heads", type=int, default=16)
    parser.add_argument("--kv-heads", type=int, help="shared evenly by the heads")
    parser.add_argument("--dtype", choices=tuple(ELEMENT_BYTES), default="float16")
    for name in ("query_rows", "key_rows", "warps", "stages"):
        parser.add_argument(f"--{name.replace('_', '-')}", help="with commas between; by default a range")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--commit", default="", help="of this code, where it is not in a git checkout")
    parser.add_argument("--out", type=Path, help="also keep the map in this file")
    asked = parser.parse_args(arguments)
    try:
        shape = AttentionShape(
            query_len=1 if asked.direction == "decode" else asked.length,
            key_len=asked.length,
            head_dim=asked.head_dim,
            causal=asked.causal == "yes",
            batch=asked.batch,
            query_heads=asked.heads,
            kv_heads=asked.kv_heads or asked.heads,
            element_bytes=ELEMENT_BYTES[asked.dtype],
        )
        space = space_of(asked.direction, shape)
        named = {
            name: tuple(integers(name, getattr(asked, name)))
            for name in ("query_rows", "key_rows", "warps", "stages")
            if getattr(asked, name)
        }
        return Asked(
            asked.direction,
            shape,
            asked.dtype,
            replace(space, **named),
            at_least_one("rounds", asked.rounds),
            asked.commit,
            asked.out,
        )
    except ValueError as error:
        parser.error(str(error))


def try_all(asked: Asked, limits: DeviceLimits, trial: Trial) -> list[tuple[KernelConfig, Resources | str]]:
    """What each configuration got, or why it has no time: it does not fit, or what its trial says. Several
    compile at a time.
    """

    def attempt(config: KernelConfig) -> Resources | str:
        try:
            check_fits(config, asked.shape, limits, bound=BOUNDS[asked.direction])
        except ValueError as error:
            return str(error)
        return trial(asked, config)

    configs = configs_in(asked.space)
    with ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 2) - 1)) as pool:
        return list(zip(configs, pool.map(attempt, configs), strict=True))


def trial_in_child(asked: Asked, config: KernelConfig) -> Resources | str:
    """Tries a configuration in a process of its own."""
    from kernels.trial import arguments_of

    arguments = arguments_of(asked.direction, asked.shape, asked.dtype, config)
    return ask_child([sys.executable, "-m", "kernels.trial", *arguments])


def ask_child(command: Sequence[str], *, timeout_s: float = _TRIAL_S) -> Resources | str:
    """What a trial's last line says; or how its process ended without one."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout_s, check=False)
    except subprocess.TimeoutExpired:
        return f"not compiled and run within {timeout_s:.0f} s"
    if done.returncode < 0:
        return f"ended its process by {signal.Signals(-done.returncode).name}: {_last_line(done.stderr)}"
    try:
        said = json.loads(_last_line(done.stdout))
        return said["reason"] if "reason" in said else Resources(**said)
    except (ValueError, TypeError):
        return f"ended its process with status {done.returncode}: {_last_line(done.stderr)}"


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["nothing said"])[-1]


def blank_of(asked: Asked, run: str) -> BenchResult:
    """The result of a candidate before it is measured."""
    return BenchResult(run, *_LABELS[asked.direction], asked.shape, asked.dtype, asked.direction)


def run(asked: Asked, say: Callable[[Environment | Candidate], None]) -> TuningMap:
    """Tries, judges and times every configuration on the current GPU, and says each as it comes."""
    import torch

    from kernels.checks import limits_of
    from kernels.timing import TIMING

    device = torch.device("cuda", torch.cuda.current_device())
    environment = describe(device, timing=TIMING, commit=asked.commit, module="kernels.tune")
    say(environment)
    candidates = []
    for candidate in candidates_of(asked, try_all(asked, limits_of(device), trial_in_child), environment.run):
        say(candidate)
        candidates.append(candidate)
    return TuningMap(environment, tuple(candidates))


def candidates_of(
    asked: Asked, tried: Sequence[tuple[KernelConfig, Resources | str]], run: str
) -> Iterator[Candidate]:
    """First those that have no time, then those that are timed in turns."""
    blank, living = blank_of(asked, run), {}
    for config, got in tried:
        if isinstance(got, Resources):
            living[str(config)] = (config, got)
        else:
            measured = replace(blank, config=str(config), unavailable=got)
            yield Candidate(config, None, measured)
    for measured in _timed(asked, [config for config, _ in living.values()], run):
        config, resources = living[measured.implementation]
        named = replace(measured, implementation=blank.implementation, label=blank.label, config=str(config))
        yield Candidate(config, resources, named)


def _timed(asked: Asked, configs: Sequence[KernelConfig], run: str) -> Iterator[BenchResult]:
    """Results whose implementation is the configuration."""
    import torch

    from kernels.clocks import GpuMonitor
    from kernels.measure import Session, measure_problem
    from kernels.provider import Provider
    from kernels.timing import Stopwatch
    from kernels.trial import PREPARE

    device = torch.device("cuda", torch.cuda.current_device())
    session = Session(
        run=run,
        device=device,
        dtype=getattr(torch, asked.dtype),
        rounds=asked.rounds,
        stopwatch=Stopwatch(device),
        monitor=GpuMonitor(device),
        announce=lambda current: None,
    )

    def provider(config: KernelConfig) -> Provider:
        return Provider(str(config), str(config), lambda inputs: PREPARE[asked.direction](inputs, config))

    providers = [provider(config) for config in configs]
    yield from measure_problem(asked.shape, providers, session, direction=asked.direction)


def main(arguments: Sequence[str]) -> int:
    asked = asked_of(arguments)
    lacking = why_unavailable()
    if lacking:
        print(json_line(lacking))
        return UNAVAILABLE_EXIT
    tuning = run(asked, lambda record: print(line(record), flush=True))
    if asked.out:
        write_map(tuning, asked.out)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
