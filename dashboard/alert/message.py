"""A message, its headers, and the channels that send it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Protocol, TypeAlias

from msgspec import Struct, field

MaySend: TypeAlias = Callable[[], bool]
"""Whether the worker still has the lease and may send; asked at the last moment, in any thread."""


class Attachment(Struct, frozen=True):
    """A file that a message carries; `media_type` such as ``text/csv``."""

    name: str
    media_type: str
    content: bytes


class InlineImage(Struct, frozen=True):
    """A PNG that the HTML shows as ``cid:`` and its `content_id`, which is globally unique."""

    content_id: str
    content: bytes


class Message(Struct, frozen=True):
    """The text of a notification: one line of subject, plain text, and the same as HTML.

    `payload` is what programs get: a JSON object. `unsubscribe` is where its recipient
    unsubscribes, empty if nobody can.
    """

    subject: str
    text: str
    html: str
    payload: Mapping[str, object] = field(default_factory=dict)
    attachments: tuple[Attachment, ...] = ()
    images: tuple[InlineImage, ...] = ()
    unsubscribe: str = ""


class MessageHeaders(Struct, frozen=True):
    """What identifies a message: the same `message_id` and `date` at every attempt.

    `in_reply_to` is the Message-ID that it answers, empty if it opens a thread, and `thread` all
    those before it there, the first one first, separated by blanks.
    """

    message_id: str
    to: str
    date: datetime
    in_reply_to: str = ""
    thread: str = ""


def always() -> bool:
    """Allow a message that no other worker could send."""
    return True


class Channel(Protocol):
    """Sends messages; called from several threads at once."""

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Send one message and return what the other side answered.

        DeliveryWithheld if it may not be sent any more, which is asked just before. Raises
        DeliveryDeferred if another attempt may succeed, DeliveryBlocked if every message to this
        address would fail, DeliveryRefused if no attempt will succeed. A message may have arrived
        although this raises or the process dies in it.
        """


class Stage(Struct, frozen=True):
    """One step, and what was answered; both are safe to show and hold no secret."""

    name: str
    answer: str


Watch: TypeAlias = Callable[[Stage], None]
"""Called with each step as soon as it is over."""


def ignore(_stage: Stage) -> None:
    """Watch nothing, as the worker does."""
