"""Home: what this is, and the views that answer its questions. Start it with `streamlit run app.py`."""

from dataclasses import dataclass
from html import escape

import streamlit as st
from streamlit.runtime import exists as served_by_streamlit

from kernels.results import ratio
from pages.shared.frame import HOME, Page, existing_pages, link_to, open_page
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


def draw_home() -> None:
    page = open_page(HOME)
    page.title("home.title", "home.lead")
    facts = {
        "tile_movement": written_by_v1_and_v2,
        "blocks_on_sms": blocks_of_v1_and_v2,
        "live_gpu": speed_over_sdpa_flash,
    }
    views = existing_pages()[1:]
    for name, column in zip(views, st.columns(len(views)), strict=True):
        with column, st.container(key=f"fa-view-{name}", height="stretch"):
            _draw_view(page, name, facts[name](page))


@dataclass(frozen=True, slots=True)
class Fact:
    """One sentence with numbers, and where they come from."""

    sentence: str
    provenance: str


def written_by_v1_and_v2(page: Page) -> Fact:
    """What the two algorithms write to HBM for one head."""
    v1, v2 = (
        format_traffic(traffic_of(trace(ONE_HEAD, TILE)).written_bytes)
        for trace in (trace_flash_v1, trace_flash_v2)
    )
    sentence = page.text("home.tile_movement.fact", v1=v1, v2=v2, n=ONE_HEAD.query_len, d=ONE_HEAD.head_dim)
    return Fact(sentence, page.text("home.exact"))


def blocks_of_v1_and_v2(page: Page) -> Fact:
    """How many thread blocks the two algorithms launch, beside the SMs there are."""
    heads, gpu = EIGHT_HEADS.query_heads, gpu_named("h200")
    v2 = heads * query_tile_count(EIGHT_HEADS, ROW_BLOCK)
    sentence = page.text("home.blocks_on_sms.fact", v1=heads, v2=v2, sms=gpu.sm_count, gpu=gpu.name)
    return Fact(sentence, page.text("home.exact"))


def speed_over_sdpa_flash(page: Page) -> Fact | None:
    """How our kernel did against SDPA flash on every problem of the recording; None where none is shipped."""
    recording = next(iter(recordings("forward")), None)
    if recording is None:
        return None
    results = [result for result in recording.results if result.dtype == "float16"]
    flash = {result.shape: result for result in results if result.implementation == "flash"}
    ours = [result for result in results if result.implementation == "flash_v2"]
    ratios = [ratio(result, flash[result.shape]).value for result in ours]
    lengths = [result.shape.query_len for result in ours]
    sentence = page.text(
        "home.live_gpu.fact",
        count=len(ours),
        shortest=min(lengths),
        longest=max(lengths),
        low=min(ratios),
        high=max(ratios),
    )
    where = {"gpu": recording.environment.gpu, "date": recording.environment.date[:10]}
    return Fact(sentence, page.text("home.measured", **where))


def _draw_view(page: Page, name: str, fact: Fact | None) -> None:
    question, lead = (escape(page.text(f"home.{name}.{part}")) for part in ("question", "lead"))
    answer = (
        f"<p class='fa-fact'>{escape(fact.sentence)} <span>{escape(fact.provenance)}</span></p>"
        if fact
        else ""
    )
    st.html(f"<div class='fa-view'><h2>{question}</h2><p>{lead}</p>{answer}</div>")
    link_to(page, name, page.text("home.open", view=page.text(f"frame.page.{name}")))


if served_by_streamlit():
    draw_home()
else:
    print("This is a Streamlit app. Start it with: streamlit run app.py")
