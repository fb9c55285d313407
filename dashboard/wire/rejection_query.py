"""Queries of rejections and their results: which, how many, in which order."""

from __future__ import annotations

import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType
from msgspec.structs import replace

from dashboard.domain.quantity import NetworkId, TxHash, shorten
from dashboard.domain.rejections.exclusion import (
    ArchivedRejection,
    ModuleOverflow,
    RejectionStage,
    StoredRejection,
)
from dashboard.domain.rejections.reasons import Reason, ReasonKind, overrun, parse_reason
from dashboard.domain.rejections.search import HashRange, RejectionFilter
from dashboard.errors import WireError
from dashboard.wire.decoding import format_timestamp, named, parse_timestamp
from dashboard.wire.node import LARGEST_NUMBER, parse_address, parse_number, parse_tx_hash
from dashboard.wire.params import named_arguments, object_members, require_text, whole_number

LARGEST_PAGE: Final = 1000
"""Rejections of one page; more is refused."""
USUAL_PAGE: Final = 100
MOST_GROUPS: Final = 1000
"""Groups of one count; more is refused."""
USUAL_GROUPS: Final = 100
LONGEST_TEXT: Final = 1024

_MODULE: Final = re.compile(r"\w{0,64}", re.ASCII)
_DIGITS: Final = re.compile(r"0[xX]([0-9a-fA-F]{1,64})", re.ASCII)

EVERYTHING: Final = RejectionFilter()

Word = TypeVar("Word", bound=StrEnum)


class Order(StrEnum):
    """The order of a page."""

    NEWEST_FIRST = "newest"
    OLDEST_FIRST = "oldest"


class ListQuery(Struct, frozen=True):
    """The params of `listRejectionsV1`; `cursor` is not decoded yet."""

    wanted: RejectionFilter = EVERYTHING
    limit: int = USUAL_PAGE
    order: Order = Order.NEWEST_FIRST
    cursor: object = None


class CountQuery(Struct, frozen=True):
    """The params of `countRejectionsV1`; `by` is the grouping."""

    by: str
    wanted: RejectionFilter = EVERYTHING
    limit: int = USUAL_GROUPS


class SubscribeQuery(Struct, frozen=True):
    """The params of `subscribe`; `since` is a cursor that is not decoded yet."""

    wanted: RejectionFilter = EVERYTHING
    since: object = None


def decode_list(params: object) -> ListQuery:
    """Read the params of `listRejectionsV1`."""
    given = named_arguments(params, ("filter", "limit", "order", "cursor"))
    return ListQuery(
        _filter(given),
        _limit(given, USUAL_PAGE, LARGEST_PAGE),
        named("order", _word(Order), given.get("order", Order.NEWEST_FIRST)),
        given.get("cursor"),
    )


def decode_versions(params: object) -> TxHash:
    """Read the params of `getRejectionVersionsV1`: a whole hash."""
    given = named_arguments(params, ("txHash",), ("txHash",))
    return named("txHash", lambda value: parse_tx_hash(require_text(value)), given["txHash"])


def decode_count(params: object, groupings: type[StrEnum]) -> CountQuery:
    """Read the params of `countRejectionsV1`."""
    given = named_arguments(params, ("by", "filter", "limit"), ("by",))
    by = named("by", _word(groupings), given["by"])
    return CountQuery(by, _filter(given), _limit(given, USUAL_GROUPS, MOST_GROUPS))


def decode_subscribe(params: object) -> SubscribeQuery:
    """Read the params of `subscribe`; the only topic is rejections."""
    given = named_arguments(params, ("topic", "filter", "since"), ("topic",))
    if given["topic"] != "rejections":
        raise WireError(f"topic: {shorten(str(given['topic']))} is not rejections")
    return SubscribeQuery(_filter(given), given.get("since"))


def decode_unsubscribe(params: object) -> str:
    """Read the params of `unsubscribe`: the id that `subscribe` returned."""
    given = named_arguments(params, ("subscription",), ("subscription",))
    return named("subscription", require_text, given["subscription"])


def _filter(given: Mapping[str, object]) -> RejectionFilter:
    members = object_members(given.get("filter", {}), "filter", tuple(_MEMBERS))
    changes: dict[str, Any] = {
        field: named(f"filter.{name}", read, members[name])
        for name, (field, read) in _MEMBERS.items()
        if name in members
    }
    return RejectionFilter(**changes)


def _limit(given: Mapping[str, object], usual: int, largest: int) -> int:
    return named("limit", lambda value: whole_number(value, largest), given.get("limit", usual))


def _word(words: type[Word]) -> Callable[[object], Word]:
    def read(value: object) -> Word:
        if not isinstance(value, str) or value not in set(words):
            raise WireError(f"{shorten(str(value))} is none of {', '.join(words)}")
        return words(value)

    return read


def _network(value: object) -> NetworkId:
    if not isinstance(value, str):
        raise WireError('should be a hexadecimal quantity in text, such as "0xe708"')
    return NetworkId(parse_number(value))


def _hashes(value: object) -> HashRange:
    match = _DIGITS.fullmatch(require_text(value))
    if match is None:
        raise WireError(f"{shorten(str(value))} is not 0x and 1 to 64 hexadecimal digits")
    return HashRange.beginning_with(match[1])


def _text(value: object) -> str:
    text = require_text(value)
    if len(text) > LONGEST_TEXT:
        raise WireError(f"should not be more than {LONGEST_TEXT} characters")
    return text


def _module(value: object) -> str:
    """Parse the name of a module; an empty one matches reasons without a module."""
    if not _MODULE.fullmatch(require_text(value)):
        raise WireError("should be at most 64 letters, digits and underscores")
    return require_text(value)


def _moment(value: object) -> Any:  # noqa: ANN401 - one of many kinds of filter value
    return parse_timestamp(require_text(value))


_MEMBERS: Final[Mapping[str, tuple[str, Callable[[object], Any]]]] = {
    "networkId": ("network_id", _network),
    "txHash": ("tx_hashes", _hashes),
    "from": ("sender", lambda value: parse_address(require_text(value))),
    "txRejectionStage": ("tx_rejection_stage", _word(RejectionStage)),
    "module": ("module", _module),
    "reasonKind": ("reason_kind", _word(ReasonKind)),
    "text": ("text", _text),
    "firstSeenFrom": ("since", _moment),
    "firstSeenUntil": ("until", _moment),
    "timestampFrom": ("claimed_since", _moment),
    "timestampUntil": ("claimed_until", _moment),
}
"""The members of a filter: the field that each one sets, and how it is parsed."""


LARGEST_ANSWER: Final = 1_000_000
"""Bytes of one page or list of versions; it is cut there, and says that there is more."""


class _RejectionJson(msgspec.Struct, rename="camel", omit_defaults=True):
    network_id: str
    tx_hash: str
    sender: str | None = msgspec.field(name="from")
    nonce: str | None
    tx_rejection_stage: str | None
    reason_message: str
    timestamp: str | None
    first_seen_at: str
    reported_at: str | None
    source: str
    module: str | None
    reason_kind: str
    count: int | None
    limit: int | None
    overrun: float | None
    overflows: tuple[ModuleOverflow, ...]
    cursor: str
    recipient: str | UnsetType | None = UNSET
    block_number: str | None = None


def encode_rejection(archived: ArchivedRejection, installation: UUID) -> bytes:
    """Encode one rejection: the members of its record, and what only our store knows.

    A member that the record lacks is null. `recipient` is left out if it is unknown, and
    `blockNumber` as in the record. `count` and `limit` come from the reason, or else from the
    overflow of the module that the reason names.
    """
    it = archived.rejection
    record = it.record
    reason = _with_figures(parse_reason(record.reason_message), it)
    ratio = overrun(reason)
    stage, at = record.tx_rejection_stage, record.timestamp
    is_sequencer = stage is RejectionStage.SEQUENCER
    recipient = None if archived.recipient is None else str(archived.recipient)
    return msgspec.json.encode(
        _RejectionJson(
            network_id=hex(it.network_id),
            tx_hash=str(record.tx_hash),
            sender=None if record.sender is None else str(record.sender),
            nonce=None if record.nonce is None else hex(record.nonce),
            tx_rejection_stage=None if stage is RejectionStage.UNKNOWN else stage,
            reason_message=record.reason_message,
            timestamp=None if at is None else format_timestamp(at),
            first_seen_at=format_timestamp(it.first_seen_at),
            reported_at=None if it.reported_at is None else format_timestamp(it.reported_at),
            source="polled" if it.reported_at is None else "reported",
            module=reason.module,
            reason_kind=reason.kind,
            count=reason.count,
            limit=reason.limit,
            overrun=None if ratio is None else round(ratio, 4),
            overflows=it.overflows,
            cursor=encode_cursor(it.rejection_id, installation),
            recipient=recipient if archived.is_signed_held else UNSET,
            block_number=hex(record.block_number)
            if is_sequencer and record.block_number is not None
            else None,
        )
    )


def within_bounds(items: Iterable[bytes], most: int = LARGEST_ANSWER) -> list[bytes]:
    """Return the first items that together have at most `most` bytes, at least one."""
    taken: list[bytes] = []
    size = 0
    for item in items:
        size += len(item)
        if taken and size > most:
            break
        taken.append(item)
    return taken


def encode_page(items: Sequence[bytes], cursor: str | None, *, has_more: bool) -> bytes:
    """Write the result of `listRejectionsV1`."""
    rejections = [Raw(item) for item in items]
    return msgspec.json.encode({"rejections": rejections, "cursor": cursor, "hasMore": has_more})


def encode_versions(items: Sequence[bytes], *, has_more: bool) -> bytes:
    """Write the result of `getRejectionVersionsV1`."""
    return msgspec.json.encode({"versions": [Raw(item) for item in items], "hasMore": has_more})


def encode_counts(groups: Iterable[tuple[str | None, int]], of: int, total: int) -> bytes:
    """Write the result of `countRejectionsV1`."""
    written = [{"key": key, "count": count} for key, count in groups]
    return msgspec.json.encode({"total": total, "groupCount": of, "groups": written})


def _with_figures(reason: Reason, rejection: StoredRejection) -> Reason:
    """Fill in what a reason lacks from the overflow of its module; drop numbers above 64 bits."""
    count, limit = reason.count, reason.limit
    if reason.module is not None and count is None:
        for each in rejection.overflows:
            if each.module == reason.module:
                count, limit = each.count, each.limit
                break
    return replace(reason, count=_held(count), limit=_held(limit))


def _held(number: int | None) -> int | None:
    return number if number is not None and number <= LARGEST_NUMBER else None


_TEXT: Final = re.compile(r"[A-Za-z0-9_-]{16}", re.ASCII)
_OWNER: Final = 4
_LARGEST_PLACE: Final = 2**63 - 1


def encode_cursor(place: int, installation: UUID) -> str:
    """Encode a position, after the first bytes of the installation's id."""
    return urlsafe_b64encode(installation.bytes[:_OWNER] + place.to_bytes(8, "big")).decode()


def decode_cursor(value: object, installation: UUID) -> int:
    """Decode a position; WireError for a text that this installation did not give out."""
    if not isinstance(value, str) or not _TEXT.fullmatch(value):
        raise WireError(f"{shorten(str(value))} is not a cursor: give one that an answer contained")
    raw = urlsafe_b64decode(value)
    place = int.from_bytes(raw[_OWNER:], "big")
    if raw[:_OWNER] != installation.bytes[:_OWNER] or place > _LARGEST_PLACE:
        raise WireError(f"{value} is not a cursor of this installation: begin without one")
    return place
