"""What Blocks on SMs takes for settings, and what it says of them."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from math import prod
from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from kernels.device import DeviceProperties, to_json
from kernels.environment import why_unavailable
from kernels.results import tflops
from pages.shared.blocks_on_sms import device_here, launch_now
from pages.shared.blocks_on_sms.building import build_words
from pages.shared.blocks_on_sms.cards import measured_cards, model_cards
from pages.shared.blocks_on_sms.gpus import gpus_card
from pages.shared.blocks_on_sms.near_peak import blocks_seen, fastest_forward, near_peak_words
from pages.shared.blocks_on_sms.occupancy import curves_of
from pages.shared.blocks_on_sms.panels import measured_timeline, modelled_timeline
from pages.shared.blocks_on_sms.recorded_words import fitted_assumptions, measured_notice
from pages.shared.blocks_on_sms.recordings import (
    DEFAULT_LAUNCH,
    made_here,
    own_order,
    pace_source,
    placement_of,
    recorded_problems,
    shown_placements,
    siblings_of,
)
from pages.shared.blocks_on_sms.resolve import MOST_BLOCKS, resolve
from pages.shared.blocks_on_sms.runs import code_splits, cuts_of, grid_of, model_runs, resources_of
from pages.shared.blocks_on_sms.settings import (
    BACKWARD,
    DECODING,
    NOW,
    ROW_CHOICES,
    V1,
    V1_SPLIT,
    VIEWS,
    WHAT_IF,
    Settings,
    gpu_of,
    shape_of,
)
from pages.shared.blocks_on_sms.sizes import busy_by_heads, busy_by_length
from pages.shared.blocks_on_sms.strip import shown_names
from pages.shared.blocks_on_sms.words import assumptions, model_notice
from pages.shared.catalogue import LANGUAGES, load_catalogue, translate
from pages.shared.frame import ROOT
from pages.shared.live_gpu import probe
from simulator.gpu import GPUS
from simulator.launch import Order, plan_launch
from simulator.roof import AMD_GPUS, ridge_flop_per_byte
from simulator.schedule import busy_fraction

PAIRS = (V1, V1_SPLIT, BACKWARD, DECODING)


def page_in(language: str):
    return SimpleNamespace(text=lambda key, **values: translate(language, key, **values))


@pytest.mark.parametrize("gpu", GPUS)
@pytest.mark.parametrize("rows", ROW_CHOICES)
@pytest.mark.parametrize("pair", PAIRS)
def test_whatever_is_asked_for_ends_in_runs_that_fit(gpu, rows, pair):
    for head_dim in (1, 64, 65, 128, 129, 256):
        settings, _ = resolve(
            Settings(
                gpu=gpu, compare=pair, rows=rows, head_dim=head_dim, batch=4096, heads=65_535, length=1000
            )
        )
        assert sum(prod(grid_of(cut)) for cut in cuts_of(settings)) <= MOST_BLOCKS
        model_runs(replace(settings, batch=1, heads=2, splits=settings.splits and 1))


@pytest.mark.parametrize("pair", PAIRS)
def test_settings_that_fit_are_left_alone_in_silence(pair):
    assert resolve(Settings(compare=pair)) == (Settings(compare=pair), [])


def test_as_many_blocks_as_a_picture_holds_are_shown_and_no_more():
    most = Settings(length=128, heads=1000, batch=500)  # one block for V1 and one for V2 to a head
    assert resolve(most) == (most, [])
    fewer, complaints = resolve(replace(most, batch=501))
    assert (fewer.batch, fewer.heads, complaints[0].key) == (500, 1000, "sms.too_many_blocks")


def test_a_grid_beyond_the_hardware_is_told_by_its_axis():
    settings, complaints = resolve(Settings(compare=DECODING, batch=66, heads=1000, length=1))
    assert (complaints[0].key, complaints[0].values["blocks"]) == ("sms.grid_limit.z", "66,000")
    assert settings.batch * settings.heads <= 65_535


def test_the_longest_sequence_in_the_smallest_blocks_is_not_refused():
    settings = Settings(length=131_072, rows="32", heads=2)
    assert resolve(settings) == (settings, [])
    assert prod(model_runs(settings)[1].launch.grid) == 8192


def test_what_does_not_fit_a_block_is_told_in_bytes_of_that_gpu():
    settings, complaints = resolve(Settings(gpu="rtx-4090", head_dim=256))
    assert (settings.rows, complaints[0].key) == ("64", "sms.cannot_launch.shared")
    assert (complaints[0].values["needed"], complaints[0].values["available"]) == ("128 KB", "99 KB")


@pytest.mark.parametrize(
    ("changed", "key", "back"),
    [
        ({"shared": 300_000}, "sms.by_hand.shared", {"shared": 0}),
        ({"stages": 8}, "sms.by_hand.shared", {"stages": 1}),
        ({"threads": 1024, "registers": 128}, "sms.by_hand.registers", {"threads": 0, "registers": 0}),
    ],
)
def test_a_block_changed_by_hand_that_cannot_launch_goes_back_to_the_kernel_s_own(changed, key, back):
    settings, complaints = resolve(Settings(view=WHAT_IF, **changed))
    assert settings == Settings(view=WHAT_IF, **{**changed, **back})
    assert [complaint.key for complaint in complaints] == [key]


def test_numbers_changed_by_hand_count_only_in_the_view_for_them():
    changed = Settings(threads=256, registers=64, shared=1000, stages=2, key_rows="32")
    cut = cuts_of(changed)[1]
    assert resources_of(cut, changed) == resources_of(cut, Settings())
    by_hand = resources_of(cut, replace(changed, view=WHAT_IF))
    assert (by_hand.threads, by_hand.registers_per_thread, by_hand.shared_bytes) == (256, 64, 1000)


@pytest.mark.parametrize("pair", [V1_SPLIT, DECODING])
@pytest.mark.parametrize("splits", [1, 7, 31, 128])
def test_splits_that_would_have_no_work_are_fewer(pair, splits):
    settings, complaints = resolve(Settings(compare=pair, splits=splits, length=1000))
    runs = model_runs(settings)
    assert min(run.launch.work_tiles.min() for run in runs) > 0
    assert settings.splits <= splits
    assert bool(complaints) == (settings.splits != splits)


def test_splits_nobody_asked_for_are_those_of_the_code():
    """flash-attn's rule for 32 heads, 128 key tiles and 2 x 132 SMs: the fewest that fill 85 % as well."""
    settings = Settings(compare=DECODING, heads=32, length=16_384)
    assert cuts_of(settings)[1].splits == code_splits(settings) == 7


def test_a_gpu_that_was_typed_in_is_the_one_in_the_table_with_those_numbers():
    typed = Settings(gpu="typed", capability="9.0", sm_count=132, bandwidth=4800, peak=989, l2=50)
    same = [model_runs(each)[1].schedule.end_s.max() for each in (typed, Settings(gpu="h200"))]
    assert same[0] == same[1]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("pair", PAIRS)
def test_every_sentence_of_the_model_can_be_said(language, pair):
    for settings in (
        Settings(compare=pair),
        resolve(Settings(compare=pair, gpu="t4", batch=20, head_dim=64, rows="64", causal=False))[0],
        Settings(compare=pair, gpu="typed", view=WHAT_IF, registers=100),
    ):
        page, gpu, cuts, runs = page_in(language), gpu_of(settings), cuts_of(settings), model_runs(settings)
        assert model_notice(page, runs, gpu)
        assert len(assumptions(page, runs, gpu)) == 9
        assert len(model_cards(page, runs, cuts, gpu)) == 2
        data = modelled_timeline(page, runs, cuts, shape_of(settings), gpu)
        assert "{sm}" in data["panels"][0]["block_text"]
        assert all(translate(language, f"sms.control.{name}") for name in shown_names(settings))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(("batch", "heads", "length"), [(1, 1, 1), (3, 5, 65), (2, 17, 1000)])
def test_a_grid_that_is_built_ends_each_step_on_the_blocks_of_so_many_heads(
    language, pair, batch, heads, length
):
    settings = resolve(Settings(compare=pair, batch=batch, heads=heads, length=length, rows="64"))[0]
    for cut in cuts_of(settings):
        launch = plan_launch(cut.kernel, cut.shape, cut.tile, splits=cut.splits)
        words = build_words(page_in(language), launch, cut.shape, cut.tile, three_axes=True)
        parts = prod(grid_of(cut)) // (batch * heads)
        for said, blocks in zip(words, (parts, parts * heads, parts * heads * batch), strict=True):
            numbers = [int(number.replace(",", "")) for number in re.findall(r"[\d,]*\d", said)]
            assert blocks in (numbers[-1], prod(numbers[-2:]))
        named = "".join(words)
        assert {f"blockIdx.{axis}" for axis in "xyz" if f"blockIdx.{axis}" in named} == {
            f"blockIdx.{axis}" for axis, _ in zip("xyz", launch.axes, strict=False)
        }


def answer_of(monkeypatch, program):
    """Stands in for the child that is asked what the GPU of this machine is."""
    monkeypatch.setattr(probe, "COMMAND", (sys.executable, "-c", program))
    monkeypatch.setattr(device_here, "ask_device", probe.ask_device.__wrapped__)


def test_the_gpu_of_this_machine_is_taken_as_its_properties_tell_it(monkeypatch):
    """A slice with 16 SMs that calls itself an H200: nothing is looked up by name."""
    line = to_json(DeviceProperties("NVIDIA H200", 9, 0, 16, 2048, 65_536, 233_472, 232_448, 1 << 20, 0.0))
    answer_of(monkeypatch, f"print({line!r})")
    settings = Settings(gpu="here", bandwidth=500, peak=100)
    assert resolve(settings) == (settings, [])
    gpu = gpu_of(settings)
    assert (gpu.sm_count, gpu.hbm_bytes_per_s, gpu.fp16_flop_per_s) == (16, 500e9, 100e12)
    assert model_runs(settings)[1].schedule.sm_count == 16
    assert {"bandwidth", "peak"} <= set(shown_names(settings))


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit('torch finds no usable GPU.')", "torch finds no usable GPU."),
        ("print('Traceback')", "line must hold the properties of a device, got Traceback"),
        ("import sys; sys.exit(7)", "exit 7"),
    ],
)
def test_a_machine_without_a_gpu_says_why_and_shows_another(monkeypatch, program, reason):
    answer_of(monkeypatch, program)
    settings, complaints = resolve(Settings(gpu="here"))
    assert (settings, complaints[0].key) == (Settings(), "sms.no_gpu_here")
    assert reason in str(complaints[0].values["reason"])


@pytest.mark.parametrize("view", VIEWS)
def test_every_view_draws_itself_without_a_complaint(view):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["view"] = view
    app.run()
    app.switch_page("pages/blocks_on_sms.py").run()
    assert [error.message for error in app.exception] == []
    assert not [block for block in app.get("html") if 'class="fa-complaint"' in block.proto.body]


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("n=0", "n must be at least 1, got 0; 1 is shown instead."),
        ("h=0&b=0", "h must be at least 1, got 0; 1 is shown instead."),
        ("b=70000&n=1&h=1", "b must be at most 65535, got 70000"),  # y of V2's grid
        ("h=70000&n=1", "h must be at most 65535, got 70000"),  # its z
        ("kernels=decoding&b=66&h=1000", "at most 65,535 blocks along z, got 66,000"),
        ("view=what_if&threads=2048", "threads must be at most 1024, got 2048"),
        ("view=what_if&threads=1024&regs=255", "needs 262,144 registers and a block gets 65,536"),
        ("view=what_if&smem=300000", "needs 293 KB of shared memory and a block gets 227 KB"),
        ("gpu=mi300x", "CUDA&#x27;s occupancy rule fits, got MI300X"),
    ],
)
def test_a_bad_input_costs_a_sentence_with_the_number_and_the_page_goes_on(query, sentence):
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for pair in query.split("&"):
        name, value = pair.split("=")
        app.query_params[name] = value
    app.run()
    app.switch_page("pages/blocks_on_sms.py").run()
    assert any(sentence in said for said in complaints_on(app))
    next(field for field in app.text_input if field.label == "Heads").set_value("2").run()
    assert [error.message for error in app.exception] == []
    assert not complaints_on(app)
    assert any('class="fa-notice"' in block.proto.body for block in app.get("html"))


def complaints_on(app: AppTest) -> list[str]:
    bodies = [block.proto.body for block in app.get("html")]
    return [body for body in bodies if 'class="fa-complaint"' in body]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_gpu_has_a_row_with_its_ridge_and_a_source(language):
    page = page_in(language)
    card = gpus_card(page, Settings(gpu="typed", compare=DECODING))
    rows = card.tables[0].rows
    named = [*(gpu.name for gpu in GPUS.values()), *(f"AMD {gpu.name}" for gpu in AMD_GPUS.values())]
    assert [row[0] for row in rows[1:]] == named
    for row in rows:
        bandwidth, peak, ridge = (float(cell.rstrip("*").replace(",", "")) for cell in row[-3:])
        assert ridge == pytest.approx(1000 * peak / bandwidth, abs=1)
    said = " ".join(card.lines)
    assert all(translate(language, f"sms.source.{key}") in said for key in GPUS)


@pytest.mark.parametrize("asked", AMD_GPUS)
def test_an_amd_gpu_is_told_its_roofline_and_no_slots(asked):
    settings, (complaint,) = resolve(Settings(gpu=asked))
    assert settings == Settings()
    assert complaint.values["gpu"] == AMD_GPUS[asked].name
    assert float(str(complaint.values["ridge"])) == pytest.approx(ridge_flop_per_byte(AMD_GPUS[asked]), abs=1)


def test_low_occupancy_is_shown_beside_a_speed_that_was_measured_at_it():
    """Both from what was recorded: blocks that an SM held in a launch, and the time of the same tiles."""
    found = fastest_forward()
    assert found is not None
    environment, result = found
    words = near_peak_words(page_in("en"))
    assert words is not None
    assert environment.gpu in words
    assert f"{tflops(result):.0f} TFLOP/s" in words
    assert blocks_seen(result.config) >= 1
    assert blocks_seen("tiles that no launch had") == 0


def test_busy_fractions_along_an_axis_are_those_of_the_runs_at_its_places():
    settings = Settings(length=1000)
    along = busy_by_heads(settings)
    for heads in (1, 16, 102):
        runs = model_runs(replace(settings, heads=heads))
        at = along.places.index(heads)
        assert (along.v1[at], along.v2[at]) == tuple(busy_fraction(run.schedule) for run in runs)
    assert busy_by_length(replace(settings, heads=128)).places[-1] < 65_536  # no more blocks than are drawn


def test_an_occupancy_curve_passes_through_the_block_and_ends_where_none_fits():
    page, settings = page_in("en"), Settings(gpu="a100-80")
    launch = model_runs(settings)[1].launch
    registers, shared, threads = curves = curves_of(page, launch, gpu_of(settings))
    for curve in curves:
        at = list(curve.values).index(curve.here[0])
        assert curve.blocks[at] == curve.here[1] == 2
        assert list(curve.blocks) == sorted(curve.blocks, reverse=True)
    assert min(registers.blocks) == 2
    assert (shared.blocks[-2], shared.blocks[-1], threads.blocks[-1]) == (1, 0, 0)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("problem", recorded_problems())
def test_every_sentence_of_a_measurement_can_be_said(language, problem):
    page, placements = page_in(language), shown_placements(problem, Order.LONGEST_FIRST, 1)
    assert measured_notice(page, problem, placements)
    data = measured_timeline(page, problem, placements)
    assert len(data["panels"]) == 2 * len(placements)
    assert len(data["comparison"]["tables"]) == len(placements)
    assert fitted_assumptions(page)


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_launch_of_a_kernel_stands_in_the_table_of_times(language):
    cards = measured_cards(
        page_in(language), DEFAULT_LAUNCH, shown_placements(DEFAULT_LAUNCH, Order.LONGEST_FIRST, 1)
    )
    assert len(cards[1].tables[0].rows) == len(siblings_of(DEFAULT_LAUNCH)) == 12


def test_v1_s_card_says_how_far_its_tiles_differ():
    """8 and 32 heads keep O in L2 and 132 do not: about 2 µs a tile pair against more than 3."""
    problem = "v1_forward_d64_full_8x1024"
    cards = measured_cards(page_in("en"), problem, shown_placements(problem, Order.NATURAL, 1))
    sentence = next(line for line in cards[1].lines if "V1's paces" in line)
    assert re.search(r"takes from 1\.\d+ µs to [34]\.\d+ µs", sentence)


def test_every_kept_run_of_every_launch_can_be_shown():
    """Each problem is named once, and its launches are of one kernel, shape and tile."""
    for problem, orders in recorded_problems().items():
        assert own_order(problem) in orders
        for order, kept in orders.items():
            runs = [placement_of(problem, order, run + 1) for run in range(len(kept.launch.facts.kept))]
            assert [run.launch_number for run in runs] == list(kept.launch.facts.kept)
            assert {run.shape for run in runs} == {placement_of(problem, own_order(problem), 1).shape}


def test_paces_come_from_the_smallest_launch_that_fills_an_sm_as_full_as_any():
    for problem in recorded_problems():
        source = placement_of(*pace_source(problem), 1)
        for name, order in siblings_of(problem):
            other = placement_of(name, order, 1)
            assert other.schedule.slots_per_sm <= source.schedule.slots_per_sm
            if order is own_order(name) and len(other.blocks) < len(source.blocks):
                assert other.schedule.slots_per_sm < source.schedule.slots_per_sm


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("gpu", GPUS.values(), ids=GPUS)
def test_every_gpu_has_its_source_and_its_nominal_fields_in_words(language, gpu):
    assert translate(language, f"sms.source.{gpu.key}")
    assert all(translate(language, f"sms.field.{name}") for name in gpu.nominal)


def test_both_languages_hold_the_same_strings_of_the_page():
    catalogues = [load_catalogue(language)._catalog for language in LANGUAGES]
    keys = [{key for key in catalogue if str(key).startswith("sms.")} for catalogue in catalogues]
    assert keys[0] == keys[1]


RECORDER = """
import sys
from pathlib import Path

import numpy as np

from kernels.placements import LaunchFacts, RecordedLaunch, RecordedOn, write_launches

arguments = dict(zip(sys.argv[1::2], sys.argv[2::2]))
heads, length = int(arguments["--heads"]), int(arguments["--lengths"])
blocks = heads * -(-length // 64)
on = RecordedOn("a GPU", 4, "1", "2", "3", "3.11", "2026-12", "", "", "", "2026-12-01T00:00:00+00:00")
launches = [
    RecordedLaunch(
        LaunchFacts(
            f"v2_{order}", "v2_forward", 1, heads, length, int(arguments["--head-dims"]),
            arguments["--causal"] == "yes", 64, 64, order, 1, 1, (1,),
        ),
        (np.arange(blocks) % 4)[None],
        (np.arange(blocks) // 4 * 1000)[None],
        (np.arange(blocks) // 4 * 1000 + 900)[None],
    )
    for order in arguments["--orders"].split(",")
]
write_launches(Path(arguments["--out"]), on, launches)
"""


@pytest.fixture
def nothing_made():
    made_here().clear()
    yield
    made_here().clear()


def test_a_launch_made_now_is_shown_as_the_launch_that_it_was(monkeypatch, nothing_made):
    monkeypatch.setattr(launch_now, "COMMAND", (sys.executable, "-c", RECORDER))
    settings = Settings(view="measured", launch=NOW, heads=3, length=200, head_dim=64, causal=False)
    assert launch_now.make_launches(settings) is None
    problem = next(iter(made_here()))
    placements = shown_placements(problem, Order.REVERSED, 1)
    assert [each.order for each in placements] == [Order.NATURAL, Order.REVERSED]
    assert (placements[0].shape.query_len, placements[0].shape.query_heads) == (200, 3)
    assert placements[0].schedule.sm_count == 4
    for language in LANGUAGES:
        assert len(measured_timeline(page_in(language), problem, placements)["panels"]) == 4
        assert len(measured_cards(page_in(language), problem, placements)) == 1


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; sys.exit('CUDA out of memory')", "CUDA out of memory"),
        ("import sys; sys.exit(9)", "exit 9"),
    ],
)
def test_a_launch_that_fails_says_why_and_leaves_nothing(monkeypatch, nothing_made, program, reason):
    monkeypatch.setattr(launch_now, "COMMAND", (sys.executable, "-c", program))
    complaint = launch_now.make_launches(Settings(launch=NOW))
    assert complaint is not None
    assert complaint.values["reason"] == reason
    assert made_here() == {}


def test_one_launch_goes_at_a_time_and_none_while_the_live_page_measures(monkeypatch, nothing_made):
    monkeypatch.setattr(launch_now, "COMMAND", (sys.executable, "-c", RECORDER))
    settings = Settings(launch=NOW, heads=2, length=64, head_dim=64)
    with launch_now._lock():
        busy = launch_now.make_launches(settings)
    monkeypatch.setattr(launch_now, "the_queue", lambda: SimpleNamespace(is_busy=lambda: True))
    measuring = launch_now.make_launches(settings)
    assert [each and each.key for each in (busy, measuring)] == ["sms.now.another", "sms.now.measuring"]
    assert made_here() == {}
    monkeypatch.setattr(launch_now, "the_queue", lambda: SimpleNamespace(is_busy=lambda: False))
    assert launch_now.make_launches(settings) is None


def test_without_a_gpu_the_recorder_says_what_is_missing(nothing_made):
    """The real child, on a machine without a GPU; with one it would launch."""
    unavailable = why_unavailable()
    if unavailable is None:
        pytest.skip("there is a GPU here")
    complaint = launch_now.make_launches(Settings(launch=NOW))
    assert complaint is not None
    assert complaint.values["reason"] == unavailable.reason


def test_the_page_waits_for_the_button_before_it_shows_a_launch_made_now(monkeypatch, nothing_made):
    monkeypatch.setattr(launch_now, "COMMAND", (sys.executable, "-c", RECORDER))
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    for name, value in {"view": "measured", "launch": NOW, "h": "3", "n": "200", "d": "64"}.items():
        app.query_params[name] = value
    app.run()
    app.switch_page("pages/blocks_on_sms.py").run()
    assert not any("(measured)" in block.proto.body for block in app.get("html"))
    app.button(key="blocks_on_sms.launch-now").click().run()
    assert [error.message for error in app.exception] == []
    assert any("(measured)" in block.proto.body for block in app.get("html"))
