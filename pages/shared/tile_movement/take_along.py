"""What one takes along from the tile page: the walk as a file, its steps as a table, a link to this state."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from urllib.parse import urlencode

import segno
import streamlit as st

from pages.shared.address import write_address
from pages.shared.cached import memory_of, with_numbers
from pages.shared.frame import Page
from pages.shared.tile_movement.kept_values import kept_values, position_on
from pages.shared.tile_movement.player_data import Host, player_data
from pages.shared.tile_movement.settings import TileSettings, clock_of, problem_of, shown_walks, time_of
from pages.shared.tile_movement.words import mask_text
from simulator.gpu import gpu_named
from viz.player.scene import Walk
from viz.player.standalone import FileText, standalone_html
from viz.player.trace_file import traces_csv, traces_json

PUBLIC_ADDRESS = "FLASH_PUBLIC_ADDRESS"  # environment variable: where others reach this app
NOTES = 2
KEPT_STEPS = (0, 1, 4)


def draw_take_along(page: Page, settings: TileSettings, walks: Sequence[Walk]) -> None:
    """Draws the menu. A file is made when it is asked for, not before."""
    gpu = gpu_named(settings.gpu)
    traces = [walk.trace for walk in walks]
    link = link_to_state(page, settings)
    with st.popover(page.text("tiles.take.open"), icon=":material/download:"):
        kept = _choose_kept(page)
        make_file = partial(walk_file, page, settings, walks, kept)
        _draw_file(page, "html", make_file, _file_name(settings), "text/html")
        st.caption(page.text("tiles.take.html.note"))
        _draw_file(page, "json", partial(traces_json, traces, gpu), _file_name(settings), "application/json")
        _draw_file(page, "csv", partial(traces_csv, traces, gpu), _file_name(settings), "text/csv")
        st.caption(page.text("tiles.take.table.note"))
        st.markdown(page.text("tiles.take.link"))
        st.code(link, language=None, wrap_lines=True)
        _draw_code(page, link)


def link_to_state(page: Page, settings: TileSettings) -> str:
    """The address that opens this page as it stands, under the app's public address where it has one."""
    here = f"{address}/{page.name}" if (address := public_address()) else (st.context.url or f"/{page.name}")
    return f"{here.partition('?')[0]}?{urlencode({'lang': page.language, **write_address(settings)})}"


def public_address() -> str:
    """Where others reach the app, without a slash at its end, or nothing; ValueError for no web address."""
    address = os.environ.get(PUBLIC_ADDRESS, "").rstrip("/")
    if address and not address.startswith(("http://", "https://")):
        raise ValueError(f"{PUBLIC_ADDRESS} must start with http:// or https://, got {address}")
    return address


def walk_file(page: Page, settings: TileSettings, walks: Sequence[Walk], kept_steps: int = 0) -> str:
    """The walks as one HTML file that stands where the page stands, with the numbers of some steps."""
    gpu = gpu_named(settings.gpu)
    data = player_data(
        page.text,
        [with_numbers(walk) for walk in walks],
        gpu,
        clock=clock_of(settings),
        time=time_of(settings),
        key="file",
        language=page.language,
        host=Host.FILE,
    )
    if kept_steps:
        positions = [position_on(data["clock"], data["time"], walk.trace, gpu) for walk in walks]
        replayed = [(walk.trace, memory_of(walk)) for walk in walks]
        data["kept"] = kept_values(page.text, replayed, positions, kept_steps)
    return standalone_html(
        data, _file_text(page, settings), link=link_to_state(page, settings) if public_address() else ""
    )


def _choose_kept(page: Page) -> int:
    """How many steps' numbers the file keeps, from where the walks stand."""
    names = {0: page.text("tiles.take.kept.none"), 1: page.text("tiles.take.kept.one")} | {
        steps: page.text("tiles.take.kept.some", steps=steps) for steps in KEPT_STEPS[2:]
    }
    chosen: int = st.selectbox(
        page.text("tiles.take.kept"), KEPT_STEPS, format_func=names.__getitem__, key="take-kept"
    )
    return chosen


def _file_text(page: Page, settings: TileSettings) -> FileText:
    shape, tile = problem_of(settings)
    names = [page.text(f"tiles.walk.{name}.name") for name in shown_walks(settings)]
    title = names[0] if len(names) == 1 else page.text("tiles.file.beside", left=names[0], right=names[1])
    lead = page.text(
        "tiles.file.lead",
        queries=f"{shape.query_len:,}",
        keys=f"{shape.key_len:,}",
        head_dim=shape.head_dim,
        query_rows=tile.query_rows,
        key_rows=tile.key_rows,
        causal=mask_text(page.text, shape),
        gpu=gpu_named(settings.gpu).name,
    )
    notes = tuple(page.text(f"tiles.file.note.{number}") for number in range(1, NOTES + 1))
    return FileText(page.language, title, lead, notes, page.text("tiles.file.no_script"))


def _file_name(settings: TileSettings) -> str:
    shape, _ = problem_of(settings)
    return f"{'_'.join(shown_walks(settings))}_n{shape.query_len}_d{shape.head_dim}"


def _draw_file(page: Page, kind: str, make: Callable[[], str], name: str, mime: str) -> None:
    st.download_button(
        page.text(f"tiles.take.{kind}"),
        make,
        file_name=f"{name}.{kind}",
        mime=mime,
        key=f"take-{kind}",
        on_click="ignore",
        width="stretch",
    )


def _draw_code(page: Page, link: str) -> None:
    if not public_address():
        st.caption(page.text("tiles.take.no_code"))
        return
    st.markdown(page.text("tiles.take.code"))
    drawn = segno.make(link, error="m").svg_data_uri(scale=3, border=4, dark="#000", light="#fff")
    st.html(f'<img src="{escape(drawn)}" alt="{escape(page.text("tiles.take.code.alt"))}">')
