"""Batches of status questions as a client writes and reads them: a thousand in a millisecond."""

from __future__ import annotations

from binascii import hexlify
from collections.abc import Sequence
from functools import lru_cache
from operator import attrgetter
from struct import Struct
from typing import Final

import msgspec
from msgspec import Raw

from dashboard.domain.quantity import TxHash, pack
from dashboard.domain.rejections.exclusion import RejectedTransaction, StatusClaim
from dashboard.errors import WireError
from dashboard.wire.decoding import UNREADABLE
from dashboard.wire.exclusion import decode_members

BLOCK: Final = 1000
"""The largest batch. Ids of a batch begin with a multiple of it, so that all begin alike."""

_MARK: Final = b"#"
"""Stands where all ids of a batch begin alike; no method and no hash holds it."""


def encode_status_batch(method: str, hashes: Sequence[TxHash], first_id: int) -> bytes:
    """Write at most `BLOCK` calls of `method`, with ids that count up from a multiple of it."""
    template, length = _template(method)
    calls = (template[: length * len(hashes)] + b"]").replace(_MARK, b"%d" % (first_id // BLOCK))
    digits = Struct(f"{2 * TxHash.LENGTH}s" * len(hashes))
    return calls % digits.unpack(hexlify(pack(hashes)))


@lru_cache(maxsize=8)
def _template(method: str) -> tuple[bytes, int]:
    """Return the calls of a block with places for hashes, and how long a call is, with comma."""
    name = method.replace("%", "%%").encode("ascii")
    calls = [
        b'{"jsonrpc":"2.0","id":%b%03d,"method":"%b","params":["0x%%b"]}' % (_MARK, place, name)
        for place in range(BLOCK)
    ]
    return b"[" + b",".join(calls), len(calls[0]) + 1


class _PlainReply(msgspec.Struct, gc=False):
    """A reply as nearly all are: under a number, null or an object, and no error."""

    id: int
    result: dict[str, Raw] | None
    error: None = None


_PLAIN_REPLIES: Final = msgspec.json.Decoder(list[_PlainReply])


def decode_status_batch(
    body: bytes, first_id: int, count: int
) -> dict[int, RejectedTransaction | StatusClaim] | None:
    """Read the results that are not null, by the place of their call.

    None unless every call is answered plainly, once, under its id, and nothing else is there:
    `decode_replies` then tells what is wrong.
    """
    try:
        replies = _PLAIN_REPLIES.decode(body)
        results = {
            each.id - first_id: decode_members(each.result)
            for each in replies
            if each.result is not None
        }
    except (*UNREADABLE, WireError):
        return None
    asked = list(range(first_id, first_id + count))
    if [each.id for each in replies] != asked:
        replies.sort(key=attrgetter("id"))
        if [each.id for each in replies] != asked:
            return None
    return results
