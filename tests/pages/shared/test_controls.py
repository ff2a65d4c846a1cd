"""Widgets, session and URL agree: driven on the pages that have a field for a number."""

from __future__ import annotations

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.frame import ROOT, existing_pages

WITH_NUMBERS = [name for name in ("tile_movement", "blocks_on_sms") if name in existing_pages()]


def open_in_app(name: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    return app.switch_page(f"pages/{name}.py").run()


def held_by(app: AppTest) -> str:
    value = app.text_input[0].value
    assert value is not None
    return value


def complaints_of(app: AppTest) -> list[str]:
    return [
        block.proto.body
        for block in app.get("html")
        if "fa-complaint" in block.proto.body.split("<style>")[0]
    ]


def address_of(app: AppTest) -> set[str]:
    return {
        value
        for values in app.query_params.values()
        for value in ([values] if isinstance(values, str) else values)
    }


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_what_a_widget_holds_goes_into_the_address(name: str) -> None:
    app = open_in_app(name)
    wanted = str(int(held_by(app)) + 1)
    app.text_input[0].set_value(wanted).run()
    assert wanted in address_of(app)
    assert complaints_of(app) == []


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_a_default_is_not_in_the_address(name: str) -> None:
    app = open_in_app(name)
    default = held_by(app)
    app.text_input[0].set_value(str(int(default) + 1)).run()
    app.text_input[0].set_value(default).run()
    assert address_of(app) == set()


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_a_bad_value_is_complained_of_once_and_then_forgotten(name: str) -> None:
    app = open_in_app(name)
    default = held_by(app)
    app.text_input[0].set_value("abc").run()
    assert len(complaints_of(app)) == 1
    assert app.text_input[0].value == default
    app.run()
    assert complaints_of(app) == []


@pytest.mark.parametrize("name", WITH_NUMBERS)
def test_an_address_changed_from_outside_rules_over_the_widgets(name: str) -> None:
    app = open_in_app(name)
    default = held_by(app)
    app.text_input[0].set_value(str(int(default) + 1)).run()
    app.query_params.clear()
    app.run()
    assert app.text_input[0].value == default
