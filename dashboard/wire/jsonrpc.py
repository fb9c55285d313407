"""JSON-RPC 2.0 for servers and clients: requests, batches, replies and errors."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Final, Self, TypeAlias

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from dashboard.errors import StoreError, StoreUnavailable, WireError
from dashboard.wire.decoding import UNREADABLE, read


class RpcError(Struct, frozen=True):
    """The error object of a reply; a value, not an exception. Some servers send no message."""

    code: int
    message: str = ""
    data: Any | UnsetType = UNSET

    @classmethod
    def parse_error(cls) -> Self:
        """Return the error for text that is not JSON."""
        return cls(-32700, "Parse error")

    @classmethod
    def invalid_request(cls, detail: str | UnsetType = UNSET) -> Self:
        """Return the error for JSON that is not a request; `detail` says why."""
        return cls(-32600, "Invalid Request", detail)

    @classmethod
    def method_not_found(cls, name: str) -> Self:
        """Return the error for a method that is not served."""
        return cls(-32601, "Method not found", name)

    @classmethod
    def invalid_params(cls, message: str) -> Self:
        """Return the error for wrong params; `message` comes from a WireError."""
        return cls(-32602, message)

    @classmethod
    def not_allowed(cls) -> Self:
        """Return the error for a call that the key does not allow."""
        return cls(-32002, "rejected due to project ID settings")

    @classmethod
    def rate_exceeded(cls, seconds: int, allowed: float | None) -> Self:
        """Return the error for calls that came too fast; `allowed` is the rate in calls a second.

        `allowed` is None if there is no valid key and so no rate. Whole rates are sent as whole
        numbers.
        """
        whole = None if allowed is None or allowed % 1 else int(allowed)
        data = {"backoff_seconds": seconds, "allowed_rps": allowed if whole is None else whole}
        return cls(-32005, "project ID request rate exceeded", data)

    @classmethod
    def server_error(cls, detail: str) -> Self:
        """Return the error while the store cannot be used; `detail` says whether to try again."""
        return cls(-32000, "Server error", detail)

    @classmethod
    def answer_too_large(cls) -> Self:
        """Return the error for calls after their batch's answer became too large, as in geth."""
        return cls(-32003, "response too large", "ask for the rest in another batch")

    @classmethod
    def batch_too_slow(cls) -> Self:
        """Return the error for calls after their batch took too long."""
        return cls(-32003, "batch takes too long", "ask for the rest in another batch")

    @classmethod
    def internal_error(cls) -> Self:
        """Return the error after a mistake of ours."""
        return cls(-32603, "Internal error")


def store_rpc_error(error: StoreError) -> RpcError:
    """Return the error for a caller: whether to try again. Details belong in the log only."""
    if isinstance(error, StoreUnavailable):
        remedy = "The store cannot be used now, and nothing was saved: try again later"
    else:
        remedy = "The store cannot be used until its operator repairs it, and nothing was saved"
    return RpcError.server_error(remedy)


RequestId: TypeAlias = Raw
"""An id as JSON text, so that 1.0, 1e3 and numbers of any size are echoed unchanged."""

NULL_ID: Final[RequestId] = Raw(b"null")


class Request(Struct, frozen=True):
    """One call; `id` is UNSET for a notification, `params` a list or dict, UNSET if missing."""

    method: str
    params: Any | UnsetType
    id: RequestId | UnsetType


class ErrorReply(Struct, frozen=True):
    """The reply to a request that could not be read."""

    id: RequestId
    error: RpcError


class RpcMessage(Struct, frozen=True):
    """A body: one item, or a batch in order. If the whole body is wrong, it is one ErrorReply."""

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
    """Parse a body; never raises: what cannot be read becomes an ErrorReply in its place.

    In a batch, a malformed item fails alone. A batch of more than `batch_limit` items is refused as
    a whole.
    """
    try:
        body.decode()  # msgspec does not check strings that it keeps raw
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
        _RAW.decode(text)  # raises if the text is not JSON either
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
    """Encode a reply; a `result` of bytes or Raw is already JSON and is sent unchanged."""
    return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (bytes(request_id), _json(result))


def error_reply(request_id: RequestId, error: RpcError) -> bytes:
    return b'{"jsonrpc":"2.0","id":%b,"error":%b}' % (bytes(request_id), _json(error))


def batch_reply(replies: Sequence[bytes]) -> bytes:
    """Join the replies to a batch; the caller sends nothing if there are none."""
    return b"[%b]" % b",".join(replies)


def _json(value: object) -> bytes:
    return bytes(value) if isinstance(value, bytes | Raw) else msgspec.json.encode(value)


class RpcReply(Struct, frozen=True):
    """One answer to a call of ours: exactly one of `result` (JSON text, may be null) and `error`.

    `id` is None if the sender gave none, or one that is neither text nor an integer.
    """

    id: int | str | None
    result: Raw | None
    error: RpcError | None


class _ReplyJson(msgspec.Struct):
    id: Raw = Raw(b"null")
    result: Raw = Raw(b"")
    error: RpcError | None = None


_REPLIES: Final = msgspec.json.Decoder(list[Raw])
_REPLY: Final = msgspec.json.Decoder(_ReplyJson)
_REPLY_ID: Final[msgspec.json.Decoder[int | str]] = msgspec.json.Decoder(int | str)


def encode_call(method: str, params: object, call_id: int) -> bytes:
    """Encode one call; `params` is a list or dict."""
    call = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
    return msgspec.json.encode(call)


def encode_batch(method: str, params: Sequence[object], first_id: int) -> bytes:
    """Encode one call of `method` for each of `params`; ids count up from `first_id`."""
    calls = (encode_call(method, each, first_id + place) for place, each in enumerate(params))
    return b"[%b]" % b",".join(calls)


def decode_reply(body: bytes | Raw) -> RpcReply:
    """Decode one reply object, or raise WireError."""
    envelope = read(_REPLY, body, "JSON-RPC reply")
    if envelope.error is not None:
        return RpcReply(_reply_id(envelope.id), None, envelope.error)
    if not bytes(envelope.result):
        raise WireError("JSON-RPC reply: it has neither a result nor an error")
    return RpcReply(_reply_id(envelope.id), envelope.result, None)


def _reply_id(raw: Raw) -> int | str | None:
    try:
        return _REPLY_ID.decode(raw)
    except UNREADABLE:
        return None


def decode_replies(body: bytes) -> list[RpcReply]:
    """Decode the answer to a batch: an array, or the single object that some send instead.

    An invalid element is left out, so that only its own call is unanswered.
    """
    if not body.lstrip().startswith(b"["):
        return [decode_reply(body)]
    replies = []
    for text in read(_REPLIES, body, "JSON-RPC replies"):
        with suppress(WireError):
            replies.append(decode_reply(text))
    return replies
