"""Messages about no incident: a test message, and the request to verify an address."""

from __future__ import annotations

from datetime import datetime
from html import escape
from typing import Final

from dashboard.alert.compose import Links
from dashboard.alert.message import Message
from dashboard.domain.formatting import moment
from dashboard.domain.markup import unlinked_name
from dashboard.domain.people.access import Actor
from dashboard.domain.people.verification import Verification, code_of, expires_at
from dashboard.wire.decoding import format_timestamp

_TRIAL_SUBJECT: Final = "Test message from Linewatch"
_LONGEST_ADDRESS: Final = 400
_SUBJECT: Final = "Confirm that alerts may be sent to this address"


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
        "data": {"subject": _TRIAL_SUBJECT, "text": text},
    }
    return Message(_TRIAL_SUBJECT, text, html, payload=payload)


def message_of_verification(verification: Verification, links: Links, at: datetime) -> Message:
    """Compose it with the code, and with a link if the pages have an address.

    The same request gives the same message at every attempt.
    """
    address = unlinked_name(verification.recipient.address, _LONGEST_ADDRESS)
    code = code_of(verification, links.key)
    until = moment(expires_at(verification) or at)
    link = links.verify(verification.recipient, expires_at(verification) or at)
    unsubscribe = links.unsubscribe(verification.recipient, at)
    where = f" at {links.public_url}" if links.public_url else ""
    parts = [
        (
            f"Somebody wants Linewatch{where} to send alerts to {address}. "
            "Nothing is sent until you confirm it."
        ),
        *([f"Confirm it here, until {until}:\n{link}"] if link else []),
        (
            f"{'Or confirm' if link else 'Confirm'} it with the code {code}, until {until}: enter "
            f"it on the page Alerts, or run\nlinewatch recipients verify {address} {code}"
        ),
        "If you did not expect this, do nothing: you will get no alerts.",
        *([f"To get no more such requests:\n{unsubscribe}"] if unsubscribe else []),
    ]
    paragraphs = "".join(f"<p>{_html(part, (link, unsubscribe))}</p>\n" for part in parts)
    html = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f"<title>{_SUBJECT}</title></head><body>\n{paragraphs}</body></html>\n"
    )
    return Message(_SUBJECT, "\n\n".join(parts) + "\n", html, unsubscribe=unsubscribe)


def _html(part: str, links: tuple[str, ...]) -> str:
    """Return a paragraph with its second line on its own, as a link if it is one of ours."""
    said, _, last = part.partition("\n")
    if not last:
        return escape(said)
    shown = escape(last)
    if last in links:
        return f'{escape(said)}</p>\n<p><a href="{shown}">{shown}</a>'
    return f"{escape(said)}</p>\n<p><code>{shown}</code>"
