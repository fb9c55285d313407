"""The editor of the texts that people copy: the file of templates, with its mistakes by line."""

from __future__ import annotations

from typing import Final

import streamlit as st

from dashboard.domain.answer_template import LONGEST_FILE, PLACEHOLDERS
from dashboard.domain.foreign_text import visible
from dashboard.show.parts.acting import Done, act, name_input
from dashboard.show.parts.markup import element
from dashboard.show.parts.notices import notice
from dashboard.show.parts.table import table
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.text import sentence

_FILE: Final = "answer_file"


def template_mistakes_shown(queries: PageQueries) -> None:
    """Say what is wrong with the file in force; the built-in texts stand in for it then."""
    for mistake in queries.answers.state().mistakes[:1]:
        said = f"{sentence(visible(mistake))} The built-in texts are shown until it is corrected."
        notice("bad", "The file of texts has a mistake.", said)


@st.dialog("Edit the texts for customers and engineers", width="large")
def answer_editor(queries: PageQueries) -> None:
    """Let a person change the file, and say on which line a mistake is."""
    state = queries.answers.state()
    name_input()
    where = f"Saved as {state.source}, which linewatch answers changes as well."
    st.html(element("p", visible(where), class_="lw-quiet"))
    with st.form("answers", border=False):
        text = st.text_area(
            "Texts, with placeholders in braces",
            state.editable(),
            key=_FILE,
            height=360,
            max_chars=LONGEST_FILE,
        )
        with st.container(horizontal=True, gap="small"):
            is_saved = st.form_submit_button("Save the texts", type="primary")
            is_reset = st.form_submit_button("Back to the built-in texts")
    if is_saved:
        _change(queries, text or "", "The texts are changed")
    if is_reset:
        _change(queries, None, "The built-in texts are in force again")
    with st.expander("What a text may name"):
        rows = [(f"{{{name}}}", what) for name, what in PLACEHOLDERS.items()]
        st.html(table(("Placeholder", "Stands for"), rows, "Placeholders"))


def _change(queries: PageQueries, text: str | None, said: str) -> None:
    act(
        lambda by: queries.answers.change(text, by),
        queries,
        "Nothing was saved.",
        lambda _: Done(said),
    )
