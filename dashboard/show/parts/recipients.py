"""Recipients on a page: who gets messages, who does not and why, and how to change that."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from functools import partial
from typing import Final

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.recipient_words import hours_words, status_words, unreached_words
from dashboard.application.recipients import ListedRecipient
from dashboard.application.text import age
from dashboard.domain.alerts.notification import DigestTime, Recipient
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import Markup, visible
from dashboard.domain.people.access import Action
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import RecipientProfile, RecipientStatus
from dashboard.show.parts.acting import Done, act, act_button, may
from dashboard.show.parts.badges import badge
from dashboard.show.parts.frame import card
from dashboard.show.parts.notices import notice
from dashboard.show.parts.table import entry, entry_markup

_BADGES: Final = {
    RecipientStatus.TRUSTED: ("calm", "✓", "From the settings"),
    RecipientStatus.VERIFIED: ("calm", "✓", "Verified"),
    RecipientStatus.NOT_VERIFIED: ("bad", "!", "Not verified"),
    RecipientStatus.OFF: ("bad", "✕", "Off"),
}
_SUSPECT: Final = ("busy", "!", "Suspect")
_LONGEST: Final = 120
_LONGEST_LIST: Final = 600
_LONGEST_HOURS: Final = 2_000


def unreached_shown(queries: Application) -> None:
    """Warn of rules that reach nobody, since nothing may be sent to any of their recipients."""
    found = queries.recipients.unreached()
    if found:
        rules = capitalized("; ".join(map(unreached_words, found)))
        notice(
            "bad",
            "Some alerts reach nobody.",
            f"{rules}. Verify or turn on an address, or name others in the rule.",
        )


def recipients_part(queries: Application) -> None:
    """Show every recipient, and offer to verify, to turn off and on, and to set the hours."""
    listed = queries.recipients.all()
    with card(
        "recipients",
        "Recipients",
        "An address named only in rules gets nothing until it is verified.",
    ):
        for each in listed:
            _row(queries, each, queries.now())
        changeable = [each for each in listed if not each.is_fixed]
        if changeable and may(queries, Action.CHANGE_RECIPIENT):
            with st.expander("Hours and digest of a recipient"):
                _hours_form(queries, changeable)


def _row(queries: Application, each: ListedRecipient, now: datetime) -> None:
    name = f"{each.recipient.channel} {each.recipient.address}"
    recipients, recipient = queries.recipients, each.recipient
    with entry(f"recipient-{name}", recipient_markup(each, now)):
        offer, address = partial(act_button, queries, Action.CHANGE_RECIPIENT), recipient.address
        turn_on, turn_off = (
            partial(each, recipient) for each in (recipients.turn_on, recipients.turn_off)
        )
        if each.status is RecipientStatus.OFF:
            done = Done(f"{address} gets messages again", turn_off)
            offer("Turn on", f"on-{name}", turn_on, done)
            return
        if each.suspect is not None:
            done = Done(f"{address} is no longer suspect")
            offer("Address works", f"trust-{name}", turn_on, done)
        if each.status is RecipientStatus.NOT_VERIFIED and may(queries, Action.VERIFY):
            _offer_verification(queries, recipient, name)
        done = Done(f"{address} no longer gets messages", turn_on)
        offer("Turn off", f"off-{name}", turn_off, done)


def _offer_verification(queries: Application, recipient: Recipient, name: str) -> None:
    code = st.text_input(
        "Code",
        key=f"code-{name}",
        max_chars=20,
        placeholder="Code",
        width=110,
        label_visibility="collapsed",
    )
    offer, address = partial(act_button, queries, Action.CHANGE_RECIPIENT), recipient.address
    verify = partial(queries.recipients.enter_code, recipient, code or "")
    offer("Verify", f"verify-{name}", verify, Done(f"{address} is verified"))
    ask = partial(queries.recipients.ask, recipient)
    offer("Send mail", f"ask-{name}", ask, Done(f"A verification mail goes to {address}"))


def recipient_markup(each: ListedRecipient, now: datetime) -> Markup:
    """Build the entry of a recipient: whether it gets messages, where it is named, its hours."""
    over = "" if each.recipient.channel == "mail" else f" over {each.recipient.channel}"
    named = visible(", ".join(each.named_in) or "no longer named anywhere", _LONGEST_LIST)
    last = "no notification was sent yet"
    if each.last_sent is not None:
        last = f"the last message was sent {age(each.last_sent, now)}"
    is_said = each.status is RecipientStatus.TRUSTED and each.suspect is None  # by the badge
    return entry_markup(
        badge(*_badge_of(each)),
        visible(each.recipient.address, _LONGEST),
        f"{named}{over}",
        "" if is_said else status_words(each),
        hours_words(each.profile),
        last,
    )


def _badge_of(each: ListedRecipient) -> tuple[str, str, str]:
    gets_messages = each.status in {RecipientStatus.TRUSTED, RecipientStatus.VERIFIED}
    return _SUSPECT if each.suspect and gets_messages else _BADGES[each.status]


def _hours_form(queries: Application, listed: Sequence[ListedRecipient]) -> None:
    """Change what holds for one of them, which the fields begin with."""
    by_name = {f"{each.recipient.channel} {each.recipient.address}": each for each in listed}
    name = st.selectbox(
        "Recipient",
        list(by_name),
        format_func=lambda name: visible(by_name[name].recipient.address, _LONGEST),
        key="recipient_chosen",
    )
    each = by_name[name]
    with st.form("recipient-hours", border=False):
        wanted = _profile_fields(each.profile, f"{name} {each.profile}")
        is_saved = st.form_submit_button("Save hours")
    if is_saved:
        act(
            queries,
            lambda by: queries.recipients.change(each.recipient, wanted(), by),
            Done(f"The hours of {each.recipient.address} are saved"),
        )


def _profile_fields(held: RecipientProfile, key: str) -> Callable[[], RecipientProfile]:
    """Ask for a recipient's preferences; return a reader, which raises InputError for mistakes.

    With another `key` they begin with what is `held`.
    """
    zone = st.text_input(
        "Time zone",
        held.zone,
        key=f"recipient_zone {key}",
        max_chars=64,
        placeholder="as in [mail], e.g. Europe/Zurich",
        help="For times in messages and for the hours; empty: as in [mail].",
    )
    hours = st.text_area(
        "Hours, one span per line",
        "\n".join(map(str, held.active)),
        key=f"recipient_hours {key}",
        max_chars=_LONGEST_HOURS,
        placeholder="at any hour, e.g. mon-fri 08:00-18:00",
        help="At other hours messages are held and come as one summary, except "
        "those of rules with pierces. Empty: at any hour.",
    )
    digest = st.text_input(
        "Digest",
        "" if held.digest is None else str(held.digest),
        key=f"recipient_digest {key}",
        max_chars=40,
        placeholder="none, e.g. daily 08:00 or weekly mon 08:00",
        help="A summary by mail, “daily 08:00” or “weekly mon 08:00”. Empty: none.",
    )

    def read() -> RecipientProfile:
        spans = (each for each in (hours or "").splitlines() if each.strip())
        time = DigestTime.parse(digest) if (digest or "").strip() else None
        return RecipientProfile((zone or "").strip(), tuple(map(WeekSpan.parse, spans)), time)

    return read
