"""Two walks of one problem against each other: which moves more bytes, and whether that is a surprise."""

from __future__ import annotations

from dataclasses import dataclass

from simulator.algorithms.flash_decoding import packed_heads
from simulator.problem import AttentionShape, TileShape
from simulator.trace import Trace
from simulator.traffic import traffic_of
from viz.player.closed_form import closed_form

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
    """The traffic of two traces of one problem. Raises ValueError where shape or tile differ.

    Heads that decoding packs as rows of one tile are the same problem as heads one after the other.
    """
    if _problem_of(left) != _problem_of(right):
        problem, other = (f"{trace.shape} in {trace.tile}" for trace in (left, right))
        raise ValueError(f"right must walk the problem of left, {problem}, got {other}")
    sides = [(traffic_of(trace).moved_bytes, trace.algorithm.name) for trace in (left, right)]
    return _comparison(sides)


def _problem_of(trace: Trace) -> tuple[AttentionShape, TileShape]:
    return packed_heads(trace.shape), trace.tile


def counter_examples(trace: Trace) -> list[Comparison]:
    """The surprising comparisons of a walk with those it is measured against, which need not be walked."""
    own = trace.algorithm.name
    rivals = [name for pair in EXPECTED if own in pair for name in pair if name != own]
    sides = [(traffic_of(trace).moved_bytes, own)]
    compared = [
        _comparison([*sides, (closed_form(name, trace.shape, trace.tile).total_bytes, name)])
        for name in rivals
    ]
    return [comparison for comparison in compared if comparison.surprising]


def sram_is_small(shape: AttentionShape, tile: TileShape) -> bool:
    """Whether V1 moves more than standard attention at any great length, M being at most 3 d^2 elements.

    M is what V1's rule asks for this key tile, 4 d key rows: Q, O in and O out for each of its N / key rows
    key tiles are 3 d / key rows passes over N^2, S and P four.
    """
    return sram_elements(shape, tile) <= 3 * shape.head_dim**2


def sram_elements(shape: AttentionShape, tile: TileShape) -> int:
    """M of V1's rule, in elements, for the key tile at hand."""
    return 4 * shape.head_dim * tile.key_rows


def _comparison(sides: list[tuple[int, str]]) -> Comparison:
    (fewer_bytes, fewer), (more_bytes, more) = sorted(sides, key=lambda side: side[0])
    return Comparison(more, fewer, more_bytes, fewer_bytes)
