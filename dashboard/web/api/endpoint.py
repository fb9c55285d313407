"""Endpoints of the management API: who may call each, what it takes, what it answers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from http import HTTPStatus
from typing import Annotated, Any, Final, TypeAlias, TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct, field

from dashboard.application.application import Application
from dashboard.application.context import ApplicationContext
from dashboard.application.listing import Json, Listing
from dashboard.domain.formatting import is_far_off
from dashboard.domain.people.access import Action, Actor, Role, least_role
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.search import LONGEST_SEARCH
from dashboard.errors import InputError, NotAllowed, NotFound
from dashboard.store.access.tokens import Token

Item = TypeVar("Item")
Id = TypeVar("Id", int, UUID)

PREFIX: Final = "/api/v1"
"""The beginning of the path of every endpoint."""

LONGEST_PAGE: Final = 1_000
LARGEST_BODY: Final = 1_000_000
LARGEST_TEXT: Final = 4_000_000
"""How many bytes a request may have, and one that sends whole files."""

MOST_HASHES: Final = 5_000
"""How many transactions one request may have."""

Moment: TypeAlias = Annotated[datetime, msgspec.Meta(tz=True)]
"""A moment in ISO 8601 with an offset."""

Rows: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=LONGEST_PAGE)]
WITHOUT_NUL: Final = r"^[^\x00]*$"
"""The form of a text that PostgreSQL can compare."""

Text: TypeAlias = Annotated[str, msgspec.Meta(max_length=2_000, pattern=WITHOUT_NUL)]
Search: TypeAlias = Annotated[str, msgspec.Meta(max_length=LONGEST_SEARCH)]
Hashes: TypeAlias = Annotated[list[str], msgspec.Meta(min_length=1, max_length=MOST_HASHES)]


class Changed(InputError):
    """Somebody else changed it since it was read, as the text says."""


class Problem(Exception):
    """A request that is refused, with its status and the remedy."""

    mistakes: Sequence[str] = ()

    def __init__(self, status: HTTPStatus, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = {name.replace("_", "-"): value for name, value in headers.items()}


class Fields(msgspec.Struct, rename="camel", forbid_unknown_fields=True, kw_only=True):
    """Fields of a body or a query; any other field is refused."""

    def __post_init__(self) -> None:
        """Raise ValueError for a moment so extreme that other programs may refuse it.

        Also for a period that ends before it begins.
        """
        names = zip(self.__struct_fields__, self.__struct_encode_fields__, strict=True)
        for field_name, name in names:
            value = getattr(self, field_name)
            if isinstance(value, datetime) and is_far_off(value):
                raise ValueError(f"{name} is not a usable date: {value.isoformat()}")
        since, until = getattr(self, "since", None), getattr(self, "until", None)
        if since is not None and until is not None and since >= until:
            raise ValueError(f"since {since.isoformat()} is not before until {until.isoformat()}")


class NoFields(Fields):
    """No fields are accepted."""


class Slice(Fields):
    """Which part of a long list: at most `limit` items, from where `cursor` says."""

    limit: Rows = 100
    cursor: Text = ""


class Asked(Struct, frozen=True):
    """An admitted request. `query` and `body` are what its endpoint takes.

    `if_match` is the header of that name, empty if it was not sent. `address` is where people open
    the pages.
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
    def context(self) -> ApplicationContext:
        """The context from which every subject is answered."""
        return self.application.context

    @property
    def name(self) -> str:
        return self.path["name"]

    @property
    def tx_hash(self) -> TxHash:
        return TxHash.parse(self.path["hash"])

    @property
    def sender(self) -> Address:
        return Address.parse(self.path["sender"])

    @property
    def number(self) -> int:
        text = self.path["number"]
        if not (text.isascii() and text.isdecimal() and len(text) < _DIGITS):
            raise NotFound("this address has to end with a number")
        return int(text)

    @property
    def network_id(self) -> NetworkId | None:
        """The network that the query is about, None for all; InputError if nothing is known of it.

        An empty list would pass for good news.
        """
        if self.query.network_id is None:
            return None
        network_id, context = NetworkId(self.query.network_id), self.context
        if context.profile(network_id) is None and not context.has_data_of(network_id):
            context.refuse_other_networks([network_id])
        return network_id


_DIGITS: Final = 16


class Reply(Struct, frozen=True):
    """An answer. `secrets` in it are shown this one time, and stored nowhere.

    `etag` names the version of a document that two people may edit.
    """

    form: Mapping[str, Json]
    secrets: Mapping[str, str] = field(default_factory=dict)
    etag: str = ""

    @classmethod
    def of_version(cls, document: Mapping[str, Json]) -> Reply:
        """Answer with a document that two people may edit."""
        return cls(document, etag=version_of(document))


Answer: TypeAlias = Callable[[Asked], Reply]


class Endpoint(Struct, frozen=True):
    """One verb at one path.

    `subject` groups endpoints, and is what a token may be limited to. An endpoint that acts
    requires the role of the action, every other one `least`. `answers` names the keys of its
    answer. `largest` is how many bytes its body may have. One that is not `is_limited` finds out
    itself what it is about, and checks the token then.
    """

    verb: str
    path: str
    summary: str
    answer: Answer
    answers: tuple[str, ...]
    action: Action | None = None
    body: type[Fields] | None = None
    query: type[Fields] = NoFields
    least: Role = Role.VIEWER
    needs_match: bool = False
    secrets: tuple[str, ...] = ()
    largest: int = LARGEST_BODY
    is_limited: bool = True

    @property
    def subject(self) -> str:
        """The first word of the path."""
        return self.path.split("/")[1]

    @property
    def role(self) -> Role:
        return self.least if self.action is None else least_role(self.action)

    def path_pattern(self) -> re.Pattern[str]:
        """Return the pattern of its path, with a group for each part in braces."""
        return re.compile(re.sub(r"\{(\w+)\}", r"(?P<\1>[^/]+)", self.path))


Found: TypeAlias = tuple[Listing[Any], Iterable[Any]]
"""Items with the listing that formats them."""


class Endpoints(list[Endpoint]):
    """The endpoints of some subjects, in the order of the functions that answer them."""

    def at(
        self,
        verb_and_path: str,
        summary: str,
        answers: str,
        action: Action | None = None,
        body: type[Fields] | None = None,
        **more: Any,  # noqa: ANN401 - fields of Endpoint
    ) -> Callable[[Answer], Answer]:
        """Register a function; `answers` are the keys of its answer, separated by blanks."""
        verb, _, path = verb_and_path.partition(" ")
        keys = tuple(answers.split())

        def take(answer: Answer) -> Answer:
            self.append(Endpoint(verb, path, summary, answer, keys, action, body, **more))
            return answer

        return take

    def listed(
        self,
        path: str,
        summary: str,
        query: type[Fields] = NoFields,
        least: Role = Role.VIEWER,
    ) -> Callable[[Callable[[Asked], Found]], Callable[[Asked], Found]]:
        """Register the JSON of a listing as the answer; its key is the first word of the path."""
        first, *others = path.split("/")[1].split("-")
        key = first + "".join(map(str.capitalize, others))

        def take(found: Callable[[Asked], Found]) -> Callable[[Asked], Found]:
            def answer(asked: Asked) -> Reply:
                listing, items = found(asked)
                return Reply({listing.key: listing.forms(items)})

            self.at(f"GET {path}", summary, key, query=query, least=least)(answer)
            return found

        return take


def require_subject(token: Token, subject: str) -> None:
    """Raise NotAllowed if a token gives no access to a subject."""
    if not token.opens(subject):
        raise NotAllowed(f"the token {token.name} does not open {subject}: use another one")


def version_of(form: Json | Mapping[str, Json]) -> str:
    """Return the ETag of a document."""
    canonical = msgspec.json.encode(form, order="sorted")
    return f'"{sha256(canonical).hexdigest()[:32]}"'


def refuse_other_version(asked: Asked, form: Json | Mapping[str, Json]) -> None:
    """Raise Changed if a document is not the version that a client has read."""
    if asked.if_match.strip() not in {"*", version_of(form)}:
        raise Changed("somebody changed it since you read it: read it again, then change that")


_CURSOR: Final = re.compile(r"(\d{1,15})\.([\da-f]{1,32})", re.ASCII)
_THOUSAND: Final = 1_000


def part_of(
    asked: Asked,
    read: Callable[[tuple[datetime, Id] | None, int], Sequence[Item]],
    place: Callable[[Item], tuple[datetime, Id]],
    read_id: Callable[[str], Id],
) -> tuple[Sequence[Item], str | None]:
    """Return the part of a list that a Slice asks for, and its cursor; None at the end.

    `read` returns the latest items after a place, at most so many; `place` is the moment and the id
    of an item, by which the list is sorted. So each part costs the same, however deep it is.
    """
    found = read(_from_cursor(asked.query.cursor, read_id), asked.query.limit + 1)
    shown = found[: asked.query.limit]
    if len(found) <= asked.query.limit:
        return shown, None
    at, row_id = place(shown[-1])
    milliseconds = int(at.timestamp()) * _THOUSAND + at.microsecond // _THOUSAND
    return shown, f"{milliseconds}.{getattr(row_id, 'hex', row_id)}"


def _from_cursor(cursor: str, read_id: Callable[[str], Id]) -> tuple[datetime, Id] | None:
    """Return the place after which to read; None for the beginning."""
    if not cursor:
        return None
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        raise bad_cursor()
    try:
        at = datetime.fromtimestamp(int(match[1]) // _THOUSAND, UTC)
        row_id = read_id(match[2])
    except (OverflowError, ValueError, OSError):
        raise bad_cursor() from None
    return at.replace(microsecond=int(match[1]) % _THOUSAND * _THOUSAND), row_id


def bad_cursor() -> InputError:
    """Return the error for a cursor that was never in an answer."""
    return InputError("the cursor is unknown: send the one of the previous answer, unchanged")
