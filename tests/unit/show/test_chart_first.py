"""The order in which the first page of a visit is sent."""

from __future__ import annotations

from typing import Final

from streamlit.testing.v1 import AppTest

_SCRIPT: Final = """
import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx
from dashboard.show.parts.chart_first import chart_first, chart_sent

context = get_script_run_ctx()
send, st.session_state.sent = context.enqueue, []

def note(message):
    st.session_state.sent.append(message.delta.new_element.WhichOneof("type"))
    send(message)

context.enqueue = note
with chart_first():
    st.button("above")
    st.html("<p>heading</p>")
    st.plotly_chart({"data": [{"y": [1, 2]}]})
    chart_sent()
    st.button("below")
context.enqueue = send
"""


def test_fields_of_the_first_page_follow_its_chart_and_those_of_later_ones_do_not() -> None:
    visit = AppTest.from_string(_SCRIPT).run()
    first = visit.session_state["sent"]
    visit.run()

    assert not visit.exception
    assert first == ["empty", "html", "plotly_chart", "button", "button"]
    assert visit.session_state["sent"] == ["button", "html", "plotly_chart", "button"]
    assert [each.label for each in visit.button] == ["above", "below"]
