"""The first chart of a visit comes first: fields and buttons follow once it is drawn.

A browser mounts what comes in the order in which it comes, and a field costs it more time than a
chart.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.scriptrunner import get_script_run_ctx

_HEAD_START: Final = 0.3
"""Seconds that a browser has for the chart before the rest comes."""

_VISITED: Final = "has_seen_a_page"
_AT_ONCE: Final = frozenset({"html", "plotly_chart", "bidi_component", "empty"})
_held: ContextVar[list[ForwardMsg] | None] = ContextVar("held", default=None)


@contextmanager
def chart_first() -> Iterator[None]:
    """Hold back the fields and buttons of the first page of a visit until `chart_sent`.

    Nothing is seen in their places meanwhile. On a page without a chart they follow at its end.
    """
    context = get_script_run_ctx()
    if context is None or _VISITED in st.session_state:
        yield
        return
    send = context.enqueue
    held: list[ForwardMsg] = []

    def hold(message: ForwardMsg) -> None:
        if _held.get() is None or _goes_at_once(message):
            send(message)
        else:
            held.append(message)
            send(_nothing_in_place_of(message))

    context.enqueue = hold  # type: ignore[assignment,method-assign]  # for a while
    outside = _held.set(held)
    try:
        yield
        st.session_state[_VISITED] = True
    finally:
        try:
            _release()
        finally:  # a rerun that somebody asked for meanwhile ends this one with an exception
            _held.reset(outside)
            context.enqueue = send  # type: ignore[method-assign]  # as it was


def chart_sent() -> None:
    """Say that the chart is on its way; the rest follows when a browser had time to draw it."""
    if _held.get() is not None:
        if st.context.headers:  # of a browser; what runs a page without one need not wait
            time.sleep(_HEAD_START)
        _release()


def _release() -> None:
    """Send what was held back, and hold no more."""
    held, context = _held.get(), get_script_run_ctx()
    _held.set(None)
    for message in held or ():
        if context is not None:
            context.enqueue(message)


def _goes_at_once(message: ForwardMsg) -> bool:
    is_element = message.delta.WhichOneof("type") == "new_element"
    return not is_element or message.delta.new_element.WhichOneof("type") in _AT_ONCE


def _nothing_in_place_of(message: ForwardMsg) -> ForwardMsg:
    """Return what keeps the place of an element, which may not be left out."""
    nothing = ForwardMsg()
    nothing.metadata.delta_path[:] = message.metadata.delta_path
    nothing.delta.new_element.empty.SetInParent()
    nothing.delta.fragment_id = message.delta.fragment_id
    return nothing
