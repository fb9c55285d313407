"""What an endpoint of the management API is: who may call it, what it takes, what it answers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from hashlib import sha256
from typing import Annotated, Any, Final, TypeAlias

import msgspec

from dashboard.application.application import Application
from dashboard.application.listing import Json
from dashboard.domain.people.access import Action, Actor, Role, least_role
from dashboard.domain.quantity import Address, TxHash
from dashboard.errors import InputError
from dashboard.store.access.tokens import Token

PREFIX: Final = "/api/v1"
"""What the path of every endpoint begins with."""

LONGEST_PAGE: Final = 1_000
MOST_HASHES: Final = 5_000
"""Transactions of one request."""

Moment: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
"""A moment in ISO 8601, which has to say its offset."""

Rows: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=LONGEST_PAGE)]
Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=2_000)]
Hashes: TypeAlias = Annotated[list[str], msgspec.Meta(min_length=1, max_length=MOST_HASHES)]


class NotFound(InputError):
    """There is nothing at this address; the text says of what kind."""


class Changed(InputError):
    """Somebody else changed it since it was read; the text says so."""


class Fields(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Fields of a body or a query; what is not named here is refused."""


class NoFields(Fields):
    """Nothing is taken."""


class Slice(Fields):
    """Which part of a long list: at most `limit` items, from where `cursor` says."""

    limit: Rows = 100
    cursor: Text = ""


@dataclass(frozen=True, slots=True)
class Asked:
    """A request that was let in. `query` and `body` are what its endpoint takes.

    `if_match` is the header of that name, empty where it was not sent. `address` is where people
    open the pages.
    """

    application: Application
    token: Token
    by: Actor
    path: Mapping[str, str]
    query: Any
    body: Any
    if_match: str = ""
    address: str = ""

    @property
    def tx_hash(self) -> TxHash:
        """The hash in the path."""
        return TxHash.parse(self.path["hash"])

    @property
    def sender(self) -> Address:
        """The address of a sender in the path."""
        return Address.parse(self.path["sender"])

    @property
    def number(self) -> int:
        """The number in the path."""
        text = self.path["number"]
        if not (text.isascii() and text.isdecimal() and len(text) < _DIGITS):
            raise NotFound("a number stands at the end of this address")
        return int(text)


_DIGITS: Final = 16


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer. `secrets` are shown in it this one time, and stored nowhere.

    `etag` names the version of what two people may edit.
    """

    form: Mapping[str, Json]
    secrets: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One verb at one path.

    `subject` groups endpoints, and is what a token may be limited to. An endpoint that acts takes
    the role that the action takes, every other one `least`. `answers` names the keys of its answer.
    """

    verb: str
    path: str
    summary: str
    answer: Callable[[Asked], Reply]
    answers: tuple[str, ...]
    action: Action | None = None
    least: Role = Role.VIEWER
    query: type[Fields] = NoFields
    body: type[Fields] | None = None
    needs_match: bool = False
    secrets: tuple[str, ...] = ()

    @property
    def subject(self) -> str:
        """The first word of the path."""
        return self.path.split("/")[1]

    @property
    def role(self) -> Role:
        """The least role that may call it."""
        return self.least if self.action is None else least_role(self.action)


def version_of(form: Json) -> str:
    """Return the ETag of a document."""
    canonical = msgspec.json.encode(form, order="sorted")
    return f'"{sha256(canonical).hexdigest()[:32]}"'


def refuse_other_version(asked: Asked, form: Json) -> None:
    """Raise Changed where a document is no more the one that a client has read."""
    if asked.if_match.strip() not in {"*", version_of(form)}:
        raise Changed("somebody changed it since you read it: read it again, then change that")
