"""The editor of the texts that people copy: the file of templates, with its mistakes by line."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import streamlit as st

from dashboard.application.answers import AnswerContext, answer_text
from dashboard.application.application import Application
from dashboard.application.text import sentence, short_hash
from dashboard.domain.markup import element, visible
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.answer_template import (
    LONGEST_FILE,
    PLACEHOLDERS,
    AnswerFileState,
    Voice,
)
from dashboard.errors import InputError
from dashboard.show.parts.acting import Done, act, name_input
from dashboard.show.parts.frame import section
from dashboard.show.parts.notices import notice, store_errors_shown
from dashboard.show.parts.table import table

_FILE: Final = "answer_file"
_SEEN: Final = "answer_file_seen"


def template_mistakes_shown(queries: Application) -> None:
    """Say what is wrong with the file in force; the built-in texts stand in for it then."""
    for mistake in queries.answers.state().mistakes[:1]:
        said = f"{sentence(visible(mistake))} The built-in texts are used until it is corrected."
        notice("bad", "The file of texts has a mistake.", said)


@st.dialog("Edit the texts for customers and engineers", width="large")
def answer_editor(queries: Application, tx_hash: TxHash, context: AnswerContext) -> None:
    """Let a person change the file, and say on which line a mistake is.

    The preview is what a transaction's customer, and an engineer, would read.
    """
    state = queries.answers.state()
    if _FILE not in st.session_state:
        st.session_state.update({_FILE: state.editable(), _SEEN: state})
    name_input(queries)
    where = "Saved as answers.toml in the folder of the settings; linewatch answers changes it too."
    st.html(element("p", where, class_="lw-quiet"))
    with st.form("answers", border=False):
        text = st.text_area(
            "Texts, with placeholders in braces",
            key=_FILE,
            height=360,
            max_chars=LONGEST_FILE,
        )
        with st.container(horizontal=True, gap="small"):
            is_saved = st.form_submit_button("Save the texts", type="primary")
            is_previewed = st.form_submit_button("Preview", icon=":material/preview:")
    if is_saved:
        _change(queries, text or "", state, "The texts are changed")
    if is_previewed:
        with store_errors_shown():
            _preview(queries, text or "", tx_hash, context)
    if state.text is not None:
        _reset(queries, state)
    with st.expander("What a text may name"):
        rows = [(f"{{{name}}}", what) for name, what in PLACEHOLDERS.items()]
        st.html(table(("Placeholder", "Stands for"), rows, "Placeholders"))


def _preview(queries: Application, text: str, tx_hash: TxHash, context: AnswerContext) -> None:
    """Show what the texts would say of a transaction; nothing is saved."""
    try:
        found = queries.answers.check(text)
    except InputError as mistake:
        notice("bad", "There is no preview.", sentence(visible(str(mistake))))
        return
    for each in found.mistakes:
        notice("bad", "The text has a mistake.", sentence(visible(each)))
    if found.mistakes:
        return
    (summary,) = queries.summaries((tx_hash,))
    said = f"Not saved yet. This is what would be said of {short_hash(tx_hash)}."
    st.html(element("p", said, class_="lw-quiet", role="status"))
    for voice in Voice:
        section(f"For {'a customer' if voice is Voice.CUSTOMER else 'an engineer'}")
        written = answer_text(summary, voice, replace(context, templates=found.templates))
        st.code(written, language=None, wrap_lines=True)


def _reset(queries: Application, state: AnswerFileState) -> None:
    with st.popover("Back to the built-in texts"):
        st.text("Remove your texts, and use the built-in ones? This cannot be undone.")
        if st.button("Remove our texts", key="remove-texts", type="primary"):
            _change(queries, None, state, "The built-in texts are in force again")


def _change(queries: Application, text: str | None, state: AnswerFileState, said: str) -> None:
    """Change the file, unless it is no more what the person saw; the next press has seen `state`.

    What somebody else saved meanwhile is shown, so that nobody's words are lost.
    """
    seen: AnswerFileState = st.session_state[_SEEN]
    st.session_state[_SEEN] = state
    act(
        lambda by: queries.answers.change(text, by, seen),
        queries,
        "Nothing was saved.",
        lambda _: Done(said),
    )
    if state.text != seen.text:
        section("The texts that somebody else saved")
        st.code(state.editable(), language="toml", wrap_lines=True)
        rest = "Yours are still in the field. Take over what you need: Save replaces these now."
        st.html(element("p", rest, class_="lw-quiet"))
