"""What a chart of speed may and may not show, tested by meaning on a handful of results."""

import itertools
import math
from dataclasses import replace

import pytest

from kernels.results import BenchResult, Verdict, median_ms, spread_ms, tflops
from simulator.problem import AttentionShape
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
from viz.timing import LABEL_GAP_PX, spread_apart, throughput_figure, time_figure

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
FIGURES = {throughput_figure: (tflops, tflops_bounds), time_figure: (median_ms, spread_ms)}


@pytest.mark.parametrize("draw", FIGURES)
def test_every_result_is_one_point_at_its_length_and_median(draw):
    figure = draw(RESULTS, lengths=LENGTHS, theme=LIGHT, text=say)
    value, _ = FIGURES[draw]
    points = {(trace.name, x, y) for trace in figure.data for x, y in zip(trace.x, trace.y, strict=True)}
    assert points == {
        (f"live.name.{each.implementation}", each.shape.query_len, value(each)) for each in RESULTS
    }


@pytest.mark.parametrize("draw", FIGURES)
def test_whiskers_end_on_the_lowest_and_the_highest_round(draw):
    one = RESULTS[0]
    (trace,) = draw([one], lengths=LENGTHS, theme=LIGHT, text=say).data
    low, high = FIGURES[draw][1](one)
    assert trace.y[0] + trace.error_y.array[0] == pytest.approx(high, rel=1e-12)
    assert trace.y[0] - trace.error_y.arrayminus[0] == pytest.approx(low, rel=1e-12)


def test_the_slowest_round_is_the_lowest_throughput():
    low, high = tflops_bounds(RESULTS[0])
    fastest, slowest = (replace(RESULTS[0], samples_ms=(bound,)) for bound in spread_ms(RESULTS[0]))
    assert (low, high) == pytest.approx((tflops(slowest), tflops(fastest)), rel=1e-12)


@pytest.mark.parametrize("draw", FIGURES)
def test_a_wrong_result_has_no_point_and_a_mark_that_names_it(draw):
    wrong = result("flash", 2048, 0.01, verdict=WRONG)
    others = [each for each in RESULTS if (each.implementation, each.shape.query_len) != ("flash", 2048)]
    figure = draw([*others, wrong], lengths=LENGTHS, theme=LIGHT, text=say)
    (line,) = [trace for trace in figure.data if trace.name == "live.name.flash"]
    assert dict(zip(line.x, line.y, strict=True))[2048] is None
    assert not line.connectgaps
    marks = [note for note in figure.layout.annotations if note.font.color == LIGHT.failed]
    assert {note.text for note in marks} == {"<b>×</b>", "live.chart.wrong live.name.flash"}
    (mark,) = [note for note in marks if note.text == "<b>×</b>"]
    assert mark.x == pytest.approx(math.log10(2048))
    assert WRONG.reason in mark.hovertext


@pytest.mark.parametrize("draw", FIGURES)
def test_one_that_is_wrong_everywhere_has_no_line_and_does_not_stretch_the_axis(draw):
    wrong = [result("math", length, 1e-6, verdict=WRONG) for length in LENGTHS]
    right = [each for each in RESULTS if each.implementation != "math"]
    figure = draw([*right, *wrong], lengths=LENGTHS, theme=LIGHT, text=say)
    assert {trace.name for trace in figure.data} == {"live.name.flash_v2", "live.name.flash"}
    assert figure.layout.yaxis.range == draw(right, lengths=LENGTHS, theme=LIGHT, text=say).layout.yaxis.range


@pytest.mark.parametrize("draw", FIGURES)
def test_an_unavailable_result_has_no_point_and_its_line_says_where_it_ends(draw):
    gone = result("math", 4096, 1.0, samples_ms=(), verdict=None, unavailable="out of memory")
    figure = draw([*RESULTS[:-1], gone], lengths=LENGTHS, theme=LIGHT, text=say)
    (line,) = [trace for trace in figure.data if trace.name == "live.name.math"]
    assert list(line.x) == [1024, 2048]
    assert "live.name.math live.chart.to 2k" in [note.text for note in figure.layout.annotations]


def test_a_result_that_was_never_checked_is_shown_as_unchecked():
    unchecked = result("flash", 1024, 1.0, verdict=None)
    assert is_shown(unchecked)
    assert "live.verdict.unchecked" in describe(unchecked, say)


@pytest.mark.parametrize("draw", FIGURES)
def test_ours_is_ink_and_heavy_on_top_and_the_others_are_grey_and_thin(draw):
    traces = draw(RESULTS, lengths=LENGTHS, theme=DARK, text=say).data
    assert [(trace.line.color, trace.line.width) for trace in traces] == [
        (DARK.other_series, 1.5),
        (DARK.other_series, 1.5),
        (DARK.ink, 2.5),
    ]
    assert traces[-1].name == "live.name.flash_v2"
    assert len({trace.marker.symbol for trace in traces}) == len(traces)
    assert colour_of("somebody's", DARK) == DARK.other_series


@pytest.mark.parametrize("draw", FIGURES)
@pytest.mark.parametrize("height", [240, 380])
def test_every_line_is_named_once_and_no_name_covers_another(draw, height):
    alike = [result(name, 4096, 1.0 + 1e-4 * i) for i, name in enumerate(("flash_v2", "cudnn", "flash", "x"))]
    figure = draw(alike, lengths=LENGTHS, theme=LIGHT, text=say, height=height)
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


@pytest.mark.parametrize("draw", FIGURES)
def test_the_length_axis_is_what_was_asked_for_whatever_has_been_measured(draw):
    figure = draw(RESULTS[:1], lengths=LENGTHS, theme=LIGHT, text=say)
    assert list(figure.layout.xaxis.tickvals) == LENGTHS
    assert list(figure.layout.xaxis.ticktext) == ["1k", "2k", "4k"]
    assert (
        figure.layout.xaxis.range == draw(RESULTS, lengths=LENGTHS, theme=LIGHT, text=say).layout.xaxis.range
    )


@pytest.mark.parametrize("draw", FIGURES)
def test_a_result_of_another_length_is_left_out(draw):
    figure = draw([*RESULTS, result("flash", 512, 1.0)], lengths=LENGTHS, theme=LIGHT, text=say)
    assert all(512 not in trace.x for trace in figure.data)


@pytest.mark.parametrize("draw", FIGURES)
def test_a_chart_without_results_keeps_its_axes_and_says_so(draw):
    figure = draw([], lengths=LENGTHS, theme=LIGHT, text=say)
    assert figure.data == ()
    assert list(figure.layout.xaxis.tickvals) == LENGTHS
    assert "live.chart.empty" in [note.text for note in figure.layout.annotations]


def test_time_has_two_logarithmic_axes_with_ticks_inside_and_throughput_starts_at_zero():
    layout = time_figure(RESULTS, lengths=LENGTHS, theme=LIGHT, text=say).layout
    assert (layout.xaxis.type, layout.yaxis.type) == ("log", "log")
    bottom, top = layout.yaxis.range
    assert len(layout.yaxis.tickvals) > 1
    assert all(bottom <= math.log10(tick) <= top for tick in layout.yaxis.tickvals)
    layout = throughput_figure(RESULTS, lengths=LENGTHS, theme=LIGHT, text=say).layout
    assert layout.yaxis.range[0] == 0.0
    assert layout.yaxis.range[1] >= max(tflops_bounds(each)[1] for each in RESULTS)


def test_hovering_tells_everything_and_escapes_what_a_tool_said():
    odd = result("flash_v2", 1024, 0.5, config="64x128 <b> & 4 warps")
    (trace,) = throughput_figure([odd], lengths=LENGTHS, theme=LIGHT, text=say).data
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


@pytest.mark.parametrize(
    "positions", [[0.0], [5.0, 5.0], [0.0, 1.0, 2.0, 100.0], [10.0, 9.0, 50.0, 8.0], [0.0, 17.0, 34.0]]
)
def test_spread_apart_keeps_the_order_the_gap_and_the_mean(positions):
    placed = spread_apart(positions, gap=17)
    order = sorted(range(len(positions)), key=positions.__getitem__)
    assert all(placed[b] - placed[a] >= 17 * (1 - 1e-9) for a, b in itertools.pairwise(order))
    assert sum(placed) == pytest.approx(sum(positions))


def test_spread_apart_moves_nothing_that_has_room():
    assert spread_apart([40.0, 0.0, 20.0], gap=17) == [40.0, 0.0, 20.0]
