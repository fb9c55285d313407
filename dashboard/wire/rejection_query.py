"""Params of queries of rejections: which, how many, in which order.

The message of a WireError is that of the -32602 reply.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final, TypeVar

from dashboard.domain.exclusion import RejectionStage
from dashboard.domain.quantity import NetworkId, TxHash, shorten
from dashboard.domain.reason_parser import ReasonKind
from dashboard.domain.rejection_filter import HashRange, RejectionFilter
from dashboard.errors import WireError
from dashboard.wire.decoding import named
from dashboard.wire.hexadecimal import parse_address, parse_number, parse_tx_hash
from dashboard.wire.params import named_arguments, object_members, require_text, whole_number
from dashboard.wire.timestamp import parse_timestamp

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


@dataclass(frozen=True, slots=True)
class ListQuery:
    """The params of `listRejectionsV1`; `cursor` is not decoded yet."""

    wanted: RejectionFilter = EVERYTHING
    limit: int = USUAL_PAGE
    order: Order = Order.NEWEST_FIRST
    cursor: object = None


@dataclass(frozen=True, slots=True)
class CountQuery:
    """The params of `countRejectionsV1`; `by` names what is counted by."""

    by: str
    wanted: RejectionFilter = EVERYTHING
    limit: int = USUAL_GROUPS


@dataclass(frozen=True, slots=True)
class SubscribeQuery:
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
    """Read the params of `unsubscribe`: the id that `subscribe` answered."""
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
    """Read the name of a module; an empty one matches reasons that name none."""
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
"""Members of a filter: the field that each sets, and how it is read."""
