"""Bytes that Nsight Compute's counters saw a call move, beside what formulas say: records, their file, the
reader of ncu's CSV. Imports neither torch nor triton.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path

from kernels.formulas import Moved, flash_v1_working_set
from kernels.lines import write_lines
from kernels.results import Environment, read_kept
from simulator.problem import AttentionShape

V1_TOLERANCE, V1_OVER_L2 = 0.02, 3  # V1's count where what comes back each step is so much larger than L2
# ncu's names. What the SMs moved to and from L2 is counted on their side.
METRICS: Mapping[str, str] = {
    "dram__bytes_read.sum": "dram_read",
    "dram__bytes_write.sum": "dram_written",
    "l1tex__m_xbar2l1tex_read_bytes.sum": "l2_read",
    "l1tex__m_l1tex2xbar_write_bytes.sum": "l2_written",
    "lts__t_bytes.sum": "l2_all",
}
_UNITS = {"byte": 1, "Kbyte": 10**3, "Mbyte": 10**6, "Gbyte": 10**9}


@dataclass(frozen=True, slots=True)
class Counted:
    """Bytes of one kernel, or of all kernels of a call. None where this GPU has no such counter."""

    dram_read: int
    dram_written: int
    l2_read: int | None  # from L2 into the SMs
    l2_written: int | None  # from the SMs into L2
    l2_all: int | None  # all that passed through L2, also to and from DRAM


@dataclass(frozen=True, slots=True)
class CountedKernel:
    """One launch, as ncu reports it."""

    name: str
    counted: Counted


@dataclass(frozen=True, slots=True)
class CountedCall:
    """One call of one implementation on one problem: what was counted, and what formulas say."""

    run: str
    name: str  # of the case, "flash_v1_64x64"
    implementation: str
    shape: AttentionShape
    config: str
    l2_bytes: int  # of the GPU
    once: Moved  # every input read once, every output written once
    algorithmic: Moved | None  # every load and store of the walk; None of code whose walk is not ours
    kernels: tuple[CountedKernel, ...] = ()
    unavailable: str = ""  # why nothing was counted


@dataclass(frozen=True, slots=True)
class CountedRun:
    """A run that was kept."""

    environment: Environment
    calls: tuple[CountedCall, ...]


_TAGS: dict[str, type] = {"environment": Environment, "call": CountedCall}


def total_of(call: CountedCall) -> Counted:
    """The sum over the kernels of a call."""
    each = [kernel.counted for kernel in call.kernels]
    return Counted(
        sum(one.dram_read for one in each),
        sum(one.dram_written for one in each),
        _sum([one.l2_read for one in each]),
        _sum([one.l2_written for one in each]),
        _sum([one.l2_all for one in each]),
    )


def _sum(values: Sequence[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None


def v1_shortfall(call: CountedCall) -> str | None:
    """Whether V1's DRAM bytes are its formula's: "" or by how much not; None where the rule does not speak,
    since L2 may hold what comes back, or nothing was counted.
    """
    if call.implementation != "flash_v1" or call.algorithmic is None or not call.kernels:
        return None
    if flash_v1_working_set(call.shape) <= V1_OVER_L2 * call.l2_bytes:
        return None
    total = total_of(call)
    off = {
        "read": total.dram_read / call.algorithmic.read - 1,
        "written": total.dram_written / call.algorithmic.written - 1,
    }
    return ", ".join(f"{what} off by {by:+.1%}" for what, by in off.items() if abs(by) > V1_TOLERANCE)


def parse_ncu(text: str) -> Iterator[CountedKernel]:
    """The kernels of `ncu --csv`, which prints a row for each counter of each launch, in the order of their
    launches. Raises ValueError where there is no table, or a needed counter is missing.
    """
    lines = text.splitlines()
    start = next((index for index, each in enumerate(lines) if each.startswith('"ID"')), None)
    if start is None:
        said = next((each for each in lines if "ERROR" in each), (lines or ["nothing"])[-1])
        raise ValueError(f"ncu must print a table, got: {said}")
    rows = csv.DictReader(each for each in lines[start:] if each.startswith('"'))
    for _, launch in groupby(rows, key=itemgetter("ID")):
        of_kernel = list(launch)
        found = {row["Metric Name"]: _bytes(row["Metric Value"], row["Metric Unit"]) for row in of_kernel}
        counts = {field: found.get(name) for name, field in METRICS.items()}
        dram_read, dram_written = counts["dram_read"], counts["dram_written"]
        if dram_read is None or dram_written is None:
            raise ValueError(f"ncu must count dram__bytes_read and dram__bytes_write, got {of_kernel[0]}")
        yield CountedKernel(
            of_kernel[0]["Kernel Name"],
            Counted(dram_read, dram_written, counts["l2_read"], counts["l2_written"], counts["l2_all"]),
        )


def _bytes(value: str, unit: str) -> int | None:
    try:
        return round(float(value.replace(",", "")) * _UNITS[unit])
    except (ValueError, KeyError):  # "n/a", or no number of bytes
        return None


def split_at(kernels: Sequence[CountedKernel], boundary: str) -> list[tuple[CountedKernel, ...]]:
    """The kernels of each case; a kernel called `boundary` begins one."""
    starts = [index for index, kernel in enumerate(kernels) if kernel.name == boundary]
    stops = [*starts[1:], len(kernels)]
    return [tuple(kernels[start + 1 : stop]) for start, stop in zip(starts, stops, strict=True)]


def write_counts(run: CountedRun, path: Path) -> None:
    """Keeps a run: its environment first, then one line for each call."""
    write_lines(_TAGS, (run.environment, *run.calls), path)


def read_counts(path: Path) -> CountedRun:
    """A kept run. Raises ValueError unless the file holds exactly one environment."""
    environment, calls = read_kept(path, _TAGS)
    return CountedRun(environment, tuple(calls))
