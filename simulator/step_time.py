"""How long the steps of a walk take in a model: a roofline for each step, one step after the other.

A step takes the larger of its bytes over the GPU's HBM bandwidth and its matrix FLOP over the GPU's peak, as
if the whole GPU worked on this one walk. Nothing overlaps; softmax, latency and the L2 cache are left out.
So times are read as ratios between walks, not as what a kernel would take.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simulator.gpu import GpuSpec
from simulator.trace import Trace

FS_PER_S = 1e15  # whole femtoseconds, so that the sums of two walks meet exactly where they are equal


def step_times_fs(moved_bytes: ArrayLike, flop: ArrayLike, gpu: GpuSpec) -> NDArray[np.int64]:
    """Modelled femtoseconds of steps that move `moved_bytes` and multiply `flop`; arrays of one shape."""
    memory_s = np.asarray(moved_bytes) / gpu.hbm_bytes_per_s
    compute_s = np.asarray(flop) / gpu.fp16_flop_per_s
    return np.rint(FS_PER_S * np.maximum(memory_s, compute_s)).astype(np.int64)


def walk_time_fs(trace: Trace, gpu: GpuSpec) -> int:
    """Modelled femtoseconds of a whole walk."""
    return int(step_times_fs(trace.steps.moved_bytes, trace.steps.flop, gpu).sum())
