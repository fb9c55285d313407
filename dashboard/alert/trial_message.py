"""The test message, by which people try a channel."""

from __future__ import annotations

from html import escape
from typing import Final

from dashboard.alert.message import Message
from dashboard.domain.formatting import moment
from dashboard.domain.markup import unlinked_name
from dashboard.domain.people.access import Actor
from dashboard.wire.decoding import format_timestamp

_SUBJECT: Final = "Test message from Linewatch"


def message_of_trial(actor: Actor) -> Message:
    """Compose it for mail and for programs alike."""
    who = unlinked_name(actor.name)
    text = (
        "This is a test message: nothing happened.\n\n"
        f"{who} asked for it on {moment(actor.at)}. If you can read it, alerts reach you too.\n"
    )
    paragraphs = "".join(f"<p>{escape(part.strip())}</p>\n" for part in text.split("\n\n"))
    html = f'<!doctype html>\n<html lang="en"><body>\n{paragraphs}</body></html>\n'
    payload = {
        "type": "test",
        "timestamp": format_timestamp(actor.at),
        "data": {"subject": _SUBJECT, "text": text},
    }
    return Message(_SUBJECT, text, html, payload=payload)
