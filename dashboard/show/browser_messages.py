"""Messages of browsers to Streamlit: those with more fields than a page sends are refused."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.proto.BackMsg_pb2 import BackMsg

_MOST_FIELDS: Final = 10_000
"""Of one message. A page has some hundred widgets, each with about three fields."""

_POLICY_VIOLATION: Final = 1008
_PARSED: Final = frozenset({"json_value", "json_trigger_value"})
"""Texts of JSON, which Streamlit parses: those of our charts have some hundred bytes."""

_LONGEST_NUMBER: Final = 10
"""Bytes of a number on the wire, of which each holds seven bits."""


class BoundedMessages:
    """ASGI middleware that closes a WebSocket instead of passing on a message with many fields.

    Streamlit takes a hundred times the bytes of each, keeps them with the session, and answers
    nobody meanwhile. Parsing alone takes thirty times the bytes, also of fields that later ones
    replace. A dropped message would leave a page that looks alive and is not refreshed; a closed
    one says that it has no connection.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass on everything else."""
        if scope["type"] != "websocket":
            await self._app(scope, receive, send)
            return

        async def bounded() -> Message:
            message = await receive()
            if not _has_many_fields(message.get("bytes") or b""):
                return message
            reason = f"a message may have {_MOST_FIELDS} fields"
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION, "reason": reason})
            return {"type": "websocket.disconnect", "code": _POLICY_VIOLATION}

        await self._app(scope, bounded, send)


def _has_many_fields(octets: bytes) -> bool:
    """Count fields without parsing; a short message cannot have so many."""
    if len(octets) <= _MOST_FIELDS:
        return False
    counts = _fields(octets, 0, len(octets), BackMsg.DESCRIPTOR)
    return any(total > _MOST_FIELDS for total in accumulate(counts))


def _fields(octets: bytes, start: int, end: int, kind: Any) -> Iterator[int]:  # noqa: ANN401 - a descriptor, which has no types
    """Yield how many fields each field on the wire counts for, and then those in it.

    Every field that Streamlit's parser reads counts, also in an invalid message: Streamlit refuses
    that itself. A packed list and a text of JSON count for their bytes.
    """
    at = start
    while at < end:
        yield 1
        tag, at = _number(octets, at)
        match tag & 7:
            case 0:
                _, at = _number(octets, at)
            case 1:
                at += 8
            case 2:
                length, at = _number(octets, at)
                known = kind.fields_by_number.get(tag >> 3)
                if known is not None and known.message_type is not None:
                    yield from _fields(octets, at, min(at + length, end), known.message_type)
                elif known is not None and (known.is_packed or known.name in _PARSED):
                    yield length
                at += length
            case 3 | 4:  # the begin and the end of a group, whose fields stand between them
                pass
            case 5:
                at += 4
            case _:
                return


def _number(octets: bytes, at: int) -> tuple[int, int]:
    """Return a number on the wire, and where it ends."""
    number, end = 0, at
    for shift, octet in enumerate(octets[at : at + _LONGEST_NUMBER]):
        number |= (octet & 0x7F) << 7 * shift
        end += 1
        if octet <= 0x7F:  # noqa: PLR2004 - the eighth bit says that the number goes on
            break
    return number, end
