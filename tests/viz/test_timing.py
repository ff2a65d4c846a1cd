"""What a chart of speed may and may not show, tested by meaning on a handful of results."""

import itertools
import math
from dataclasses import replace
from typing import Any

import plotly.graph_objects as go
import pytest

from kernels.results import BenchResult, Verdict, median_ms, spread_ms, tflops
from simulator.problem import AttentionShape
from viz.line_names import LABEL_GAP_PX
from viz.quantity import THROUGHPUT, TIME, Quantity, speed_up_over
from viz.speed import (
    colour_of,
    describe,
    format_error,
    format_length,
    format_ratio,
    format_tflops,
    is_shown,
    tflops_bounds,
)
from viz.theme import DARK, LIGHT
from viz.timing import against_length, memory_figure

LENGTHS = [1024, 2048, 4096]
CORRECT = Verdict(correct=True, error=2.6e-4, yardstick=5.2e-4)
WRONG = Verdict(correct=False, error=0.3, yardstick=5.2e-4, reason="largest error 0.3 at (0, 1, 2, 3)")


def say(key: str, **values: object) -> str:
    return f"{key} {' '.join(map(str, values.values()))}".strip()


def result(name: str, length: int, ms: float, **changes: object) -> BenchResult:
    base = BenchResult(
        run="r",
        implementation=name,
        label=f"label of {name}",
        shape=AttentionShape(length, length, 64, causal=True, batch=2, query_heads=4, kv_heads=4),
        dtype="float16",
        samples_ms=(ms, ms * 1.1, ms * 0.9),
        repetitions=50,
        sm_clock_mhz=(1980, 1755),
        verdict=CORRECT,
    )
    return replace(base, **changes)  # type: ignore[arg-type]


RESULTS = [
    result(name, length, ms * (length / 1024) ** 2)
    for name, ms in (("flash_v2", 0.1), ("flash", 0.15), ("math", 3.0))
    for length in LENGTHS
]
QUANTITIES = [THROUGHPUT, TIME, speed_up_over("flash", RESULTS, "x")]


def draw(results: list[BenchResult], quantity: Quantity = THROUGHPUT, **options: Any) -> go.Figure:
    return against_length(results, quantity, **{"lengths": LENGTHS, "theme": LIGHT, "text": say, **options})


def lines_of(figure: go.Figure) -> list[go.Scatter]:
    return [trace for trace in figure.data if trace.mode == "lines+markers"]


def bands_of(figure: go.Figure) -> list[go.Scatter]:
    return [trace for trace in figure.data if trace.fill]


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_every_result_is_one_point_at_its_length_and_median(quantity):
    lines = lines_of(draw(RESULTS, quantity))
    points = {(line.name, x, y) for line in lines for x, y in zip(line.x, line.y, strict=True)}
    assert points == {
        (f"live.name.{each.implementation}", each.shape.query_len, quantity.value(each)) for each in RESULTS
    }


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_band_reaches_from_the_lowest_to_the_highest_round(quantity):
    band = bands_of(draw(RESULTS[:3], quantity))[0]
    edges = list(zip(band.x, band.y, strict=True))
    for each in RESULTS[:3]:
        low, high = quantity.range_of(each)
        assert low < quantity.value(each) < high or quantity.value(each) in (low, high)
        assert {(each.shape.key_len, low), (each.shape.key_len, high)} <= set(edges)


def test_a_time_band_is_the_fastest_and_the_slowest_round():
    assert TIME.range_of(RESULTS[0]) == spread_ms(RESULTS[0])
    assert (TIME.value(RESULTS[0]), THROUGHPUT.value(RESULTS[0])) == (
        median_ms(RESULTS[0]),
        tflops(RESULTS[0]),
    )


def test_a_speed_up_is_the_ratio_to_the_baseline_at_the_same_length():
    quantity = speed_up_over("flash", RESULTS, "x")
    ours = [each for each in RESULTS if each.implementation == "flash_v2"]
    assert [quantity.value(each) for each in ours] == pytest.approx([1.5, 1.5, 1.5])
    low, high = quantity.range_of(ours[0])
    assert (low, high) == pytest.approx((1.5 * 0.9 / 1.1, 1.5 * 1.1 / 0.9))


def test_without_its_baseline_a_speed_up_has_no_point():
    alone = [each for each in RESULTS if each.implementation != "flash"]
    other_run = [replace(each, run="another") for each in RESULTS if each.implementation == "flash"]
    quantity = speed_up_over("flash", [*alone, *other_run], "x")
    assert not any(quantity.knows(each) for each in alone)
    assert lines_of(draw(alone, quantity)) == []


def test_the_slowest_round_is_the_lowest_throughput():
    low, high = tflops_bounds(RESULTS[0])
    fastest, slowest = (replace(RESULTS[0], samples_ms=(bound,)) for bound in spread_ms(RESULTS[0]))
    assert (low, high) == pytest.approx((tflops(slowest), tflops(fastest)), rel=1e-12)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_wrong_result_has_no_point_and_a_mark_that_names_it(quantity):
    wrong = result("flash", 2048, 0.01, verdict=WRONG)
    others = [each for each in RESULTS if (each.implementation, each.shape.query_len) != ("flash", 2048)]
    figure = draw([*others, wrong], quantity)
    (line,) = [trace for trace in lines_of(figure) if trace.name == "live.name.flash"]
    assert dict(zip(line.x, line.y, strict=True))[2048] is None
    assert not line.connectgaps
    marks = [note for note in figure.layout.annotations if note.font.color == LIGHT.failed]
    assert {note.text for note in marks} == {"<b>×</b>", "live.chart.wrong live.name.flash"}
    (mark,) = [note for note in marks if note.text == "<b>×</b>"]
    assert mark.x == pytest.approx(math.log10(2048))
    assert WRONG.reason in mark.hovertext


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_one_that_is_wrong_everywhere_has_no_line_and_does_not_stretch_the_axis(quantity):
    wrong = [result("math", length, 1e-6, verdict=WRONG) for length in LENGTHS]
    right = [each for each in RESULTS if each.implementation != "math"]
    figure = draw([*right, *wrong], quantity)
    assert {trace.name for trace in lines_of(figure)} == {"live.name.flash_v2", "live.name.flash"}
    assert figure.layout.yaxis.range == draw(right, quantity).layout.yaxis.range


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_an_unavailable_result_has_no_point_and_its_line_says_where_it_ends(quantity):
    gone = result("math", 4096, 1.0, samples_ms=(), verdict=None, unavailable="out of memory")
    figure = draw([*RESULTS[:-1], gone], quantity)
    (line,) = [trace for trace in lines_of(figure) if trace.name == "live.name.math"]
    assert list(line.x) == [1024, 2048]
    assert "live.name.math live.chart.to 2k" in [note.text for note in figure.layout.annotations]


def test_a_result_that_was_never_checked_is_shown_as_unchecked():
    unchecked = result("flash", 1024, 1.0, verdict=None)
    assert is_shown(unchecked)
    assert "live.verdict.unchecked" in describe(unchecked, say)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_ours_is_ink_and_heavy_on_top_and_the_others_are_grey_and_thin(quantity):
    traces = lines_of(draw(RESULTS, quantity, theme=DARK))
    assert [(trace.line.color, trace.line.width) for trace in traces] == [
        (DARK.other_series, 1.5),
        (DARK.other_series, 1.5),
        (DARK.ink, 2.5),
    ]
    assert traces[-1].name == "live.name.flash_v2"
    assert len({trace.marker.symbol for trace in traces}) == len(traces)
    assert colour_of("somebody's", DARK) == DARK.other_series


@pytest.mark.parametrize("quantity", QUANTITIES)
@pytest.mark.parametrize("height", [240, 380])
def test_every_line_is_named_once_and_no_name_covers_another(quantity, height):
    alike = [result(name, 4096, 1.0 + 1e-4 * i) for i, name in enumerate(("flash_v2", "cudnn", "flash", "x"))]
    figure = draw(alike, quantity, height=height)
    assert not figure.layout.showlegend
    bottom, top = figure.layout.yaxis.range
    plot_px = height - figure.layout.margin.t - figure.layout.margin.b
    names = [note for note in figure.layout.annotations if note.xref == "paper" and note.x == 1]
    assert sorted(note.text for note in names) == [
        "<b>live.name.flash_v2</b>",
        "label of x",
        "live.name.cudnn",
        "live.name.flash",
    ]
    placed = sorted((note.y - bottom) / (top - bottom) * plot_px + note.yshift for note in names)
    assert min(b - a for a, b in itertools.pairwise(placed)) >= LABEL_GAP_PX * (1 - 1e-9)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_the_length_axis_is_what_was_asked_for_whatever_has_been_measured(quantity):
    figure = draw(RESULTS[:1], quantity)
    assert list(figure.layout.xaxis.tickvals) == LENGTHS
    assert list(figure.layout.xaxis.ticktext) == ["1k", "2k", "4k"]
    assert figure.layout.xaxis.range == draw(RESULTS, quantity).layout.xaxis.range


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_result_of_another_length_is_left_out(quantity):
    figure = draw([*RESULTS, result("flash", 512, 1.0)], quantity)
    assert all(512 not in trace.x for trace in figure.data)


@pytest.mark.parametrize("quantity", QUANTITIES)
def test_a_chart_without_results_keeps_its_axes_and_says_so(quantity):
    figure = draw([], quantity)
    assert figure.data == ()
    assert list(figure.layout.xaxis.tickvals) == LENGTHS
    assert "live.chart.empty" in [note.text for note in figure.layout.annotations]


def test_time_has_two_logarithmic_axes_with_ticks_inside_and_throughput_starts_at_zero():
    layout = draw(RESULTS, TIME).layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", "log")
    bottom, top = layout.yaxis.range
    assert len(layout.yaxis.tickvals) > 1
    assert all(bottom <= math.log10(tick) <= top for tick in layout.yaxis.tickvals)
    layout = draw(RESULTS, THROUGHPUT).layout
    assert layout.yaxis.range[0] == 0.0
    assert layout.yaxis.range[1] >= max(tflops_bounds(each)[1] for each in RESULTS)


def test_hovering_tells_everything_and_escapes_what_a_tool_said():
    odd = result("flash_v2", 1024, 0.5, config="64x128 <b> & 4 warps")
    (trace,) = lines_of(draw([odd]))
    assert "64x128 &lt;b&gt; &amp; 4 warps" in trace.text[0]
    lines = describe(odd, say)
    assert "live.hover.rounds 3 50" in lines
    assert "live.hover.clocks 1,755 1,980" in lines
    assert "live.verdict.correct_by 2.6e-4 5.2e-4" in lines
    assert "500 µs (450 µs–550 µs)" in lines


def test_numbers_are_written_as_a_reader_expects():
    assert [format_length(n) for n in (1024, 16384, 1000)] == ["1k", "16k", "1000"]
    assert [format_tflops(value) for value in (7.44, 9.96, 36.4, 1012.0)] == ["7.4", "10", "36", "1,012"]
    assert format_error(2.63e-4) == "2.6e-4"
    assert [format_ratio(value) for value in (1.468, 0.5171, 0.0337)] == ["1.47", "0.52", "0.034"]


def test_what_an_allocator_saw_is_solid_and_what_a_formula_says_is_dashed_and_hollow():
    seen = [replace(each, peak_bytes=1000 * each.shape.key_len) for each in RESULTS[:3]]
    modelled = {"standard": {length: length**2 for length in LENGTHS}}
    figure = memory_figure(seen, modelled, lengths=LENGTHS, theme=LIGHT, text=say)
    by_formula, measured = lines_of(figure)
    assert list(by_formula.y) == [length**2 for length in LENGTHS]
    assert (by_formula.line.dash, measured.line.dash) == ("dash", "solid")
    assert list(measured.y) == [1000 * length for length in LENGTHS]


def test_another_machine_is_dashed_and_named():
    figure = draw(RESULTS[:3], beside=RESULTS[3:6], beside_name="H200")
    theirs, ours = lines_of(figure)
    assert (theirs.name, theirs.line.dash) == ("live.name.flash · H200", "dash")
    assert ours.line.dash == "solid"
