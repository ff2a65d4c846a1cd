"""Results as files: JSON lines as `python -m kernels.bench` writes and reads them, and a table with its
provenance.
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from io import StringIO
from math import isfinite

from kernels.results import (
    BenchResult,
    Environment,
    Recording,
    json_line,
    kv_gb_per_s,
    median_ms,
    read_json_lines,
    spread_ms,
    tflops,
)

LARGEST_BYTES = 20_000_000  # of a file that is dropped in
COLUMNS = (
    "gpu", "date", "run", "commit", "driver", "torch", "triton", "cudnn",
    "implementation", "direction", "dtype", "batch", "query_heads", "kv_heads", "query_len", "key_len",
    "head_dim", "causal", "median_ms", "fastest_ms", "slowest_ms", "rounds", "launches_a_round", "timed_by",
    "tflop_per_s", "kv_gb_per_s", "peak_bytes", "correct", "error", "yardstick", "config", "sm_clock_mhz",
    "unavailable",
)  # fmt: skip


def results_jsonl(environment: Environment, results: Sequence[BenchResult]) -> str:
    """The environment and one line per result, as the bench's `--out` keeps them."""
    return "".join(f"{line}\n" for line in (json_line(environment), *map(json_line, results)))


def results_csv(environment: Environment, results: Sequence[BenchResult]) -> str:
    """A row per result; what a result does not have is empty."""
    written = StringIO()
    table = csv.DictWriter(written, COLUMNS)
    table.writeheader()
    for result in results:
        table.writerow(_row(environment, result))
    return written.getvalue()


def read_results(data: bytes) -> Recording:
    """The recording in a file that the bench wrote. Raises ValueError saying what is wrong with any other."""
    if len(data) > LARGEST_BYTES:
        raise ValueError(f"the file must have at most {LARGEST_BYTES:,} bytes, got {len(data):,}")
    try:
        records = list(read_json_lines(data.decode("utf-8").splitlines()))
    except UnicodeDecodeError as error:
        raise ValueError("the file must be UTF-8 text") from error
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"each line must be a record of kernels.bench: {str(error)[:200]}") from error
    environments = [record for record in records if isinstance(record, Environment)]
    if len(environments) != 1:
        raise ValueError(f"the file must hold one environment, got {len(environments)}")
    results = tuple(record for record in records if isinstance(record, BenchResult))
    for result in results:
        _require_times(result)
    return Recording(environments[0], results)


def _require_times(result: BenchResult) -> None:
    numbers = all(isinstance(each, int | float) for each in result.samples_ms)
    if not numbers or not all(isfinite(each) and each > 0 for each in result.samples_ms):
        raise ValueError(f"samples_ms must be positive numbers, got {str(result.samples_ms)[:80]}")


def _row(environment: Environment, result: BenchResult) -> dict[str, object]:
    shape, verdict, ran = result.shape, result.verdict, bool(result.samples_ms)
    fastest, slowest = spread_ms(result) if ran else ("", "")
    return {
        **{name: getattr(environment, name) for name in COLUMNS[:8] if name != "run"},
        "run": result.run,
        **{name: getattr(result, name) for name in ("implementation", "direction", "dtype")},
        **{name: getattr(shape, name) for name in COLUMNS[11:18]},
        "median_ms": median_ms(result) if ran else "",
        "fastest_ms": fastest,
        "slowest_ms": slowest,
        "rounds": len(result.samples_ms),
        "launches_a_round": result.repetitions,
        "timed_by": result.timed_by,
        "tflop_per_s": tflops(result) if ran else "",
        "kv_gb_per_s": kv_gb_per_s(result) if ran else "",
        "peak_bytes": result.peak_bytes,
        "correct": verdict.correct if verdict else "",
        "error": verdict.error if verdict else "",
        "yardstick": verdict.yardstick if verdict else "",
        "config": result.config,
        "sm_clock_mhz": " ".join(map(str, result.sm_clock_mhz)),
        "unavailable": result.unavailable,
    }
