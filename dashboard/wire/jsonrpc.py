"""JSON-RPC 2.0 for servers: requests and batches read, replies written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dashboard.errors import WireError
from dashboard.wire.decoding import UNREADABLE, read
from dashboard.wire.jsonrpc_errors import RpcError

RequestId: TypeAlias = Raw
"""An id as its JSON text, so that 1.0, 1e3 and numbers of any size are echoed unchanged."""

NULL_ID: Final[RequestId] = Raw(b"null")


@dataclass(frozen=True, slots=True)
class Request:
    """One call; `id` is UNSET for a notification, `params` a list or dict, UNSET where absent."""

    method: str
    params: Any | UnsetType
    id: RequestId | UnsetType


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """The reply where no request could be read."""

    id: RequestId
    error: RpcError


@dataclass(frozen=True, slots=True)
class RpcMessage:
    """A body: one item, or a batch in its order; a whole body in error is one ErrorReply."""

    items: list[Request | ErrorReply]
    is_batch: bool


class _RequestJson(msgspec.Struct):
    jsonrpc: Raw = Raw(b"")
    method: Raw = Raw(b"")
    params: Raw = Raw(b"")
    id: Raw = Raw(b"")


_REQUEST: Final = msgspec.json.Decoder(_RequestJson)
_RAW: Final = msgspec.json.Decoder(Raw)
_RAWS: Final = msgspec.json.Decoder(list[Raw])
_ANY: Final = msgspec.json.Decoder()
_BLANKS: Final = b" \t\r\n"


def parse_message(body: bytes, batch_limit: int | None = None) -> RpcMessage:
    """Read a body; never raises, since what cannot be read is an ErrorReply in its place.

    In a batch a malformed item fails alone. A batch of more than `batch_limit` items is
    refused whole.
    """
    try:
        body.decode()  # msgspec does not look into the strings that it keeps raw
        if body.lstrip(_BLANKS).startswith(b"["):
            return _batch(_RAWS.decode(body), batch_limit)
        return RpcMessage([_item(body)], is_batch=False)
    except UNREADABLE:
        return _refused(RpcError.parse_error())


def _refused(error: RpcError) -> RpcMessage:
    return RpcMessage([ErrorReply(NULL_ID, error)], is_batch=False)


def _batch(texts: list[Raw], limit: int | None) -> RpcMessage:
    if not texts:
        return _refused(RpcError.invalid_request("a batch may not be empty"))
    if limit is not None and len(texts) > limit:
        detail = f"a batch may hold {limit} requests, this one holds {len(texts)}"
        return _refused(RpcError.invalid_request(detail))
    return RpcMessage([_item(text) for text in texts], is_batch=True)


def _item(text: bytes | Raw) -> Request | ErrorReply:
    try:
        return _request(_REQUEST.decode(text))
    except msgspec.ValidationError:
        _RAW.decode(text)  # raises where the rest is no JSON either
        return ErrorReply(NULL_ID, RpcError.invalid_request("a request is an object"))
    except WireError as error:
        return ErrorReply(NULL_ID, RpcError.invalid_request(str(error)))


def _request(request: _RequestJson) -> Request:
    if _text(request.jsonrpc) != "2.0":
        raise WireError('jsonrpc must be "2.0"')
    method = _text(request.method)
    if not method:
        raise WireError("method must be a text that is not empty")
    return Request(method, _params(request.params), _id(request.id))


def _text(raw: Raw) -> str | None:
    value = _ANY.decode(raw) if bytes(raw).startswith(b'"') else None
    return value if isinstance(value, str) else None


def _params(raw: Raw) -> object:
    text = bytes(raw)
    if not text:
        return UNSET
    if not text.startswith((b"[", b"{")):
        raise WireError("params must be a list or an object")
    return read(_ANY, text, "params")


def _id(raw: Raw) -> RequestId | UnsetType:
    text = bytes(raw)
    if not text:
        return UNSET
    if text.startswith((b"[", b"{", b"t", b"f")):
        raise WireError("id must be a text, a number or null")
    return raw


def result_reply(request_id: RequestId, result: object) -> bytes:
    """Write a reply; a `result` of bytes or Raw is JSON already and goes out as it is."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (bytes(request_id), _json(result))


def error_reply(request_id: RequestId, error: RpcError) -> bytes:
    """Write an error reply."""
    members: dict[str, object] = {"code": error.code, "message": error.message}
    if error.data is not UNSET:
        members["data"] = error.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (bytes(request_id), _json(members))


def batch_reply(replies: Sequence[bytes]) -> bytes:
    """Join the replies to the items of a batch; not for none, which is answered with nothing."""
    return b"[%b]" % b",".join(replies)


def _json(value: object) -> bytes:
    return bytes(value) if isinstance(value, bytes | Raw) else msgspec.json.encode(value)
