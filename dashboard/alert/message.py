"""A letter, what is written on its envelope, and who carries it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

MaySend: TypeAlias = Callable[[], bool]
"""Whether the worker may still hand letters over; asked at the last moment, in any thread."""


@dataclass(frozen=True, slots=True)
class Letter:
    """What a notification says: one line of subject, plain text, and the same as HTML."""

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


def always() -> bool:
    """Let a letter go that nobody else could send."""
    return True


class Channel(Protocol):
    """A way to hand letters over; called from several threads at once."""

    def send(self, letter: Letter, envelope: Envelope, may_send: MaySend = always) -> str:
        """Hand one letter over and return what the other side answered.

        DeliveryWithheld where it may not be sent any more just before it would be handed over.
        Raises DeliveryDeferred where another attempt may succeed, DeliveryBlocked where that
        holds for every letter to this address, DeliveryRefused where no attempt will succeed.
        A letter may have arrived although this raises or the process dies in it.
        """
        ...
