"""What a chart shows of a result: its value, its lowest and highest over the rounds, and the axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from kernels.results import BenchResult, kv_gb_per_s, median_ms, ratio, spread_ms, tflops
from viz.line_chart import Axis
from viz.speed import is_shown, tflops_bounds


@dataclass(frozen=True, slots=True)
class Quantity:
    """One number of a result that has a speed. `knows` says of which results it can be told."""

    value: Callable[[BenchResult], float]
    bounds: Callable[[BenchResult], tuple[float, float]] | None
    axis: Axis
    knows: Callable[[BenchResult], bool] = lambda result: True

    def range_of(self, result: BenchResult) -> tuple[float, float]:
        """The lowest and the highest over the rounds; the value itself where rounds do not differ."""
        return self.bounds(result) if self.bounds else (self.value(result), self.value(result))


def kv_bounds(result: BenchResult) -> tuple[float, float]:
    """The slowest and the fastest round, in GB/s of keys and values."""
    fastest, slowest = spread_ms(result)
    giga_bytes_ms = kv_gb_per_s(result) * median_ms(result)
    return giga_bytes_ms / slowest, giga_bytes_ms / fastest


THROUGHPUT = Quantity(tflops, tflops_bounds, Axis("TFLOP/s"))
TIME = Quantity(median_ms, spread_ms, Axis("ms", logarithmic=True))
BANDWIDTH = Quantity(kv_gb_per_s, kv_bounds, Axis("GB/s"))


def speed_up_over(baseline: str, results: Sequence[BenchResult], unit: str) -> Quantity:
    """How many times faster than the implementation `baseline`, where both took turns on one problem."""
    bases = {
        (result.run, result.shape, result.dtype): result
        for result in results
        if result.implementation == baseline and is_shown(result)
    }

    def base_of(result: BenchResult) -> BenchResult:
        return bases[result.run, result.shape, result.dtype]

    def bounds(result: BenchResult) -> tuple[float, float]:
        (fastest, slowest), (base_fastest, base_slowest) = spread_ms(result), spread_ms(base_of(result))
        return base_fastest / slowest, base_slowest / fastest

    return Quantity(
        lambda result: ratio(result, base_of(result)).value,
        bounds,
        Axis(unit),
        lambda result: (result.run, result.shape, result.dtype) in bases,
    )
