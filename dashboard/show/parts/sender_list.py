"""Senders: a form that watches one, the list of those watched, and those rejected most."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.text import age, moment, sentence
from dashboard.domain.markup import Markup, element, visible
from dashboard.domain.people.access import Action
from dashboard.domain.quantity import Address, NetworkId
from dashboard.domain.tracking.paste import LONGEST_LABEL
from dashboard.errors import InputError, StoreError
from dashboard.show.parts.acting import known_actor, may
from dashboard.show.parts.notices import change_stored, notice
from dashboard.show.parts.table import entry, entry_markup
from dashboard.store.tracking.senders import WatchedSender


def senders_part(queries: Application, network_ids: Sequence[NetworkId]) -> None:
    """Show the form to whom may use it, and below it who is watched on these networks."""
    if may(queries, Action.WATCH_SENDER):
        _form(queries, network_ids)
    for each in queries.senders.watched():
        if set(each.network_ids) & set(network_ids):
            _row(queries, each)


def _form(queries: Application, network_ids: Sequence[NetworkId]) -> None:
    with st.form("watch_sender", border=False):
        text = st.text_input("Address", key="sender_address", placeholder="0x…")
        label = st.text_input(
            "Label (optional)",
            key="sender_label",
            max_chars=LONGEST_LABEL,
            placeholder="such as Customer",
        )
        if st.form_submit_button("Watch", type="primary"):
            _watch(queries, text, label.strip(), network_ids)


def _watch(queries: Application, text: str, label: str, network_ids: Sequence[NetworkId]) -> None:
    if not text.strip():
        notice("busy", "Nobody was added.", "Give the address of the sender: 0x and 40 digits.")
        return
    try:
        sender = Address.parse(text.strip())
        (is_new,) = queries.senders.watch([sender], network_ids, label, known_actor(queries))
    except InputError as mistake:
        notice("bad", "Nobody was added.", sentence(str(mistake)))
    except StoreError as trouble:
        notice("bad", "Nobody was added.", f"{trouble} Try again in a moment.")
    else:
        outcome = "is watched now" if is_new else "was watched already"
        notice(
            "calm",
            f"{sender} {outcome}.",
            "Its rejections that nodes report are tracked, and a mail is sent.",
        )


def _row(queries: Application, each: WatchedSender) -> None:
    with entry(f"sender-{each.sender}", _sender_markup(queries, each)):
        if may(queries, Action.UNWATCH_SENDER) and st.button(
            "Remove", key=f"unwatch-{each.sender}", help="What is tracked stays tracked"
        ):
            change_stored(lambda: queries.senders.unwatch(each.sender, known_actor(queries)))


def _sender_markup(queries: Application, each: WatchedSender) -> Markup:
    networks = ", ".join(queries.network_name(network_id) for network_id in each.network_ids)
    said = f"on {networks}, since {age(each.watched_at, queries.now())}"
    return entry_markup(
        Markup(),
        element("span", str(each.sender), class_="lw-mono"),
        element("b", visible(each.label, LONGEST_LABEL)) if each.label else Markup(),
        element("span", said, title=moment(each.watched_at)),
    )
