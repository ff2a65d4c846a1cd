"""What a walk costs, read off its trace."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.trace import StepKind, Tensor, Trace


@dataclass(frozen=True, slots=True)
class Traffic:
    """Bytes between HBM and the chip as the papers count them, matrix FLOP, and the fullest moment.

    Algorithmic traffic: every load of a tile counts, whether DRAM or the L2 cache serves it. An atomic add
    counts once, as the write that crosses from the chip; memory reads and writes on its own side.
    """

    read_bytes: int
    written_bytes: int
    flop: int
    peak_sram_bytes: int  # shared memory and registers together

    @property
    def moved_bytes(self) -> int:
        """Both directions."""
        return self.read_bytes + self.written_bytes


def traffic_of(trace: Trace, *, tensor: Tensor | None = None, block: int | None = None) -> Traffic:
    """The traffic of a whole trace, or only of one tensor or of one thread block."""
    steps = trace.steps
    chosen = (steps.tensor == tensor) if tensor is not None else (steps.kind >= 0)
    if block is not None:
        chosen = chosen & (steps.block == block)
    reads = chosen & (steps.kind == StepKind.LOAD)
    writes = chosen & ((steps.kind == StepKind.STORE) | (steps.kind == StepKind.ADD))
    resident = (steps.shared_bytes + steps.register_bytes)[chosen]
    return Traffic(
        read_bytes=int(steps.moved_bytes[reads].sum()),
        written_bytes=int(steps.moved_bytes[writes].sum()),
        flop=int(steps.flop[chosen].sum()),
        peak_sram_bytes=int(resident.max(initial=0)),
    )
