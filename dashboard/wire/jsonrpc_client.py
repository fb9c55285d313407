"""JSON-RPC 2.0 for clients: calls written, replies read."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

from dashboard.errors import WireError
from dashboard.wire.decoding import UNREADABLE, read
from dashboard.wire.jsonrpc_errors import RpcError


@dataclass(frozen=True, slots=True)
class RpcReply:
    """One answer to a call of ours: exactly one of `result` (JSON text, may be null) and `error`.

    `id` is None where the sender gave none, or one that is no text or integer.
    """

    id: int | str | None
    result: Raw | None
    error: RpcError | None


class _ErrorJson(msgspec.Struct):
    code: int
    message: str = ""
    data: Any | UnsetType = UNSET


class _ReplyJson(msgspec.Struct):
    id: Raw = Raw(b"null")
    result: Raw = Raw(b"")
    error: _ErrorJson | None = None


_REPLIES: Final = msgspec.json.Decoder(list[Raw])
_REPLY: Final = msgspec.json.Decoder(_ReplyJson)
_REPLY_ID: Final[msgspec.json.Decoder[int | str]] = msgspec.json.Decoder(int | str)


def encode_call(method: str, params: object, call_id: int) -> bytes:
    """Write one call; `params` is a list or dict."""
    call = {"jsonrpc": "2.0", "id": call_id, "method": method, "params": params}
    return msgspec.json.encode(call)


def encode_batch(method: str, params: Sequence[object], first_id: int) -> bytes:
    """Write one call of `method` for each of `params`, with ids that count up from `first_id`."""
    calls = (encode_call(method, each, first_id + place) for place, each in enumerate(params))
    return b"[%b]" % b",".join(calls)


def decode_reply(body: bytes | Raw) -> RpcReply:
    """Read one reply object, or raise WireError."""
    envelope = read(_REPLY, body, "JSON-RPC reply")
    if envelope.error is not None:
        error = envelope.error
        return RpcReply(
            _reply_id(envelope.id), None, RpcError(error.code, error.message, error.data)
        )
    if not bytes(envelope.result):
        raise WireError("JSON-RPC reply: it has neither a result nor an error")
    return RpcReply(_reply_id(envelope.id), envelope.result, None)


def _reply_id(raw: Raw) -> int | str | None:
    try:
        return _REPLY_ID.decode(raw)
    except UNREADABLE:
        return None


def decode_replies(body: bytes) -> list[RpcReply]:
    """Read the answer to a batch: an array, or the single object that some send instead.

    An element that is no reply is left out, so that its call is unanswered and the others
    are not lost.
    """
    if not body.lstrip().startswith(b"["):
        return [decode_reply(body)]
    replies = []
    for text in read(_REPLIES, body, "JSON-RPC replies"):
        with suppress(WireError):
            replies.append(decode_reply(text))
    return replies
