"""One launch whose programs note where and when they ran; and the clocks of all SMs at nearly one time."""

from __future__ import annotations

from functools import partial
from statistics import median

import numpy as np
import torch
import triton

from kernels.bound_launch import BoundLaunch, bind_launch
from kernels.events import new_events, note_end, note_start
from kernels.placements import LaunchFacts, RecordedLaunch
from kernels.recording_plan import Case
from kernels.timing import Stopwatch

_PROBES_PER_SM = 32
_TIMED_ROUNDS, _TIMED_LAUNCHES = 5, 5


def record(case: Case, *, launches: int, device: torch.device, watch: Stopwatch) -> RecordedLaunch:
    """Times the call with and without notes, in turns; then runs it `launches` times and keeps what the
    programs of its first kernel noted. Raises RuntimeError for notes that cannot be.
    """
    bound = bind_launch(case, device)
    notes = [new_events(programs, device) for programs in bound.programs]
    nothing = [None] * len(notes)
    plain_ms: list[float] = []
    noting_ms: list[float] = []
    for _ in range(_TIMED_ROUNDS):
        for rooms, samples_ms in ((nothing, plain_ms), (notes, noting_ms)):
            samples_ms.append(watch.sample_ms(partial(bound.run, *rooms), repetitions=_TIMED_LAUNCHES))
    noted = np.stack([_noted(bound, notes) for _ in range(launches)])
    sm, start_ns, end_ns = noted[..., 0], noted[..., 1], noted[..., 2]
    origin_ns = start_ns.min(axis=1, keepdims=True)
    facts = facts_of(case, bound, launches=launches, plain_ms=median(plain_ms), noting_ms=median(noting_ms))
    return RecordedLaunch(facts, sm, start_ns - origin_ns, end_ns - origin_ns)


def facts_of(
    case: Case,
    bound: BoundLaunch,
    *,
    launches: int,
    plain_ms: float | None = None,
    noting_ms: float | None = None,
) -> LaunchFacts:
    """What was launched, as a recording keeps it."""
    shape = case.shape
    return LaunchFacts(
        name=_name(case, bound),
        kernel=case.kernel.value,
        batch=shape.batch,
        heads=shape.query_heads,
        length=shape.key_len,
        head_dim=shape.head_dim,
        causal=shape.causal,
        query_rows=bound.config.query_rows,
        key_rows=bound.config.key_rows,
        order=bound.order.value,
        heads_per_group=bound.heads_per_group,
        launches=launches,
        kept=tuple(range(1, launches + 1)),
        config=str(bound.config),
        plain_ms=plain_ms,
        noting_ms=noting_ms,
        query_len=shape.query_len,
        kv_heads=shape.kv_heads,
        splits=bound.splits,
    )


def _name(case: Case, bound: BoundLaunch) -> str:
    shape = case.shape
    mask = "causal" if shape.causal else "full"
    parts = [f"{case.kernel}_d{shape.head_dim}_{mask}_{shape.query_heads}x{shape.key_len}"]
    parts += [f"{shape.kv_heads}kv"] if shape.kv_heads != shape.query_heads else []
    parts += [f"{bound.splits}splits"] if bound.splits > 1 else []
    return "_".join([*parts, bound.order])


def _noted(bound: BoundLaunch, notes: list[torch.Tensor]) -> np.ndarray:
    """What the programs of the first kernel of one call noted [programs, columns]."""
    notes[0].fill_(-1)
    bound.run(*notes)
    noted = notes[0].cpu().numpy()
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
