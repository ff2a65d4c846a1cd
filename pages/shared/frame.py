"""The frame of every page: settings, language, theme, styles, menu. `open_page` is a page's first call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path

import streamlit as st

from pages.shared.address import Complaint, shortened
from pages.shared.catalogue import LANGUAGES, translate
from pages.shared.components import mount
from viz.theme import LIGHT, THEMES, Theme, css_variables

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
DEFAULT_LANGUAGE = "en"
HOME = "home"
PAGES = (HOME, "tile_movement", "blocks_on_sms", "live_gpu")  # in menu order


@dataclass(frozen=True)
class Page:
    """A page that is open: its name, and the language and theme it is drawn in."""

    name: str
    language: str
    theme: Theme

    def text(self, key: str, **values: object) -> str:
        """The string of a catalogue key in the page's language; an unknown key raises `MissingTextError`."""
        return translate(self.language, key, **values)

    def title(self, title_key: str, lead_key: str) -> None:
        """Draws the title line: the page's name and one sentence of what it shows."""
        title, lead = escape(self.text(title_key)), escape(self.text(lead_key))
        st.html(f'<div class="fa-title"><h1>{title}</h1><p>{lead}</p></div>')

    def complain(self, complaints: Sequence[Complaint]) -> None:
        """Draws one sentence for each value that was not taken.

        Always takes one place on the page: what follows must keep its own, or its players would start anew.
        """
        sentences = (escape(self.text(complaint.key, **complaint.values)) for complaint in complaints)
        paragraphs = "".join(
            f'<p class="fa-complaint" role="status">{sentence}</p>' for sentence in sentences
        )
        place = st.empty()
        if paragraphs:
            place.html(paragraphs)


def open_page(name: str) -> Page:
    """Sets the page up and draws its menu; ImportError if another package called `kernels` is in the way.

    The language is `?lang=`, else the browser's; the theme is the one Streamlit draws in.
    """
    require_own_kernels(find_spec("kernels"))
    language, complaint = choose_language(st.query_params.get("lang"), st.context.locale)
    if complaint is not None:
        st.query_params["lang"] = language
    page = Page(name, language, THEMES.get(st.context.theme.type or "", LIGHT))
    title = (
        page.text("frame.brand")
        if name == HOME
        else f"{page.text(f'frame.page.{name}')} · {page.text('frame.brand')}"
    )
    st.set_page_config(page_title=title, layout="wide", initial_sidebar_state="collapsed")
    st.html(f"<style>:root {{ {css_variables(page.theme)} }}\n{_style()}</style>")
    _draw_menu(page)
    page.complain([complaint] if complaint else [])
    return page


def require_own_kernels(spec: ModuleSpec | None) -> None:
    """Raises ImportError unless `kernels` is this project's: PyPI has another package of that name."""
    found = spec.origin if spec else None
    if found is None or not Path(found).is_relative_to(ROOT / "kernels"):
        raise ImportError(f"kernels must be the package in {ROOT}, got {found}")


def choose_language(asked: str | None, browser: str | None) -> tuple[str, Complaint | None]:
    """A language of `LANGUAGES`: the one asked for, else the browser's, else English.

    An unknown one that was asked for is complained of, and gives English.
    """
    if asked in LANGUAGES:
        return asked, None
    if asked is not None:
        values = {
            "name": "lang",
            "value": shortened(asked),
            "options": ", ".join(LANGUAGES),
            "shown": DEFAULT_LANGUAGE,
        }
        return DEFAULT_LANGUAGE, Complaint("address.unknown_choice", values)
    primary = (browser or "").lower().replace("_", "-").split("-")[0]
    return (primary if primary in LANGUAGES else DEFAULT_LANGUAGE), None


def remember_address(page: Page, parameters: Mapping[str, str]) -> None:
    """Puts a page's settings in the URL, and keeps them for the links by which the menu comes back to it."""
    st.session_state[_address_key(page.name)] = dict(parameters)
    language = st.query_params.get("lang")
    wanted = {**({"lang": page.language} if language is not None else {}), **parameters}
    if st.query_params.to_dict() != wanted:
        st.query_params.from_dict(wanted)


def remembered_address(page: Page) -> dict[str, str] | None:
    """The settings this session last put in the URL of a page; None before the first time."""
    return st.session_state.get(_address_key(page.name))


def link_to(page: Page, target: str, label: str, parameters: Mapping[str, str] | None = None) -> None:
    """Draws a link to another page, in this language, with `parameters` or what was set there before."""
    asked = st.query_params.get("lang")
    language = {"lang": page.language} if asked is not None else {}
    settings = st.session_state.get(_address_key(target), {}) if parameters is None else parameters
    st.page_link(_script(target), label=label, query_params={**language, **settings})


def existing_pages() -> list[str]:
    """The pages of the menu that this checkout has."""
    return [name for name in PAGES if (ROOT / _script(name)).exists()]


def _draw_menu(page: Page) -> None:
    with st.container(key="fa-menu", horizontal=True, vertical_alignment="center", gap=None):
        st.html(f'<span class="fa-brand">{escape(page.text("frame.brand"))}</span>', width="content")
        with st.container(key="fa-menu-links", horizontal=True, vertical_alignment="center", gap=None):
            _draw_links(page, "bar")
        with (
            st.container(key="fa-menu-folded"),
            st.popover(page.text(f"frame.page.{page.name}"), icon=":material/menu:"),
        ):
            _draw_links(page, "folded")
        _draw_switches(page)


def _draw_links(page: Page, place: str) -> None:
    for name in existing_pages():
        with st.container(key=f"fa-link-{place}-{'current' if name == page.name else name}", width="content"):
            link_to(page, name, page.text(f"frame.page.{name}"))


def _draw_switches(page: Page) -> None:
    key = "fa-language"
    st.session_state[key] = page.language

    def speak() -> None:
        st.query_params["lang"] = st.session_state[key] or page.language

    st.segmented_control(
        page.text("frame.language"),
        list(LANGUAGES),
        format_func=LANGUAGES.__getitem__,
        key=key,
        on_change=speak,
        label_visibility="collapsed",
        width="content",
    )
    other = "light" if page.theme.name == "dark" else "dark"
    mount(
        HERE / "theme_switch",
        {
            "theme": page.theme.name,
            "other": other,
            "label": page.text(f"frame.theme.{other}"),
            "pages": list(PAGES[1:]),
        },
        key="fa-theme",
    )


def _script(name: str) -> str:
    return "app.py" if name == HOME else f"pages/{name}.py"


def _address_key(name: str) -> str:
    return f"address.{name}"


def _style() -> str:
    return (HERE / "frame.css").read_text(encoding="utf-8")
