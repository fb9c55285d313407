"""The values of the RPC as JSON Schemas, by the names that OpenRPC calls them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from dashboard.domain.exclusion import RejectionStage, SaveStatus
from dashboard.domain.reason import ReasonKind
from dashboard.store.rejections.counts import Grouping
from dashboard.wire.rejection_query import Order
from dashboard.wire.rejection_report import LARGEST_NUMBER, LONGEST_REASON

Schema = dict[str, Any]


def _text(pattern: str, title: str) -> Schema:
    return {"type": "string", "pattern": pattern, "title": title}


def _words(words: Iterable[str], title: str) -> Schema:
    return {"type": "string", "enum": [*words], "title": title}


def _object(properties: dict[str, Schema], title: str, optional: tuple[str, ...] = ()) -> Schema:
    required = [name for name in properties if name not in optional]
    return {
        "type": "object",
        "title": title,
        "properties": properties,
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _or_null(schema: Schema) -> Schema:
    return {"oneOf": [schema, {"type": "null"}]}


def reference(name: str) -> Schema:
    """Point to one of `SCHEMAS`."""
    return {"$ref": f"#/components/schemas/{name}"}


_NUMBER: Final[Schema] = {"type": "integer", "minimum": 0, "maximum": LARGEST_NUMBER}
_REASON: Final[Schema] = {"type": "string", "title": "reason message"}
_RECORD: Final[dict[str, Schema]] = {
    "txHash": reference("Hash"),
    "from": reference("Address"),
    "nonce": reference("Quantity"),
    "txRejectionStage": reference("Stage"),
    "reasonMessage": _REASON,
    "timestamp": reference("Moment"),
    "blockNumber": reference("Quantity"),
}
_REPORT_NUMBER: Final[Schema] = {"oneOf": [_NUMBER, {"type": "string", "pattern": "^[0-9]{1,19}$"}]}

SCHEMAS: Final[dict[str, Schema]] = {
    "Hash": _text("^0x[0-9a-f]{64}$", "hash of a transaction"),
    "AnyHash": _text("^(0[xX])?[0-9a-fA-F]{64}$", "hash of a transaction, in either case"),
    "HashPrefix": _text("^0[xX][0-9a-fA-F]{1,64}$", "first digits of a hash, or all 64"),
    "Address": _text("^0x[0-9a-f]{40}$", "address"),
    "AnyAddress": _text("^(0[xX])?[0-9a-fA-F]{40}$", "address, in either case"),
    "Bytes": _text("^(0[xX])?([0-9a-fA-F]{2})*$", "bytes"),
    "Quantity": _text("^0x(0|[1-9a-f][0-9a-f]*)$", "number, in hexadecimal"),
    "Moment": _text("Z$", "moment in UTC, ISO-8601, with milliseconds unless they are zero"),
    "AnyMoment": {"type": "string", "title": "moment, ISO-8601 with a zone or offset"},
    "Stage": _words(RejectionStage, "where it was rejected"),
    "ReasonKind": _words(ReasonKind, "which known form the reason has"),
    "Cursor": _text("^[A-Za-z0-9_-]{16}$", "place in the order of arrival; opaque"),
    "SubscriptionId": _text("^0x[0-9a-f]{32}$", "id of a subscription"),
    "Order": _words(Order, "order of arrival"),
    "Grouping": _words(Grouping, "what is counted by"),
    "Overflow": _object(
        {"module": {"type": "string"}, "count": _NUMBER, "limit": _NUMBER},
        "a module whose lines went over its limit",
    ),
    "Record": _object(
        _RECORD, "rejected transaction; blockNumber for SEQUENCER only", ("blockNumber",)
    ),
    "Report": _object(
        {
            "txRejectionStage": reference("Stage"),
            "timestamp": reference("AnyMoment"),
            "blockNumber": _or_null(_REPORT_NUMBER),
            "transactionRLP": reference("Bytes"),
            "reasonMessage": {"type": "string", "maxLength": LONGEST_REASON},
            "overflows": {
                "type": "array",
                "items": _object(
                    {
                        "module": {"type": "string"},
                        "count": _REPORT_NUMBER,
                        "limit": _REPORT_NUMBER,
                    },
                    "overflow",
                ),
            },
        },
        "what a node reports",
        ("blockNumber",),
    ),
    "Saved": _object(
        {"status": _words(SaveStatus, "what became of it"), "txHash": reference("Hash")},
        "acknowledgement",
    ),
    "Rejection": _object(
        {
            "networkId": reference("Quantity"),
            **_RECORD,
            "firstSeenAt": reference("Moment"),
            "reportedAt": _or_null(reference("Moment")),
            "source": {"type": "string", "enum": ["reported", "polled"]},
            "recipient": _or_null(reference("Address")),
            "module": _or_null({"type": "string"}),
            "reasonKind": reference("ReasonKind"),
            "count": _or_null(_NUMBER),
            "limit": _or_null(_NUMBER),
            "overrun": _or_null({"type": "number", "minimum": 0}),
            "overflows": {"type": "array", "items": reference("Overflow")},
            "cursor": reference("Cursor"),
        },
        "rejected transaction, with all that the archive knows",
        ("blockNumber", "recipient"),
    ),
    "Filter": _object(
        members := {
            "networkId": reference("Quantity"),
            "txHash": reference("HashPrefix"),
            "from": reference("AnyAddress"),
            "txRejectionStage": reference("Stage"),
            "module": {"type": "string", "pattern": "^[A-Za-z0-9_]{0,64}$"},
            "reasonKind": reference("ReasonKind"),
            "text": {"type": "string", "maxLength": 1024},
            "firstSeenFrom": reference("AnyMoment"),
            "firstSeenUntil": reference("AnyMoment"),
            "timestampFrom": reference("AnyMoment"),
            "timestampUntil": reference("AnyMoment"),
        },
        "what is looked for; all members have to fit, ends of times are included",
        tuple(members),
    ),
    "Page": _object(
        {
            "rejections": {"type": "array", "items": reference("Rejection")},
            "cursor": _or_null(reference("Cursor")),
            "hasMore": {"type": "boolean"},
        },
        "page",
    ),
    "Versions": _object(
        {
            "versions": {"type": "array", "items": reference("Rejection")},
            "hasMore": {"type": "boolean"},
        },
        "versions of one hash, newest claimed time first; those claimed ahead of our clock last",
    ),
    "Counts": _object(
        {
            "total": _NUMBER,
            "groupCount": _NUMBER,
            "groups": {
                "type": "array",
                "items": _object({"key": _or_null({"type": "string"}), "count": _NUMBER}, "group"),
            },
        },
        "counts",
    ),
}
