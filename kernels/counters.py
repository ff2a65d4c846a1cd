"""`python -m kernels.counters`: counts with Nsight Compute the bytes kernels move, beside their formulas.

Runs a child under `ncu`, which must be installed and allowed to read the counters. Clocks are left as they
are. Every kernel starts with cold caches, and what lies in L2 at its end is not written yet. Exits with 0
when done, 1 where V1 misses its formula, 2 for bad arguments, 3 where this machine cannot count.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernels.arguments import names_among
from kernels.bench import UNAVAILABLE_EXIT
from kernels.counted import (
    METRICS,
    CountedCall,
    CountedKernel,
    CountedRun,
    parse_ncu,
    split_at,
    total_of,
    v1_shortfall,
    write_counts,
)
from kernels.counted_cases import BOUNDARY, CASES, Case, Note, algorithmic_bytes
from kernels.environment import describe, why_unavailable
from kernels.formulas import each_once
from kernels.results import Unavailable, json_line

COUNTING = (
    "Nsight Compute, one kernel at a time, caches flushed before each (--cache-control all), clocks left as "
    "they were (--clock-control none); L2 read and written: what passed between L2 and the SMs"
)
_TIMEOUT_S = 540.0


@dataclass(frozen=True, slots=True)
class Asked:
    """The cases to count, and where to keep them."""

    cases: tuple[Case, ...]
    commit: str
    out: Path | None


def asked_of(arguments: Sequence[str]) -> Asked:
    """What a command line asks for. Exits with 2 and a sentence for a bad one."""
    parser = argparse.ArgumentParser(prog="python -m kernels.counters")
    names = [case.name for case in CASES]
    parser.add_argument("--cases", default=",".join(names), help=f"among {', '.join(names)}")
    parser.add_argument("--commit", default="", help="of this code, where it is not in a git checkout")
    parser.add_argument("--out", type=Path, help="also keep the counts in this file")
    asked = parser.parse_args(arguments)
    try:
        chosen = names_among("cases", asked.cases, names)
    except ValueError as error:
        parser.error(str(error))
    return Asked(tuple(case for case in CASES if case.name in chosen), asked.commit, asked.out)


def why_no_counters() -> Unavailable | None:
    """Why nothing can be counted here, or None."""
    if shutil.which("ncu") is None:
        return Unavailable(
            "ncu",
            "ncu, of NVIDIA Nsight Compute, is not on the PATH.",
            "Install Nsight Compute; to read the counters it may need root.",
        )
    return why_unavailable()


def ncu_command(cases: Sequence[Case], *, log: Path, notes: Path) -> list[str]:
    """ncu over a child that runs the cases; the table goes to `log`, what the child says to `notes`."""
    program = shutil.which("ncu") or "ncu"
    names = ",".join(case.name for case in cases)
    options = ["--csv", "--print-units=base", "--clock-control=none", "--cache-control=all"]
    options += ["--profile-from-start=off", f"--metrics={','.join(METRICS)}", f"--log-file={log}"]
    child = [sys.executable, "-m", "kernels.counted_child", names, str(notes)]
    return [program, *options, *child]


def calls_of(
    run: str, cases: Sequence[Case], notes: Sequence[Note], kernels: Sequence[CountedKernel], *, l2_bytes: int
) -> list[CountedCall]:
    """The calls of a run. Raises ValueError where ncu did not see as many cases as the child ran."""
    counted = split_at(kernels, BOUNDARY)
    if not len(counted) == len(notes) == len(cases):
        raise ValueError(
            f"ncu must see every case, got {len(counted)} of {len(cases)}, of which {len(notes)} were run"
        )
    return [
        CountedCall(
            run=run,
            name=case.name,
            implementation=case.implementation,
            shape=case.shape,
            config=note.config,
            l2_bytes=l2_bytes,
            once=each_once(case.shape),
            algorithmic=algorithmic_bytes(case, splits=note.splits),
            kernels=() if note.unavailable else seen,
            unavailable=note.unavailable,
        )
        for case, note, seen in zip(cases, notes, counted, strict=True)
    ]


def row(call: CountedCall) -> str:
    """A call in one line: counted in MB, and the formulas."""
    if call.unavailable:
        return f"{call.name}: not counted, {call.unavailable}"
    total, once, walk = total_of(call), call.once, call.algorithmic
    shortfall = v1_shortfall(call)
    parts = [
        f"{call.name}: DRAM {_mb(total.dram_read, total.dram_written)}",
        f"L2 {_mb(total.l2_read, total.l2_written)}",
        f"each once {_mb(once.read, once.written)}",
        "" if walk is None else f"by its walk {_mb(walk.read, walk.written)}",
        "" if shortfall is None else f"V1's formula: {shortfall or 'holds within 2%'}",
    ]
    return "; ".join(part for part in parts if part)


def _mb(read: int | None, written: int | None) -> str:
    """Both directions in MB."""
    sizes = ["not counted" if count is None else f"{count / 1e6:.1f} MB" for count in (read, written)]
    return f"{sizes[0]} read, {sizes[1]} written"


def count(asked: Asked) -> CountedRun:
    """Runs the cases under ncu. Raises RuntimeError with what ncu said where that fails."""
    import torch

    device = torch.device("cuda", torch.cuda.current_device())
    environment = describe(device, timing=COUNTING, commit=asked.commit, module="kernels.counters")
    with tempfile.TemporaryDirectory() as folder:
        log, notes = Path(folder) / "ncu.csv", Path(folder) / "notes.jsonl"
        command = ncu_command(asked.cases, log=log, notes=notes)
        plain = {**os.environ, "LC_ALL": "C"}  # else numbers are written as the language of the machine does
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=_TIMEOUT_S, env=plain, check=False
        )
        said = log.read_text(encoding="utf-8") if log.exists() else ""
        try:
            kernels = list(parse_ncu(said))
        except ValueError as error:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-1:]
            raise RuntimeError(f"{error} (status {done.returncode} {' '.join(last)})") from error
        told = [Note(**json.loads(each)) for each in notes.read_text(encoding="utf-8").splitlines()]
    l2_bytes = torch.cuda.get_device_properties(device).L2_cache_size
    calls = calls_of(environment.run, asked.cases, told, kernels, l2_bytes=l2_bytes)
    return CountedRun(environment, tuple(calls))


def main(arguments: Sequence[str]) -> int:
    asked = asked_of(arguments)
    lacking = why_no_counters()
    if lacking:
        print(json_line(lacking))
        return UNAVAILABLE_EXIT
    try:
        run = count(asked)
    except (RuntimeError, ValueError) as error:
        print(json_line(Unavailable("ncu", str(error), "Run ncu on any CUDA program to see what it lacks.")))
        return UNAVAILABLE_EXIT
    if asked.out:
        write_counts(run, asked.out)
    for call in run.calls:
        print(row(call))
    return int(any(v1_shortfall(call) for call in run.calls))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
