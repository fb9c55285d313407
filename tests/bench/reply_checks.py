"""Judges of replies: the exact bytes that we promise, or at least the same JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from tests.bench.load_generator import Burst
from tests.bench.rounds import WrongAnswerError

_JSON = msgspec.json.Decoder()


class Truth:
    """The right reply to each question, by its number."""

    def __init__(self, replies: Sequence[bytes], lookups_each: int = 1) -> None:
        """Take what a reply says, as we write it; each is about `lookups_each` hashes."""
        self._replies = replies
        self._lookups_each = lookups_each

    def judge(self, burst: Burst) -> int:
        """Count lookups; replies of peers may differ in blanks and in the order of keys."""
        for volley, bodies in burst.answered:
            wanted = self._replies[volley.first : volley.first + volley.replies]
            if bodies != wanted and not _are_same(bodies, wanted):
                raise WrongAnswerError(_difference(bodies, wanted))
        return burst.replies * self._lookups_each


def _are_same(bodies: Sequence[bytes], wanted: Sequence[bytes]) -> bool:
    return len(bodies) == len(wanted) and all(map(_is_same, bodies, wanted))


def _is_same(told: bytes, wanted: bytes) -> bool:
    if told == wanted:
        return True
    one, other = _JSON.decode(told), _JSON.decode(wanted)
    return bool(_ordered(one) == _ordered(other))


def _ordered(reply: Any) -> Any:  # noqa: ANN401 - any JSON
    """Put a batch in the order of its ids: JSON-RPC lets a server answer in any."""
    if not isinstance(reply, list):
        return reply
    return sorted(reply, key=lambda each: str(each.get("id")))


def _difference(bodies: Sequence[bytes], wanted: Sequence[bytes]) -> str:
    for told, right in zip(bodies, wanted, strict=False):
        if not _is_same(told, right):
            return f"told {told[:300]!r} where {right[:300]!r} is true"
    return f"{len(bodies)} replies to {len(wanted)} questions"
