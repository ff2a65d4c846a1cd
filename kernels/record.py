"""One launch whose programs note where and when they ran; and the clocks of all SMs at nearly one time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np
import torch
import triton
from torch import Tensor

from kernels.configs import (
    KernelConfig,
    choose_config,
    flash_v1_configs,
    flash_v1_shared_bytes,
    heads_per_group,
)
from kernels.events import new_events, note_end, note_start
from kernels.flash_v1 import launch_flash_v1
from kernels.flash_v2 import launch_flash_v2
from kernels.placements import LaunchFacts, RecordedLaunch
from kernels.problem import pose
from kernels.timing import Stopwatch
from simulator.launch import Kernel, Order
from simulator.problem import AttentionShape, TileShape, query_tile_count

_PROBES_PER_SM = 32
_TIMED_ROUNDS, _TIMED_LAUNCHES = 5, 5


@dataclass(frozen=True, slots=True)
class _Prepared:
    """A launch bound to its tensors; `run` takes the events to note, or None."""

    run: Callable[[Tensor | None], None]
    programs: int
    config: KernelConfig
    heads_per_group: int


def record(
    kernel: Kernel,
    shape: AttentionShape,
    order: Order,
    *,
    launches: int,
    device: torch.device,
    watch: Stopwatch,
) -> RecordedLaunch:
    """Times the launch with and without notes, in turns; then runs it `launches` times and keeps what its
    programs noted. Raises RuntimeError for notes that cannot be.
    """
    prepared = _prepare(kernel, shape, order, device)
    events = new_events(prepared.programs, device)
    plain_ms: list[float] = []
    noting_ms: list[float] = []
    for _ in range(_TIMED_ROUNDS):
        for notes, samples_ms in ((None, plain_ms), (events, noting_ms)):
            samples_ms.append(watch.sample_ms(partial(prepared.run, notes), repetitions=_TIMED_LAUNCHES))
    noted = np.stack([_noted(prepared, events) for _ in range(launches)])
    sm, start_ns, end_ns = noted[..., 0], noted[..., 1], noted[..., 2]
    origin_ns = start_ns.min(axis=1, keepdims=True)
    facts = LaunchFacts(
        name=_name(kernel, shape, order),
        kernel=kernel.value,
        batch=shape.batch,
        heads=shape.query_heads,
        length=shape.query_len,
        head_dim=shape.head_dim,
        causal=shape.causal,
        query_rows=prepared.config.query_rows,
        key_rows=prepared.config.key_rows,
        order=order.value,
        heads_per_group=prepared.heads_per_group,
        launches=launches,
        kept=tuple(range(1, launches + 1)),
        config=str(prepared.config),
        plain_ms=median(plain_ms),
        noting_ms=median(noting_ms),
    )
    return RecordedLaunch(facts, sm, start_ns - origin_ns, end_ns - origin_ns)


def _prepare(kernel: Kernel, shape: AttentionShape, order: Order, device: torch.device) -> _Prepared:
    q, k, v, out = torch.randn(
        4, shape.batch, shape.query_heads, shape.query_len, shape.head_dim, device=device, dtype=torch.float16
    )
    lse = torch.empty(q.shape[:3], dtype=torch.float32, device=device)
    problem = pose(q, k, v, causal=shape.causal)
    limits, heads = problem.limits, shape.batch * shape.query_heads
    if kernel is Kernel.V1_FORWARD:
        config = choose_config(shape, limits, flash_v1_configs(shape), bound=flash_v1_shared_bytes)
        launch_v1 = partial(launch_flash_v1, problem, out, lse, config=config)
        return _Prepared(lambda events: launch_v1(events=events), heads, config, 1)
    config = choose_config(shape, limits)
    tiles = query_tile_count(shape, TileShape(config.query_rows, config.key_rows))
    launch = partial(launch_flash_v2, problem, out, lse, config=config)
    group = min(heads_per_group(shape, limits), heads) if order is Order.LONGEST_FIRST else 1
    return _Prepared(lambda events: launch(order=order, events=events), tiles * heads, config, group)


def _name(kernel: Kernel, shape: AttentionShape, order: Order) -> str:
    mask = "causal" if shape.causal else "full"
    return f"{kernel}_d{shape.head_dim}_{mask}_{shape.query_heads}x{shape.query_len}_{order}"


def _noted(prepared: _Prepared, events: Tensor) -> np.ndarray:
    """What the programs of one launch noted [programs, columns]."""
    events.fill_(-1)
    prepared.run(events)
    noted = events.cpu().numpy()
    if noted.min() < 0 or not np.all(noted[:, 1] < noted[:, 2]):
        raise RuntimeError("each program must note its SM, a start and a later end, and some did not")
    return noted


@triton.jit
def _probe_kernel(events_ptr):
    note_start(events_ptr)
    note_end(events_ptr)


def clock_probe(device: torch.device) -> np.ndarray:
    """SM, time in ns and clock of readings [readings, 3] int64 within microseconds, some of each SM."""
    sm_count = torch.cuda.get_device_properties(device).multi_processor_count
    events = new_events(_PROBES_PER_SM * sm_count, device)
    with torch.cuda.device(device):
        for _ in range(2):  # the first one loads the kernel
            _probe_kernel[(len(events),)](events, num_warps=1)
    sm, start_ns, _, start_clock, _ = events.cpu().numpy().T
    return np.stack([sm, start_ns, start_clock], axis=1)
