"""What every page must do, driven without a browser."""

from __future__ import annotations

import subprocess
import sys

import pytest
from streamlit.testing.v1 import AppTest

from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.frame import HOME, ROOT, existing_pages

TIMEOUT_S = 60


def open_in_app(name: str, **parameters: str) -> AppTest:
    """A page opened from home, as `page_link` needs, with URL parameters."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=TIMEOUT_S)
    for key, value in parameters.items():
        app.query_params[key] = value
    app.run()
    return app if name == HOME else app.switch_page(f"pages/{name}.py").run()


def html_of(app: AppTest) -> str:
    return " ".join(block.proto.body for block in app.get("html"))


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", existing_pages())
def test_every_page_draws_itself_in_both_languages(name: str, language: str) -> None:
    app = open_in_app(name, lang=language)
    assert [error.message for error in app.exception] == []
    assert translate(language, "frame.brand") in html_of(app)


@pytest.mark.parametrize("name", existing_pages())
def test_an_unknown_language_gets_a_sentence_and_english(name: str) -> None:
    app = open_in_app(name, lang="<xx>")
    assert [error.message for error in app.exception] == []
    assert translate("en", "frame.brand") in html_of(app)
    assert app.query_params["lang"] in ("en", ["en"])


def test_plain_python_prints_how_to_start() -> None:
    answer = subprocess.run([sys.executable, "app.py"], cwd=ROOT, capture_output=True, text=True, check=True)
    assert "streamlit run app.py" in answer.stdout
    assert answer.stderr == ""
