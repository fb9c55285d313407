"""Batches of status questions as a client writes and reads them: a thousand in a millisecond."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from typing import Final

import msgspec
from msgspec import Raw

from dashboard.domain.quantity import TxHash
from dashboard.wire.decoding import UNREADABLE

BLOCK: Final = 1000
"""The largest batch. Ids of a batch begin with a multiple of it, so that all begin alike."""

_MARK: Final = "#"
"""Stands where all ids of a batch begin alike; no method and no hash holds it."""


def encode_status_batch(method: str, hashes: Sequence[TxHash], first_id: int) -> bytes:
    """Write at most `BLOCK` calls of `method`, with ids that count up from a multiple of it."""
    pieces = [""] * (2 * len(hashes))
    pieces[::2] = _heads(method)[: len(hashes)]
    pieces[1::2] = b"".join(hashes).hex("\n", TxHash.LENGTH).split("\n")
    text = "".join(pieces).replace(_MARK, str(first_id // BLOCK))
    return f'[{text}"]}}]'.encode("ascii")


@lru_cache(maxsize=8)
def _heads(method: str) -> list[str]:
    """Return what stands before each hash."""
    calls = [
        f'{{"jsonrpc":"2.0","id":{_MARK}{place:03d},"method":"{method}","params":["0x'
        for place in range(BLOCK)
    ]
    return calls[:1] + [f'"]}},{each}' for each in calls[1:]]


class _PlainReply(msgspec.Struct, gc=False):
    """A reply as nearly all are: under a number, null or an object, and no error."""

    id: int
    result: dict[str, Raw] | None
    error: None = None


_PLAIN_REPLIES: Final = msgspec.json.Decoder(list[_PlainReply])


def decode_status_batch(body: bytes, first_id: int, count: int) -> dict[int, bytes] | None:
    """Read the results that are not null, as JSON by the place of their call.

    None unless every call is answered plainly, once, under its id, and nothing else is there:
    `decode_replies` then tells what is wrong.
    """
    try:
        replies = _PLAIN_REPLIES.decode(body)
    except UNREADABLE:
        return None
    asked = list(range(first_id, first_id + count))
    if [each.id for each in replies] != asked:
        replies.sort(key=attrgetter("id"))
        if [each.id for each in replies] != asked:
            return None
    return {
        place: msgspec.json.encode(reply.result)
        for place, reply in enumerate(replies)
        if reply.result is not None
    }
