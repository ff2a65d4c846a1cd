"""Cards in a row: a title, its provenance, sentences and small tables, all as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import streamlit as st

STYLE = Path(__file__).with_suffix(".css")


@dataclass(frozen=True)
class Table:
    """A head and rows of cells; the first column names, the others are numbers."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    title: str = ""


@dataclass(frozen=True)
class Card:
    """One card of a row."""

    title: str
    provenance: str
    lines: tuple[str, ...]
    tables: tuple[Table, ...] = ()
    wide: bool = False  # takes the room of two


def draw_cards(cards: Sequence[Card]) -> None:
    """Draws cards beside one another; on a phone they stand under one another, after the picture."""
    style = STYLE.read_text(encoding="utf-8")
    with st.container(key="fa-cards"):
        st.html(f'<style>{style}</style><div class="fa-cards">{"".join(map(_card_html, cards))}</div>')


def draw_points(title: str, points: Sequence[str]) -> None:
    """Draws a list that unfolds."""
    items = "".join(f"<li>{escape(point)}</li>" for point in points)
    st.html(f'<details class="fa-points"><summary>{escape(title)}</summary><ol>{items}</ol></details>')


def draw_folded(title: str, card: Card) -> None:
    """Draws a card that unfolds."""
    style = STYLE.read_text(encoding="utf-8")
    inside = f'<summary>{escape(title)}</summary><div class="fa-cards">{_card_html(card)}</div>'
    st.html(f'<style>{style}</style><details class="fa-points">{inside}</details>')


def _card_html(card: Card) -> str:
    head = f"<h3>{escape(card.title)}</h3><span>{escape(card.provenance)}</span>"
    tables = f'<div class="fa-tables">{"".join(map(_table_html, card.tables))}</div>' if card.tables else ""
    lines = "".join(f"<p>{escape(line)}</p>" for line in card.lines)
    wide = ' class="fa-wide"' if card.wide else ""
    return f"<section{wide}><header>{head}</header>{tables}{lines}</section>"


def _table_html(table: Table) -> str:
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows)
    caption = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>"
