"""The numbers that answer the home page's questions, from the model or from a recording that is shipped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kernels.results import BenchResult, ratio
from pages.shared.frame import Page
from pages.shared.live_gpu.recordings import recordings
from simulator.algorithms.flash_v1 import trace_flash_v1
from simulator.algorithms.flash_v2 import trace_flash_v2
from simulator.gpu import gpu_named
from simulator.problem import AttentionShape, TileShape, query_tile_count
from simulator.traffic import traffic_of
from viz.units import format_traffic

ONE_HEAD = AttentionShape(query_len=1024, key_len=1024, head_dim=64)
EIGHT_HEADS = AttentionShape(query_len=4096, key_len=4096, head_dim=64, query_heads=8, kv_heads=8)
TILE = TileShape(query_rows=64, key_rows=64)
ROW_BLOCK = TileShape(query_rows=128, key_rows=64)
ByShape = Mapping[AttentionShape, BenchResult]


@dataclass(frozen=True, slots=True)
class Bar:
    """One number of an answer, or the range of several: drawn solid to `least`, pale from there to `most`."""

    name: str
    least: float
    most: float
    text: str
    ours: bool = False  # what the answer is about


@dataclass(frozen=True, slots=True)
class Fact:
    """An answer: bars of one unit, a sentence of what was counted or measured, and where it comes from."""

    bars: tuple[Bar, ...]
    sentence: str
    provenance: str


def written_by_v1_and_v2(page: Page) -> Fact:
    """What the two algorithms write to HBM for one head."""
    v1, v2 = (traffic_of(trace(ONE_HEAD, TILE)).written_bytes for trace in (trace_flash_v1, trace_flash_v2))
    return Fact(
        bars=(_bar("V1", v1, format_traffic(v1)), _bar("V2", v2, format_traffic(v2), ours=True)),
        sentence=page.text("home.tile_movement.fact", n=ONE_HEAD.query_len, d=ONE_HEAD.head_dim),
        provenance=page.text("home.exact"),
    )


def blocks_of_v1_and_v2(page: Page) -> Fact:
    """How many thread blocks the two algorithms launch, beside the SMs there are."""
    heads, gpu = EIGHT_HEADS.query_heads, gpu_named("h200")
    v2 = heads * query_tile_count(EIGHT_HEADS, ROW_BLOCK)
    blocks = "home.blocks_on_sms.blocks"
    return Fact(
        bars=(
            _bar("V1", heads, page.text(blocks, count=heads)),
            _bar("V2", v2, page.text(blocks, count=v2), ours=True),
            _bar(gpu.name, gpu.sm_count, page.text("home.blocks_on_sms.sms", count=gpu.sm_count)),
        ),
        sentence=page.text("home.blocks_on_sms.fact", heads=heads),
        provenance=page.text("home.exact"),
    )


def speed_over_sdpa(page: Page) -> Fact | None:
    """Our kernel against two backends of SDPA on every fp16 problem of the newest recording.

    None where none is shipped.
    """
    recording = next(iter(recordings("forward")), None)
    if recording is None:
        return None
    results = [result for result in recording.results if result.dtype == "float16"]
    ours = _by_shape("flash_v2", results)
    lengths = [shape.query_len for shape in ours]
    values = {"count": len(ours), "shortest": min(lengths), "longest": max(lengths)}
    where = {"gpu": recording.environment.gpu, "date": recording.environment.date[:10]}
    return Fact(
        bars=(
            _bar(page.text("home.live_gpu.theirs"), 1, "1×"),
            *(_ratio_bar(page, ours, name, _by_shape(name, results)) for name in ("flash", "cudnn")),
        ),
        sentence=page.text("home.live_gpu.fact", **values),
        provenance=page.text("home.measured", **where),
    )


def _ratio_bar(page: Page, ours: ByShape, name: str, theirs: ByShape) -> Bar:
    ratios = [ratio(ours[shape], theirs[shape]).value for shape in ours if shape in theirs]
    least, most = min(ratios), max(ratios)
    against = page.text("home.live_gpu.against", backend=page.text(f"live.name.{name}"))
    return Bar(against, least, most, f"{least:.2f}–{most:.2f}×", ours=True)


def _by_shape(implementation: str, results: Sequence[BenchResult]) -> ByShape:
    return {result.shape: result for result in results if result.implementation == implementation}


def _bar(name: str, value: float, text: str, *, ours: bool = False) -> Bar:
    return Bar(name, value, value, text, ours)
