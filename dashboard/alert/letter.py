"""A letter, what is written on its envelope, and who carries it."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Letter:
    """What a notice says: one line of subject, plain text, and the same as HTML."""

    subject: str
    text: str
    html: str


@dataclass(frozen=True, slots=True)
class Envelope:
    """What makes a letter recognisable: the same `message_id` and `date` at every attempt.

    `in_reply_to` is the message that opened the thread, where this one does not.
    """

    message_id: str
    to: str
    date: datetime
    in_reply_to: str = ""


class Channel(Protocol):
    """A way to hand letters over; called from several threads at once."""

    def send(self, letter: Letter, envelope: Envelope) -> str:
        """Hand one letter over and return what the other side answered.

        Raises DeliveryDeferred where another attempt may succeed, DeliveryBlocked where that
        holds for every letter to this address, DeliveryRefused where no attempt will succeed.
        A letter may have arrived although this raises or the process dies in it.
        """
        ...
