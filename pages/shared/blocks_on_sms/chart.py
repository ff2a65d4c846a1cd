"""A Plotly figure in a card of Blocks on SMs."""

from __future__ import annotations

from html import escape

import plotly.graph_objects as go
import streamlit as st

STYLE = """
[class*="st-key-fa-sms-chart"] {
  gap: 0;
  padding: 12px 16px 0;
  background: var(--fa-surface);
  border-radius: 8px;
}
.fa-chart-title { margin: 0; color: var(--fa-ink); font-size: 14px; font-weight: 650; line-height: 20px; }
"""


def draw_chart(figure: go.Figure, name: str, *, title: str) -> None:
    """Draws it as it is, in the page's own colours."""
    with st.container(border=True, key=f"fa-sms-chart-{name}"):
        st.html(f'<style>{STYLE}</style><p class="fa-chart-title">{escape(title)}</p>')
        st.plotly_chart(figure, theme=None, config={"displayModeBar": False}, key=f"blocks_on_sms.{name}")
