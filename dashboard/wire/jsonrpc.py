"""JSON-RPC 2.0 text for both ends: requests and batches read, replies written, and the reverse."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dashboard.errors import WireError
from dashboard.wire.decoding import UNREADABLE, read

RequestId: TypeAlias = Raw
"""An id as its very text, so that 1.0, 1e3 and numbers of any size are echoed unchanged."""

NULL_ID: Final[RequestId] = Raw(b"null")


@dataclass(frozen=True, slots=True)
class RpcFault:
    """The error object of a reply; codes and messages as the exclusion API sends them."""

    code: int
    message: str
    data: Any | UnsetType = UNSET

    @classmethod
    def parse_error(cls) -> Self:
        """Answer text that is no JSON."""
        return cls(-32700, "Parse error")

    @classmethod
    def invalid_request(cls, detail: str | UnsetType = UNSET) -> Self:
        """Answer JSON that is no request; `detail` says why."""
        return cls(-32600, "Invalid Request", detail)

    @classmethod
    def method_not_found(cls, name: str) -> Self:
        """Name a method that is not served."""
        return cls(-32601, "Method not found", name)

    @classmethod
    def invalid_params(cls, message: str) -> Self:
        """Answer params that the method cannot use; `message` is the text of a WireError."""
        return cls(-32602, message)

    @classmethod
    def server_error(cls, detail: str) -> Self:
        """Tell what keeps the store from doing it now."""
        return cls(-32000, "Server error", detail)

    @classmethod
    def internal_error(cls) -> Self:
        """Own up to a fault of ours."""
        return cls(-32603, "Internal error")


@dataclass(frozen=True, slots=True)
class Request:
    """One call; `id` is UNSET for a notification, `params` a list or dict, UNSET where absent."""

    method: str
    params: Any | UnsetType
    id: RequestId | UnsetType


@dataclass(frozen=True, slots=True)
class ErrorReply:
    """What to answer where no request could be read."""

    id: RequestId
    fault: RpcFault


@dataclass(frozen=True, slots=True)
class Message:
    """A body: one item, or a batch in its order; a whole body in error is one ErrorReply."""

    items: list[Request | ErrorReply]
    is_batch: bool


class _Envelope(msgspec.Struct):
    jsonrpc: Raw = Raw(b"")
    method: Raw = Raw(b"")
    params: Raw = Raw(b"")
    id: Raw = Raw(b"")


_ENVELOPE: Final = msgspec.json.Decoder(_Envelope)
_RAW: Final = msgspec.json.Decoder(Raw)
_RAWS: Final = msgspec.json.Decoder(list[Raw])
_ANY: Final = msgspec.json.Decoder()
_BLANKS: Final = b" \t\r\n"


def parse_message(body: bytes, batch_limit: int | None = None) -> Message:
    """Read a body; never raises, since what cannot be read is an ErrorReply in its place.

    In a batch a malformed item fails alone. A batch of more than `batch_limit` items is
    refused whole.
    """
    try:
        body.decode()  # msgspec does not look into the strings that it keeps raw
        if body.lstrip(_BLANKS).startswith(b"["):
            return _batch(_RAWS.decode(body), batch_limit)
        return Message([_item(body)], is_batch=False)
    except UNREADABLE:
        return _refused(RpcFault.parse_error())


def _refused(fault: RpcFault) -> Message:
    return Message([ErrorReply(NULL_ID, fault)], is_batch=False)


def _batch(texts: list[Raw], limit: int | None) -> Message:
    if not texts:
        return _refused(RpcFault.invalid_request("a batch may not be empty"))
    if limit is not None and len(texts) > limit:
        detail = f"a batch may hold {limit} requests, this one holds {len(texts)}"
        return _refused(RpcFault.invalid_request(detail))
    return Message([_item(text) for text in texts], is_batch=True)


def _item(text: bytes | Raw) -> Request | ErrorReply:
    try:
        return _request(_ENVELOPE.decode(text))
    except msgspec.ValidationError:
        _RAW.decode(text)  # raises where the rest is no JSON either
        return ErrorReply(NULL_ID, RpcFault.invalid_request("a request is an object"))
    except WireError as error:
        return ErrorReply(NULL_ID, RpcFault.invalid_request(str(error)))


def _request(envelope: _Envelope) -> Request:
    if _text(envelope.jsonrpc) != "2.0":
        raise WireError('jsonrpc must be "2.0"')
    method = _text(envelope.method)
    if not method:
        raise WireError("method must be a text that is not empty")
    return Request(method, _params(envelope.params), _id(envelope.id))


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


def error_reply(request_id: RequestId, fault: RpcFault) -> bytes:
    """Write an error reply."""
    error: dict[str, object] = {"code": fault.code, "message": fault.message}
    if fault.data is not UNSET:
        error["data"] = fault.data
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (bytes(request_id), _json(error))


def batch_reply(replies: Sequence[bytes]) -> bytes:
    """Join the replies to the items of a batch; not for none, which is answered with nothing."""
    return b"[%b]" % b",".join(replies)


def _json(value: object) -> bytes:
    return bytes(value) if isinstance(value, bytes | Raw) else msgspec.json.encode(value)


@dataclass(frozen=True, slots=True)
class Reply:
    """One answer to a call of ours: exactly one of `result` (JSON text, may be null) and `fault`.

    `id` is None where the sender could not name the call, or named it by no text or integer.
    """

    id: int | str | None
    result: Raw | None
    fault: RpcFault | None


class _ErrorObject(msgspec.Struct):
    code: int
    message: str = ""
    data: Any | UnsetType = UNSET


class _ReplyEnvelope(msgspec.Struct):
    id: Raw = NULL_ID
    result: Raw = Raw(b"")
    error: _ErrorObject | None = None


_REPLY: Final = msgspec.json.Decoder(_ReplyEnvelope)
_REPLY_ID: Final[msgspec.json.Decoder[int | str]] = msgspec.json.Decoder(int | str)


def encode_call(method: str, params: object, call_id: int) -> bytes:
    """Write one call; `params` is a list or dict."""
    call = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
    return msgspec.json.encode(call)


def encode_batch(method: str, params: Sequence[object], first_id: int) -> bytes:
    """Write one call of `method` for each of `params`, with ids that count up from `first_id`."""
    calls = (encode_call(method, each, first_id + place) for place, each in enumerate(params))
    return b"[%b]" % b",".join(calls)


def decode_reply(body: bytes | Raw) -> Reply:
    """Read one reply object, or raise WireError."""
    envelope = read(_REPLY, body, "JSON-RPC reply")
    if envelope.error is not None:
        error = envelope.error
        return Reply(_reply_id(envelope.id), None, RpcFault(error.code, error.message, error.data))
    if not bytes(envelope.result):
        raise WireError("JSON-RPC reply: it has neither a result nor an error")
    return Reply(_reply_id(envelope.id), envelope.result, None)


def _reply_id(raw: Raw) -> int | str | None:
    try:
        return _REPLY_ID.decode(raw)
    except UNREADABLE:
        return None


def decode_replies(body: bytes) -> list[Reply]:
    """Read the answer to a batch: an array, or the single object that some send instead.

    An element that is no reply is left out, so that its call is unanswered and the others
    are not lost.
    """
    if not body.lstrip(_BLANKS).startswith(b"["):
        return [decode_reply(body)]
    replies = []
    for text in read(_RAWS, body, "JSON-RPC replies"):
        with suppress(WireError):
            replies.append(decode_reply(text))
    return replies
