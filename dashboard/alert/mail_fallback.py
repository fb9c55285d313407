"""Report over a second channel that no mail is accepted, and later that mail works again."""

from __future__ import annotations

from datetime import datetime, timedelta
from html import escape
from typing import Final
from uuid import UUID, uuid5

from msgspec import Struct
from msgspec.structs import replace

from dashboard.alert.message import Channel, MaySend, Message, MessageHeaders
from dashboard.domain.formatting import counted, moment, span
from dashboard.domain.health.mail_outages_and_failing_roles import MailOutage, MailTrouble
from dashboard.domain.markup import unlinked, visible
from dashboard.domain.quantity import Clock
from dashboard.logs import get_logger
from dashboard.store.engine.engine import Store
from dashboard.store.health import (
    accepted_after,
    begin_outage,
    mail_trouble,
    note_outage,
    unreported_outage,
)
from dashboard.wire.decoding import format_timestamp

PERIOD: Final = timedelta(seconds=10)
_FAILING: Final = "mail.failing"
_WORKING: Final = "mail.working"
_NEXT_STEPS: Final = (
    "Each is tried again for seven days. `linewatch alerts test-send` "
    "shows each answer of the server; `linewatch alerts --state pending` lists what is pending."
)
_IDS: Final = UUID("0c6f2a2e-6f0b-4b57-9d1e-3f1f0f9b7a10")
"""The namespace of the ids of these messages, so that a repeated one has the same id."""

_log = get_logger("delivery")


class MailFallback(Struct, frozen=True):
    """Watches one channel, that of mail, and reports its outages over `fallback`.

    Outages are stored: after a restart no report is repeated, and the one that mail works again is
    not lost.
    """

    store: Store
    watched: str
    name: str
    fallback: Channel
    after: timedelta
    clock: Clock

    def work(self, may_send: MaySend) -> None:
        """Report what is new; after DeliveryError or StoreError it is reported again."""
        if not may_send():
            return
        outage, trouble = self._check()
        if outage is None:
            return
        if outage.reported_at is None and trouble is not None:
            self._send(_failing(outage, trouble), outage, may_send)
            self._note(outage, reported_at=self.clock())
            _log.error("mail fails; this was reported", over=self.name, since=str(outage.since))
        if outage.ended_at is not None:
            if outage.reported_at is not None:
                self._send(_working(outage, outage.ended_at), outage, may_send)
            self._note(outage, end_reported_at=self.clock())

    def _check(self) -> tuple[MailOutage | None, MailTrouble | None]:
        """Return the outage to report, if there is one, and what fails now."""
        now = self.clock()
        with self.store.read() as connection:
            trouble = mail_trouble(connection, self.watched)
            outage = unreported_outage(connection)
            ended_at = None
            if outage is not None and outage.ended_at is None:
                ended_at = accepted_after(connection, self.watched, outage.after_delivery)
        if outage is None and trouble is not None and trouble.is_outage(now, self.after):
            with self.store.write() as connection:
                begin_outage(connection, trouble)
                outage = unreported_outage(connection)
        if outage is not None and ended_at is not None:
            self._note(outage, ended_at=ended_at)
            outage = replace(outage, ended_at=ended_at)
        return outage, trouble

    def _send(self, message: Message, outage: MailOutage, may_send: MaySend) -> None:
        number = uuid5(_IDS, f"{format_timestamp(outage.since)} {message.payload['type']}")
        headers = MessageHeaders(f"<{number}@linewatch.invalid>", self.name, self.clock())
        self.fallback.send(message, headers, may_send)

    def _note(self, outage: MailOutage, **times: datetime) -> None:
        with self.store.write() as connection:
            note_outage(connection, outage, **times)


def _failing(outage: MailOutage, trouble: MailTrouble) -> Message:
    many = counted(trouble.pending, "mail is", "mails are")
    return _message(
        _FAILING,
        f"Mail has failed since {moment(outage.since)}",
        (
            f"No mail has been accepted since {moment(outage.since)}; {many} pending.",
            f"The mail server's answer: {unlinked(trouble.answer)}",
            _NEXT_STEPS,
        ),
        {
            "since": format_timestamp(outage.since),
            "pending": trouble.pending,
            "answer": visible(trouble.answer),
        },
    )


def _working(outage: MailOutage, ended_at: datetime) -> Message:
    return _message(
        _WORKING,
        f"Mail works again after {span(ended_at - outage.since)}",
        (f"A mail was accepted at {moment(ended_at)}, the first since {moment(outage.since)}.",),
        {"since": format_timestamp(outage.since), "endedAt": format_timestamp(ended_at)},
    )


def _message(kind: str, headline: str, parts: tuple[str, ...], data: dict[str, object]) -> Message:
    text = "\n\n".join(parts) + "\n"
    html = "".join(f"<p>{escape(each)}</p>\n" for each in parts)
    payload = {
        "type": kind,
        "timestamp": data.get("endedAt", data["since"]),
        "data": {"subject": headline, "text": text, "severity": "critical", **data},
    }
    return Message(headline, text, html, payload=payload)
