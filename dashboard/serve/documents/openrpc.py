"""What the RPC serves, as an OpenRPC document: methods, params, results, errors, examples."""

from __future__ import annotations

from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final, NamedTuple

import msgspec

from dashboard.serve.documents.openrpc_examples import EXAMPLES
from dashboard.serve.documents.openrpc_schemas import SCHEMAS, Schema, reference
from dashboard.wire.exclusion import GET_STATUS, SAVE_REJECTED
from dashboard.wire.rejection_query import (
    LARGEST_PAGE,
    MOST_GROUPS,
    USUAL_GROUPS,
    USUAL_PAGE,
)

DISCOVER: Final = "rpc.discover"

_OPENRPC: Final = "1.3.2"

_ERRORS: Final[dict[str, Schema]] = {
    "InvalidParams": {"code": -32602, "message": "what is wrong with the params"},
    "ServerError": {"code": -32000, "message": "Server error", "data": "what keeps the store"},
    "NotAllowed": {"code": -32002, "message": "rejected due to project ID settings"},
    "RateExceeded": {
        "code": -32005,
        "message": "project ID request rate exceeded",
        "data": {"backoff_seconds": 1, "allowed_rps": 100},
    },
    "TooManySubscriptions": {"code": -32005, "message": "a connection may hold N subscriptions"},
    "ResponseTooLarge": {
        "code": -32003,
        "message": "response too large",
        "data": "ask for the rest in another batch",
    },
    "BatchTooSlow": {
        "code": -32003,
        "message": "batch takes too long",
        "data": "ask for the rest in another batch",
    },
    "NoWebSocket": {
        "code": -32601,
        "message": "Method not found",
        "data": "this method needs a WebSocket",
    },
    "InternalError": {"code": -32603, "message": "Internal error"},
}
_USUAL: Final = ("InvalidParams", "ServerError", "NotAllowed", "RateExceeded", "InternalError")
_OF_ARCHIVE: Final = (*_USUAL, "ResponseTooLarge", "BatchTooSlow")
_OVER_WEBSOCKET: Final = (*_USUAL, "NoWebSocket")


class _Param(NamedTuple):
    name: str
    schema: Schema
    summary: str
    is_required: bool = False


class _Method(NamedTuple):
    summary: str
    params: tuple[_Param, ...]
    result: Schema
    structure: str = "either"
    errors: tuple[str, ...] = _USUAL


_FILTER: Final = _Param(
    "filter", reference("Filter"), "what has to fit; without it everything does"
)


def _limit(usual: int, largest: int) -> _Param:
    schema = {"type": "integer", "minimum": 1, "maximum": largest, "default": usual}
    return _Param("limit", schema, "most items of one answer")


_METHODS: Final[dict[str, _Method]] = {
    GET_STATUS: _Method(
        "The visible record of a rejected transaction, or null. Null is no proof of inclusion.",
        (_Param("txHash", reference("AnyHash"), "the transaction", is_required=True),),
        {"oneOf": [reference("Record"), {"type": "null"}]},
        "by-position",
    ),
    SAVE_REJECTED: _Method(
        "Keep what a node rejected; acknowledged when it is on disk. The report may also be the "
        "params object itself.",
        (_Param("report", reference("Report"), "the rejection", is_required=True),),
        reference("Saved"),
        "by-position",
    ),
    "listRejectionsV1": _Method(
        "Rejections in the order of their arrival, page by page.",
        (
            _FILTER,
            _limit(USUAL_PAGE, LARGEST_PAGE),
            _Param("order", reference("Order"), "newest first unless said otherwise"),
            _Param("cursor", reference("Cursor"), "where the page before ended"),
        ),
        reference("Page"),
        errors=_OF_ARCHIVE,
    ),
    "getRejectionVersionsV1": _Method(
        "Every version that was ever seen of one hash, however old.",
        (_Param("txHash", reference("AnyHash"), "the transaction", is_required=True),),
        reference("Versions"),
        errors=_OF_ARCHIVE,
    ),
    "countRejectionsV1": _Method(
        "How many rejections there are of each kind: largest first, hours and days newest first.",
        (
            _Param("by", reference("Grouping"), "what is counted by", is_required=True),
            _FILTER,
            _limit(USUAL_GROUPS, MOST_GROUPS),
        ),
        reference("Counts"),
        errors=_OF_ARCHIVE,
    ),
    "subscribe": _Method(
        "Be told of new rejections over this WebSocket, as notifications linewatch_subscription.",
        (
            _Param("topic", {"type": "string", "const": "rejections"}, "of what", is_required=True),
            _FILTER,
            _Param("since", reference("Cursor"), "first tell what arrived after this place"),
        ),
        reference("SubscriptionId"),
        errors=(*_OVER_WEBSOCKET, "TooManySubscriptions"),
    ),
    "unsubscribe": _Method(
        "End a subscription; answers whether there was one.",
        (_Param("subscription", reference("SubscriptionId"), "which", is_required=True),),
        {"type": "boolean"},
        errors=_OVER_WEBSOCKET,
    ),
    DISCOVER: _Method("This document.", (), {"type": "object"}),
}


def openrpc_document(names: Iterable[str]) -> bytes:
    """Write the document of the methods that are served under these full names."""
    document = {
        "openrpc": _OPENRPC,
        "info": {
            "title": "Linewatch exclusion RPC",
            "version": version("linewatch"),
            "description": "Rejected transactions: reported by nodes, asked for by anybody.",
        },
        "methods": [_method(name) for name in sorted(names)],
        "components": {"schemas": SCHEMAS, "errors": _ERRORS},
    }
    return msgspec.json.encode(document)


def _method(full_name: str) -> dict[str, Any]:
    name = full_name if full_name == DISCOVER else full_name.partition("_")[2]
    method = _METHODS[name]
    example = EXAMPLES.get(name)
    return {
        "name": full_name,
        "summary": method.summary,
        "paramStructure": method.structure,
        "params": [_param(param) for param in method.params],
        "result": {"name": "result", "schema": method.result},
        "errors": [{"$ref": f"#/components/errors/{error}"} for error in method.errors],
        **({"examples": [_example(method, *example)]} if example else {}),
    }


def _param(param: _Param) -> dict[str, Any]:
    return {
        "name": param.name,
        "summary": param.summary,
        "required": param.is_required,
        "schema": param.schema,
    }


def _example(method: _Method, params: dict[str, Any], result: object) -> dict[str, Any]:
    given = [param.name for param in method.params if param.name in params]
    return {
        "name": "example",
        "params": [{"name": name, "value": params[name]} for name in given],
        "result": {"name": "result", "value": result},
    }
