"""What a program notes of itself, where it is asked to: on which SM it ran, when it began and when it ended.

NVIDIA only. A kernel whose `events_ptr` is None compiles as if it knew nothing of this, and the interpreter
meets none of it.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra import cuda

COLUMNS = ("sm", "start_ns", "end_ns", "start_clock", "end_clock")
_SM, _START_NS, _END_NS, _START_CLOCK, _END_CLOCK, _STRIDE = map(tl.constexpr, range(len(COLUMNS) + 1))


def new_events(programs: int, device: torch.device) -> Tensor:
    """Room for events [programs, columns], int64, all -1. Raises ValueError without an NVIDIA GPU."""
    if device.type != "cuda" or torch.version.hip is not None:
        raise ValueError(f"device must be an NVIDIA GPU for programs to note their SM, got {device}")
    return torch.full((programs, len(COLUMNS)), -1, dtype=torch.int64, device=device)


def check_events(events: Tensor | None, programs: int) -> None:
    """Raises ValueError unless there is a row for each program, or nothing is to be noted."""
    if events is not None and events.shape != (programs, len(COLUMNS)):
        raise ValueError(f"events must be {(programs, len(COLUMNS))}, got {tuple(events.shape)}")


@triton.jit
def _clock():
    """The SM's cycle counter; SMs of one GPC agree on it to some tens of cycles, GPCs do not."""
    return tl.inline_asm_elementwise("mov.u64 $0, %clock64;", "=l", [], dtype=tl.int64, is_pure=False, pack=1)


@triton.jit
def note_start(events_ptr):
    """The SM and the times at which this program begins; the first thing that a kernel does."""
    if events_ptr is not None:
        event_ptr = events_ptr + tl.cast(tl.program_id(0), tl.int64) * _STRIDE
        tl.store(event_ptr + _START_NS, cuda.globaltimer())
        tl.store(event_ptr + _START_CLOCK, _clock())
        tl.store(event_ptr + _SM, cuda.smid().to(tl.int64))


@triton.jit
def note_end(events_ptr):
    """The times at which all threads of this program are done; the last thing that a kernel does."""
    if events_ptr is not None:
        event_ptr = events_ptr + tl.cast(tl.program_id(0), tl.int64) * _STRIDE
        tl.debug_barrier()
        tl.store(event_ptr + _END_NS, cuda.globaltimer())
        tl.store(event_ptr + _END_CLOCK, _clock())
