import tomllib
from importlib.machinery import ModuleSpec
from importlib.util import find_spec

import pytest

from pages.shared.frame import ROOT, choose_language, require_own_kernels
from viz.theme import DARK, FONT, LIGHT, MONO, Theme


@pytest.mark.parametrize(
    ("asked", "browser", "language"),
    [
        ("zh", "en-US", "zh"),
        ("en", "zh-CN", "en"),
        (None, "zh-CN", "zh"),
        (None, "zh_TW", "zh"),
        (None, "ZH", "zh"),
        (None, "en-GB", "en"),
        (None, "fr-FR", "en"),
        (None, None, "en"),
    ],
)
def test_the_language_is_the_one_asked_for_else_the_browsers_else_english(
    asked: str | None, browser: str | None, language: str
) -> None:
    assert choose_language(asked, browser) == (language, None)


@pytest.mark.parametrize("asked", ["xx", "", "EN", "zh-CN", "<b>"])
def test_an_unknown_language_is_complained_of_and_english_is_shown(asked: str) -> None:
    language, complaint = choose_language(asked, "zh-CN")
    assert language == "en"
    assert complaint is not None
    assert complaint.values["name"] == "lang"


@pytest.mark.parametrize("theme", [LIGHT, DARK])
def test_streamlits_own_theme_has_the_colours_of_ours(theme: Theme) -> None:
    config = tomllib.loads((ROOT / ".streamlit" / "config.toml").read_text(encoding="utf-8"))["theme"]
    own = config[theme.name]
    assert own["backgroundColor"] == theme.page
    assert own["secondaryBackgroundColor"] == theme.surface
    assert own["textColor"] == own["primaryColor"] == own["linkColor"] == theme.ink
    assert own["borderColor"] == theme.line
    assert own["grayTextColor"] == theme.ink_2
    assert (config["font"], config["codeFont"]) == (FONT, MONO)


def test_our_kernels_are_accepted_and_those_of_pypi_refused() -> None:
    require_own_kernels(find_spec("kernels"))
    for other in (None, ModuleSpec("kernels", None, origin="/site-packages/kernels/__init__.py")):
        with pytest.raises(ImportError, match="kernels must be the package in"):
            require_own_kernels(other)
