"""Widgets <-> settings: a strip of controls that keeps widgets, session and URL of a page in agreement.

    controls = open_controls(page, Settings)
    with controls.strip():
        controls.draw("query_len", "tiles.control.query_len")
    settings = controls.settings

The URL rules when a page is opened or its address was changed from outside; the widgets rule while they are
used. What a widget holds is read by the same rule as the URL, so both are complained of in the same words.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import streamlit as st

from pages.shared.address import (
    ChoiceRule,
    Complaint,
    FlagRule,
    IntegerRule,
    read_address,
    rules_of,
    write_address,
)
from pages.shared.frame import Page, remember_address, remembered_address

Settings = TypeVar("Settings")
Resolve = Callable[[Settings], tuple[Settings, list[Complaint]]]


@dataclass(frozen=True)
class Controls(Generic[Settings]):
    """The settings a page is drawn with, and the widgets that change them."""

    page: Page
    settings: Settings
    complaints: tuple[Complaint, ...]  # of what was not taken as it was asked for

    @contextmanager
    def strip(self, summary: str) -> Iterator[None]:
        """A sentence for each complaint, the address, and the bordered row the widgets stand in.

        On a phone the row folds into `summary` and a button.
        """
        self.page.complain(self.complaints)
        open_key = f"{self.page.name}.controls-open"
        unfolded = st.session_state.get(open_key, False)
        with st.container(key="fa-controls-summary", horizontal=True, vertical_alignment="center"):
            st.text(summary)
            label = self.page.text("frame.controls.done" if unfolded else "frame.controls.change")
            st.button(label, key=f"{open_key}-button", on_click=_set, args=(open_key, not unfolded))
        state = "open" if unfolded else "folded"
        with st.container(key=f"fa-controls-{state}", horizontal=True, gap=None):
            yield
        remember_address(self.page, write_address(self.settings))

    def draw(
        self, name: str, label_key: str, *, options: Mapping[str, str] | None = None, hint: str | None = None
    ) -> None:
        """The widget of a field. `options` names a choice's options, in the order to show them; `hint` is
        told on hover.
        """
        rule = rules_of(type(self.settings))[name]
        key = _widget_key(self.page.name, name)
        value = getattr(self.settings, name)
        shown = rule.format(value) if isinstance(rule, IntegerRule) else value
        if st.session_state.get(key) != shown:
            st.session_state[key] = shown
        common: dict[str, Any] = {
            "key": key,
            "help": hint,
            "on_change": _set,
            "args": (_used_key(self.page.name), True),
        }
        label = self.page.text(label_key)
        if isinstance(rule, FlagRule):
            st.toggle(label, **common)
        elif isinstance(rule, ChoiceRule):
            names = options or {option: option for option in rule.options}
            st.selectbox(label, list(names), format_func=names.__getitem__, **common)
        else:
            st.text_input(label, **common)


def open_controls(
    page: Page, settings_type: type[Settings], *, resolve: Resolve[Settings] | None = None
) -> Controls[Settings]:
    """The settings of this run, valid. Draws nothing: that is left to the strip.

    `resolve` applies rules between fields: it gets settings whose fields are valid by themselves, and gives
    the nearest that are valid together with a complaint for each change.
    """
    settings, complaints = _asked_settings(page, settings_type)
    if resolve is not None:
        settings, more = resolve(settings)
        complaints += more
    st.session_state[_settings_key(page.name)] = settings
    return Controls(page, settings, tuple(complaints))


def hold(page_name: str, name: str, value: object) -> None:
    """Sets a field that has no widget, as if one had been used: for what a mounted script reports."""
    kept = st.session_state[_settings_key(page_name)]
    st.session_state[_settings_key(page_name)] = replace(kept, **{name: value})
    st.session_state[_used_key(page_name)] = True


def held_settings(page_name: str) -> Any:
    """The settings that a page was last drawn with: for a part of it that is drawn by itself."""
    return st.session_state[_settings_key(page_name)]


def adopt(page_name: str, settings: object) -> None:
    """Sets all fields at once, as if each widget had been used: for an example that a reader picks."""
    for name in rules_of(type(settings)):
        st.session_state.pop(_widget_key(page_name, name), None)
    st.session_state[_settings_key(page_name)] = settings
    st.session_state[_used_key(page_name)] = True


def _asked_settings(page: Page, settings_type: type[Settings]) -> tuple[Settings, list[Complaint]]:
    parameters = {name: value for name, value in st.query_params.to_dict().items() if name != "lang"}
    kept: Settings | None = st.session_state.get(_settings_key(page.name))
    used = st.session_state.pop(_used_key(page.name), False)
    if kept is None or (not used and parameters != remembered_address(page)):
        return read_address(settings_type, parameters)
    return read_address(settings_type, _held_parameters(page, kept))


def _held_parameters(page: Page, kept: object) -> dict[str, str]:
    # A widget that was not drawn in the last run holds nothing: its setting stays as it was.
    parameters = {}
    for name, rule in rules_of(type(kept)).items():
        held = st.session_state.get(_widget_key(page.name, name))
        value = getattr(kept, name) if held is None else held
        parameters[rule.name] = value if isinstance(value, str) else rule.format(value)
    return parameters


def _set(key: str, value: object) -> None:
    st.session_state[key] = value


def _widget_key(page_name: str, name: str) -> str:
    return f"fa-control-{page_name}-{name}"  # Streamlit makes it a class, which frame.css draws


def _used_key(page_name: str) -> str:
    return f"{page_name}.controls-used"


def _settings_key(page_name: str) -> str:
    return f"{page_name}.settings"
