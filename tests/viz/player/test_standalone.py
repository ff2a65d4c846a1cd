"""A walk in one file: small, with all that it plays in it, and nothing fetched from anywhere."""

from __future__ import annotations

import gzip
import json
import re
from base64 import b64decode
from struct import unpack_from
from typing import Any

import numpy as np
import pytest

from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.tile_movement.player_data import Host, player_data
from simulator import AttentionShape, TileShape, trace_flash_v1, trace_flash_v2
from simulator.gpu import gpu_named
from viz.packing import pack_data, script_of, style_of
from viz.player import ASSET
from viz.player.scene import walk_of
from viz.player.standalone import FileText, standalone_html

SHAPE, TILE = AttentionShape(1000, 600, 63), TileShape(100, 64)
TRACES = [trace_flash_v1(SHAPE, TILE), trace_flash_v2(SHAPE, TILE)]
TEXT = FileText("en", "<V1> & V2", "a problem", ("exact", "modelled"), "no script")
MOST_BYTES = 150_000
MOST_SENT_BYTES = 60_000
DEFLATED = re.compile(r'inflate\("([A-Za-z0-9+/=]+)"\)|asText\("([A-Za-z0-9+/=]+)"\)')


def data_in(language: str = "en") -> dict[str, Any]:
    def say(key: str, **values: object) -> str:
        return translate(language, key, **values)

    walks = [walk_of(trace) for trace in TRACES]
    return player_data(
        say, walks, gpu_named("h200"), clock="bytes", time=0, key="file", language=language, host=Host.FILE
    )


def parts_of(page: str) -> list[bytes]:
    """Style, script and data."""
    return [gzip.decompress(b64decode(one or other)) for one, other in DEFLATED.findall(page)]


@pytest.mark.parametrize("language", LANGUAGES)
def test_two_walks_of_five_hundred_steps_fit_in_150_kb(language: str) -> None:
    assert min(len(trace) for trace in TRACES) > 500
    assert len(standalone_html(data_in(language), TEXT).encode()) <= MOST_BYTES


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_a_page_sends_for_two_walks_of_five_hundred_steps_fits_in_60_kb(language: str) -> None:
    assert len(pack_data(data_in(language))) <= MOST_SENT_BYTES


def test_the_file_holds_the_script_the_style_and_every_step() -> None:
    style, script, data = parts_of(standalone_html(data_in(), TEXT))
    assert style.decode() == style_of(ASSET)
    assert script.decode() == script_of(ASSET)
    base = 4 + unpack_from("<I", data)[0]
    header = json.loads(data[4:base])
    [start, length] = header["columns"]["columns"]
    block = data[base + start : base + start + length]
    for trace, described in zip(TRACES, header["plain"]["walks"], strict=True):
        first, size = described["columns"]["op"]
        kinds = np.array(described["ops"])[np.frombuffer(block[first : first + size], np.uint8), 0]
        np.testing.assert_array_equal(kinds, trace.steps.kind)


def test_nothing_is_fetched_and_only_a_given_link_leads_out() -> None:
    pages = {
        link: standalone_html(data_in(), TEXT, link=link) for link in ("", "https://flash.example/a?b=1&c=2")
    }
    for link, page in pages.items():
        around = DEFLATED.sub("", page)
        outside = re.findall(r'(?:src|href)\s*=\s*"([^"]*)"|url\(([^)]*)\)|@import', around)
        assert [target for target, _ in outside] == ([link.replace("&", "&amp;")] if link else [])


def test_what_is_said_is_text_and_never_markup() -> None:
    assert "<title>&lt;V1&gt; &amp; V2</title>" in standalone_html(data_in(), TEXT)


def test_equal_walks_make_equal_files() -> None:
    assert standalone_html(data_in(), TEXT) == standalone_html(data_in(), TEXT)
