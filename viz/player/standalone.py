"""A walk as one HTML file that plays without a network: the player's script, style and data, compressed."""

from __future__ import annotations

import gzip
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from string import Template
from typing import Any

from viz.packing import pack_data, script_of, style_of
from viz.player import ASSET
from viz.theme import DARK, LIGHT, css_variables

TEMPLATE = ASSET / "standalone.html"


@dataclass(frozen=True, slots=True)
class FileText:
    """What the file says around the player, in the reader's language."""

    language: str
    title: str
    lead: str  # the problem that is walked
    notes: tuple[str, ...]  # where the numbers come from
    no_script: str


def standalone_html(data: Mapping[str, Any], text: FileText, *, link: str = "") -> str:
    """The page, for `data` of the tile player; `link` leads back to the app where it has an address."""
    template = Template(TEMPLATE.read_text(encoding="utf-8"))
    return template.substitute(
        language=escape(text.language),
        title=escape(text.title),
        lead=escape(text.lead),
        no_script=escape(text.no_script),
        notes=_paragraphs(text.notes, link),
        light=css_variables(LIGHT),
        dark=css_variables(DARK),
        style=_deflated(style_of(ASSET).encode()),
        script=_deflated(script_of(ASSET).encode()),
        data=_deflated(pack_data(data)),
    )


def _paragraphs(notes: Sequence[str], link: str) -> str:
    back = f'<p><a href="{escape(link)}">{escape(link)}</a></p>' if link else ""
    return "".join(f"<p>{escape(note)}</p>" for note in notes) + back


def _deflated(content: bytes) -> str:
    return b64encode(gzip.compress(content, mtime=0)).decode()  # without a time: equal walks make equal files
