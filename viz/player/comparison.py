"""Two walks of one problem against each other: which moves more bytes, and whether that is a surprise."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.trace import Trace
from simulator.traffic import traffic_of

# What a reader of the papers expects: the first of each pair moves more bytes than the second.
EXPECTED = (("standard", "flash_v1"), ("standard", "flash_v2"), ("flash_v1", "flash_v2"))


@dataclass(frozen=True, slots=True)
class Comparison:
    """Bytes of the whole walks. `more` and `fewer` are names of algorithms, in either order where level."""

    more: str
    fewer: str
    more_bytes: int
    fewer_bytes: int

    @property
    def level(self) -> bool:
        return self.more_bytes == self.fewer_bytes

    @property
    def surprising(self) -> bool:
        """The walk that is expected to save bytes moves more of them."""
        return not self.level and (self.fewer, self.more) in EXPECTED

    @property
    def ratio_text(self) -> str:
        """1.56; as many digits as show that it is not 1."""
        ratio = self.more_bytes / self.fewer_bytes
        digits = 2
        while not self.level and float(f"{ratio:.{digits}f}") == 1:
            digits += 1
        return f"{ratio:.{digits}f}"


def compare_traces(left: Trace, right: Trace) -> Comparison:
    """The traffic of two traces of one problem. Raises ValueError where shape or tile differ."""
    if (left.shape, left.tile) != (right.shape, right.tile):
        problem, other = (f"{trace.shape} in {trace.tile}" for trace in (left, right))
        raise ValueError(f"right must walk the problem of left, {problem}, got {other}")
    sides = [(traffic_of(trace).moved_bytes, trace.algorithm.name) for trace in (left, right)]
    (fewer_bytes, fewer), (more_bytes, more) = sorted(sides, key=lambda side: side[0])
    return Comparison(more, fewer, more_bytes, fewer_bytes)
