"""Offers to send again what was given up: one letter, or all to an address."""

from __future__ import annotations

import streamlit as st

from dashboard.domain.foreign_text import visible
from dashboard.domain.notification import Notice
from dashboard.errors import StoreError
from dashboard.show.parts.heading import section
from dashboard.show.parts.states import notice
from dashboard.show.queries.alerts import GivenUp
from dashboard.show.queries.queries import Desk
from dashboard.show.text import moment
from dashboard.store.alerts.held_notifications import DeadLetters

_LATEST = 50
_LONGEST_ADDRESS = 80


def resend_form(desk: Desk) -> None:
    """Show what may be sent again, and do it."""
    given_up = desk.alerts.given_up(_LATEST)
    choices = _choices(given_up)
    with st.container(key="card-resend", gap="small"):
        section("Given up", "Put right what the mail server complained of, then send again.")
        with st.form("resend", border=False):
            chosen = st.selectbox(
                "What to send again", tuple(choices), format_func=lambda each: choices[each]
            )
            is_pressed = st.form_submit_button("Send again", type="primary")
        if is_pressed and chosen is not None:
            _send_again(desk, chosen)


def _choices(given_up: GivenUp) -> dict[DeadLetters, str]:
    """Name each choice: first all to an address, then the latest one by one."""
    by_address: dict[DeadLetters, str] = {
        address: f"All {count:,} to {visible(address, _LONGEST_ADDRESS)}"
        for address, count in given_up.by_address.items()
    }
    return by_address | {each.notice_id: _named(each) for each in given_up.latest}


def _named(letter: Notice) -> str:
    subject = letter.transition.subject
    what = f"{letter.transition.after} {subject.tx_hash or subject.kind}"
    to = visible(letter.recipient.address, _LONGEST_ADDRESS)
    return f"{what} of {moment(letter.created_at)} to {to}"


def _send_again(desk: Desk, which: DeadLetters) -> None:
    try:
        many = desk.alerts.send_again(which)
    except StoreError as trouble:
        notice("bad", "Nothing is sent again.", f"{trouble} Try again in a moment.")
        return
    waits = "1 mail waits" if many == 1 else f"{many:,} mails wait"
    notice("calm", f"{waits} again.", "The worker sends what waits, usually within seconds.")
