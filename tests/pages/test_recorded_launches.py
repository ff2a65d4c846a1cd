"""Recorded launches of every kernel on Blocks on SMs: shipped ones, and made-up ones of the backward and the
decode.
"""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from streamlit.testing.v1 import AppTest

from kernels.counted import total_of
from kernels.recording_plan import DECODES
from pages.shared.blocks_on_sms import recordings
from pages.shared.blocks_on_sms.cards import measured_cards
from pages.shared.blocks_on_sms.comparison import measured_comparison
from pages.shared.blocks_on_sms.order_bytes import order_bytes_card
from pages.shared.blocks_on_sms.panels import measured_timeline
from pages.shared.blocks_on_sms.recorded_words import launch_words, measured_notice, sibling_words
from pages.shared.blocks_on_sms.recordings import (
    DEFAULT_LAUNCH,
    kernel_of,
    own_order,
    placement_of,
    problems_of,
    recorded_kernels,
    recorded_problems,
    refitted,
    shown_placements,
    siblings_of,
    unsplit_of,
)
from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.frame import ROOT
from pages.shared.tile_movement.counted import recorded_walks
from simulator.launch import BY_COLUMN, Kernel, Order
from simulator.modelled_run import error_of, is_beyond_claim
from tests.pages.fake_placements import HEADS, SMS, write_fakes
from viz.units import format_traffic

CACHED = (
    recordings.recorded_problems,
    recordings.problems_of,
    recordings.placement_of,
    recordings.refitted,
    recordings.transferred,
)
BACKWARD = (*BY_COLUMN, Kernel.V2_QUERY_GRADIENTS)


def page_in(language: str):
    return SimpleNamespace(text=lambda key, **values: translate(language, key, **values))


@pytest.fixture
def made_up(monkeypatch, tmp_path):
    """Made-up recordings in the place of those we ship."""
    write_fakes(tmp_path)
    for function in CACHED:
        function.cache_clear()
    monkeypatch.setattr(recordings, "RECORDED", tmp_path)
    yield
    for function in CACHED:
        function.cache_clear()


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_sentence_of_every_kernel_s_launches_can_be_said(made_up, language):
    page = page_in(language)
    assert set(recorded_kernels()) == {*BACKWARD, *DECODES}
    for problem in recorded_problems():
        placements = shown_placements(problem, Order.LONGEST_FIRST, 1)
        assert len(placements) == 1
        said = [measured_notice(page, problem, placements), launch_words(page, problem)]
        data = measured_timeline(page, problem, placements)
        said += [panel[text] for panel in data["panels"] for text in ("grid_text", "block_text", "owns_text")]
        said += [data["columns"][0]["note"]]
        cards = measured_cards(page, problem, placements)
        said += [line for card in cards for line in card.lines]
        assert all(said)
        assert len(cards[1].tables[0].rows) == len(siblings_of(problem))


def test_launches_are_named_apart(made_up):
    page = page_in("en")
    assert len({launch_words(page, problem) for problem in recorded_problems()}) == len(recorded_problems())
    for problem in recorded_problems():
        rows = [sibling_words(page, name, order) for name, order in siblings_of(problem)]
        assert len(set(rows)) == len(rows)


def test_the_fit_finds_the_times_that_launches_were_made_with(made_up):
    """3 µs a block and 1 µs a tile pair; where all blocks are equal the two cannot be told apart."""
    for problem in recorded_problems():
        placement = placement_of(problem, own_order(problem), 1)
        pace, model = refitted(problem, own_order(problem), 1)
        error = error_of(model, placement.schedule)
        assert abs(error.makespan_fraction) <= 0.03
        assert abs(error.busy_difference) <= 0.02
        if placement.shape.causal:
            assert pace.per_tile_s == pytest.approx(1e-6, rel=0.03)
            assert pace.fixed_s == pytest.approx(3e-6, rel=0.1)


def test_siblings_are_launches_of_one_kernel_mask_and_sharing_of_heads(made_up):
    for kernel in BACKWARD:
        assert [len(siblings_of(problem)) for problem in problems_of(kernel)] == [len(HEADS)] * 4
    splits = [placement_of(*each, 1).launch.grid[1] for each in siblings_of("flash_decoding_4")]
    assert splits == [1, 4, 16]


def test_a_split_decode_is_shown_beside_the_one_that_it_replaced(made_up):
    """8 query heads share 2 KV heads: unsplit has 8 blocks, four splits have as many, 16 fill the SMs."""
    assert unsplit_of("flash_decoding_16") == "unsplit_decode_1"
    placements = shown_placements("flash_decoding_16", Order.REVERSED, 1)
    notice = measured_notice(page_in("en"), "flash_decoding_16", placements)
    assert f"32 blocks on {SMS} SMs" in notice
    assert "left 0 SMs without one" in notice
    assert "8 blocks took 67" in notice  # 3 µs and 64 tiles of 1 µs


def test_only_a_part_of_an_output_is_drawn_as_one(made_up):
    """One split has all of the keys, so its output is whole; several leave parts to be merged."""
    use = {}
    for splits in (1, 4):
        problem = f"flash_decoding_{splits}"
        data = measured_timeline(page_in("en"), problem, shown_placements(problem, Order.REVERSED, 1))
        use[splits] = {strip["letter"]: strip["use"] for strip in data["panels"][0]["strips"]}["O"]
    assert use == {1: "owned", 4: "added"}


def test_atomic_adds_alone_have_a_part_in_dq(made_up):
    for kernel in BY_COLUMN:
        problem = problems_of(kernel)[0]
        data = measured_timeline(page_in("en"), problem, shown_placements(problem, Order.REVERSED, 1))
        letters = [strip["letter"] for strip in data["panels"][0]["strips"]]
        assert ("dQ" in letters) == (kernel is Kernel.V2_BACKWARD)


def test_a_card_says_what_noting_cost_where_that_was_timed(made_up):
    """Of the shipped launches all were timed both ways, of the made-up ones none."""
    problem = next(iter(recorded_problems()))
    card = measured_cards(page_in("en"), problem, shown_placements(problem, Order.REVERSED, 1))[0]
    assert not any("without notes" in line for line in card.lines)


def test_a_card_of_a_shipped_launch_says_what_noting_cost():
    facts = recorded_problems()[DEFAULT_LAUNCH][Order.NATURAL].launch.facts
    assert facts.noting_ms
    assert facts.plain_ms
    card = measured_cards(page_in("en"), DEFAULT_LAUNCH, shown_placements(DEFAULT_LAUNCH, Order.REVERSED, 1))[
        0
    ]
    more = f"{100 * (facts.noting_ms / facts.plain_ms - 1):+.1f} %".replace("-", "−")
    assert more in card.lines[-1]


@pytest.mark.parametrize("language", LANGUAGES)
def test_launches_that_the_model_misses_are_told(language):
    page, told = page_in(language), {}
    for problem in (*problems_of(Kernel.FLASH_DECODING), *problems_of(Kernel.V2_QUERY_GRADIENTS)):
        placements = shown_placements(problem, Order.REVERSED, 1)
        error = error_of(refitted(problem, own_order(problem), 1)[1], placements[0].schedule)
        told[problem] = len(measured_comparison(page, problem, placements).lines) == 3
        assert told[problem] == is_beyond_claim(error), problem
    assert sum(told.values()) == 4


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_orders_cost_is_what_was_counted(language):
    card = order_bytes_card(page_in(language))
    counted = {each.order: total_of(each.call) for each in recorded_walks() if each.call.shape.causal}
    assert [row[1] for row in card.tables[0].rows] == [
        format_traffic(total.dram_read) for total in counted.values()
    ]
    assert len(counted) == len(Order)
    assert "d = 64" in card.lines[0]


def test_the_orders_cost_stands_with_a_causal_forward_alone():
    titles = {}
    for problem in (DEFAULT_LAUNCH, "v2_forward_d64_full_8x1024", "v1_forward_d64_full_8x1024"):
        cards = measured_cards(page_in("en"), problem, shown_placements(problem, Order.REVERSED, 1))
        titles[problem] = [card.title for card in cards]
    assert [len(each) for each in titles.values()] == [3, 2, 2]


def test_another_kernel_brings_its_own_first_launch():
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60)
    app.query_params["view"] = "measured"
    app.run()
    app.switch_page("pages/blocks_on_sms.py").run()
    kernels = app.selectbox(key="fa-control-blocks_on_sms-kernel")
    assert kernels.value == kernel_of(DEFAULT_LAUNCH) == Kernel.V2_FORWARD
    kernels.select(Kernel.V1_FORWARD.value).run()
    assert [error.message for error in app.exception] == []
    launch = app.selectbox(key="fa-control-blocks_on_sms-launch")
    assert launch.value == problems_of(Kernel.V1_FORWARD)[0]
    assert len(launch.options) == len(problems_of(Kernel.V1_FORWARD))
    assert app.query_params["launch"] == launch.value
