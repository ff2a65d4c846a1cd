"""A link leads to exactly this state, and a QR code is drawn only where others can follow it."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest
import segno
from streamlit.testing.v1 import AppTest

from pages.shared.address import read_address
from pages.shared.frame import Page
from pages.shared.tile_movement.settings import TileSettings
from pages.shared.tile_movement.take_along import PUBLIC_ADDRESS, link_to_state, public_address
from viz.theme import LIGHT

APP = Path(__file__).resolve().parents[4] / "app.py"
PAGE = Page("tile_movement", "zh", LIGHT)


def test_a_link_gives_back_the_settings_and_the_language(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PUBLIC_ADDRESS, "https://flash.example/")
    settings = TileSettings(query_len=300, causal=True, clock="time", modelled_fs=123_456)
    link = urlsplit(link_to_state(PAGE, settings))
    assert (link.scheme, link.netloc, link.path) == ("https", "flash.example", "/tile_movement")
    parameters = {name: values[0] for name, values in parse_qs(link.query).items()}
    assert parameters.pop("lang") == "zh"
    assert read_address(TileSettings, parameters) == (settings, [])


def test_an_address_that_is_none_is_refused_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(PUBLIC_ADDRESS, "flash.example")
    with pytest.raises(ValueError, match=r"FLASH_PUBLIC_ADDRESS must start with http.*got flash\.example"):
        public_address()


def drawn_html() -> list[str]:
    app = AppTest.from_file(str(APP), default_timeout=60)
    app.query_params["lang"] = "en"
    app.run().switch_page("pages/tile_movement.py").run()
    assert not app.exception
    return [str(element.proto.body) for element in app.get("html")]


def test_the_qr_code_is_of_the_link_and_needs_a_public_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PUBLIC_ADDRESS, raising=False)
    assert not [body for body in drawn_html() if "data:image/svg" in body]
    monkeypatch.setenv(PUBLIC_ADDRESS, "https://flash.example")
    link = "https://flash.example/tile_movement?lang=en"
    code = segno.make(link, error="m").svg_data_uri(scale=3, border=4, dark="#000", light="#fff")
    [body] = [body for body in drawn_html() if "data:image/svg" in body]
    assert code.replace("&", "&amp;").replace("'", "&#x27;") in body
