"""Home: what this is, and the views that answer its questions. Start it with `streamlit run app.py`."""

import streamlit as st
from streamlit.runtime import exists as served_by_streamlit

from pages.shared.frame import HOME, Page, existing_pages, link_to, open_page


def draw_home() -> None:
    page = open_page(HOME)
    page.title("home.title", "home.lead")
    for name, column in zip(existing_pages()[1:], st.columns(3), strict=False):
        with column, st.container(border=True):
            _draw_card(page, name)


def _draw_card(page: Page, name: str) -> None:
    st.markdown(f"**{page.text(f'home.{name}.question')}**")
    st.markdown(page.text(f"home.{name}.lead"))
    link_to(page, name, page.text(f"frame.page.{name}"))


if served_by_streamlit():
    draw_home()
else:
    print("This is a Streamlit app. Start it with: streamlit run app.py")
