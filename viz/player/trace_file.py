"""Traces as text to take along: every step with its units, and where the numbers come from."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from dataclasses import asdict
from io import StringIO

import numpy as np

from simulator.gpu import GpuSpec
from simulator.step_time import step_times_fs
from simulator.trace import StepKind, Tensor, Trace

# Each column with its unit or meaning. A tile of -1 is none, and left empty.
COLUMNS = {
    "step": "counted from 1",
    "block": "thread block, counted from 0",
    "kind": "what the step does",
    "tensor": "what it moves or makes",
    "query_tile": "index, counted from 0",
    "key_tile": "index, counted from 0",
    "moved_bytes": "B between HBM and the chip",
    "flop": "FLOP of matrix products",
    "shared_bytes": "B held in shared memory",
    "register_bytes": "B held in registers",
    "modelled_fs": "fs",
}
EXACT = "exact: counted from the algorithm's order of steps; every move counts, whether DRAM or L2 serves it"
MODELLED = (
    "modelled_fs is modelled: the larger of moved_bytes over {bandwidth:g} B/s and flop over {rate:g} FLOP/s "
    "of one {gpu}, one step after the other"
)
SIMPLIFIED = (
    "simplified: standard attention counts every input once, as the paper does, "
    "and keeps all of K, then of V, and a row strip of S on the chip"
)


def traces_json(traces: Sequence[Trace], gpu: GpuSpec) -> str:
    """Traces with their problem, as columns: `walks[0].steps.moved_bytes[4]` is of step 5."""
    walks = [
        {
            "algorithm": trace.algorithm.name,
            "removed": trace.algorithm.removed,
            "shape": asdict(trace.shape),
            "tile": asdict(trace.tile),
            "steps": _columns_of(trace, gpu),
        }
        for trace in traces
    ]
    return json.dumps(
        {"provenance": _provenance(traces, gpu), "units": COLUMNS, "walks": walks}, separators=(",", ":")
    )


def traces_csv(traces: Sequence[Trace], gpu: GpuSpec) -> str:
    """A row for each step; lines that begin with # say the problem, the units and where numbers come from."""
    file = StringIO()
    for line in _provenance(traces, gpu):
        file.write(f"# {line}\n")
    for trace in traces:
        file.write(f"# {_name_of(trace)}: {trace.shape}, {trace.tile}\n")
    for name, unit in COLUMNS.items():
        file.write(f"# {name}: {unit}\n")
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(("walk", *COLUMNS))
    for trace in traces:
        columns = _columns_of(trace, gpu)
        writer.writerows(zip([_name_of(trace)] * len(trace), *columns.values(), strict=True))
    return file.getvalue()


def _name_of(trace: Trace) -> str:
    """The algorithm, and what is left out of it."""
    algorithm = trace.algorithm
    return algorithm.name if algorithm.removed is None else f"{algorithm.name} without {algorithm.removed}"


def _provenance(traces: Sequence[Trace], gpu: GpuSpec) -> list[str]:
    modelled = MODELLED.format(bandwidth=gpu.hbm_bytes_per_s, rate=gpu.fp16_flop_per_s, gpu=gpu.name)
    simplified = [SIMPLIFIED] if any(trace.algorithm.name == "standard" for trace in traces) else []
    return [EXACT, modelled, *simplified]


def _columns_of(trace: Trace, gpu: GpuSpec) -> dict[str, list[object]]:
    steps = trace.steps
    named = {
        "step": list(range(1, len(trace) + 1)),
        "kind": [StepKind(kind).name.lower() for kind in steps.kind],
        "tensor": [Tensor(tensor).name.lower() for tensor in steps.tensor],
        "query_tile": _tiles(steps.query_tile),
        "key_tile": _tiles(steps.key_tile),
        "modelled_fs": step_times_fs(steps.moved_bytes, steps.flop, gpu).tolist(),
    }
    return {name: named[name] if name in named else getattr(steps, name).tolist() for name in COLUMNS}


def _tiles(column: np.ndarray) -> list[object]:
    return [tile if tile >= 0 else None for tile in column.tolist()]
