"""Batches of hashes: how many an endpoint takes at once, and which reply belongs to which hash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isqrt
from typing import Final

from msgspec import Raw

from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, StatusClaim
from dashboard.errors import UpstreamError, UpstreamThrottled, UpstreamUnreadable, WireError
from dashboard.upstream.endpoint import Endpoint, failure_of, rpc_error, unreadable
from dashboard.wire.exclusion import decode_record, decode_status_batch, encode_status_batch
from dashboard.wire.jsonrpc import RpcReply, decode_replies, encode_call

_PATIENCE: Final = 50
"""Batches that must succeed at one size before a larger one is tried again, at first."""

_LONGEST_PATIENCE: Final = 6400
_AFTER_TROUBLE: Final = 10
"""The same where the size was lowered since answers were late, or asked too fast."""

_CLOSE: Final = 8
"""The search ends when what is refused is larger than what is accepted by an eighth at most."""


class BatchSize:
    """How many hashes go into one request: searched between what was answered and refused.

    After a refusal one hash is asked alone. If that is answered, it was the size.
    """

    def __init__(self, largest: int, accepted: int = 0, refused: int = 0) -> None:
        """Begin with the largest, or where an earlier search ended."""
        self._largest = largest
        self._beyond = largest + 1
        self.accepted = min(accepted, largest)
        self._refused = refused if 0 < refused < self._beyond else self._beyond
        self._answered = 0
        self._patience = _PATIENCE
        self._before: tuple[int, int] | None = None

    @property
    def refused(self) -> int:
        """The smallest number that is refused, as far as known; 0 if none is."""
        return 0 if self._refused == self._beyond else self._refused

    @property
    def now(self) -> int:
        """How many to ask at once now."""
        if self._refused == self._beyond:
            return self._largest
        if not self.accepted or self._is_settled:
            return max(1, self.accepted)
        middle = isqrt(self.accepted * self._refused)
        return min(max(middle, self.accepted + 1), self._refused - 1)

    @property
    def _is_settled(self) -> bool:
        return self._refused - self.accepted <= max(1, self.accepted // _CLOSE)

    def answer(self, count: int) -> None:
        self._before = None
        self._answered += count >= self.now
        self.accepted = max(self.accepted, count)
        if self._answered >= self._patience and self._is_settled:
            self._refused, self._answered = min(self._refused * 2, self._beyond), 0

    def refuse(self, count: int) -> None:
        self._before = self._before or (self.accepted, self._refused)
        self._refused, self._answered = count, 0
        self._patience = min(self._patience * 2, _LONGEST_PATIENCE)
        if self.accepted >= count:
            self.accepted = 0

    def slow_down(self, count: int, answered: int = 0) -> None:
        """So many at once were too many: too slow, or of which only `answered` were allowed."""
        self._before, self._patience = None, _AFTER_TROUBLE
        self._refused, self._answered = count, 0
        self.accepted = max(1, answered or count // 4)

    def restore(self) -> None:
        """Go back to before the refusals: one hash alone is refused too."""
        if self._before is not None:
            (self.accepted, self._refused), self._before = self._before, None


class BatchRefused(UpstreamUnreadable):
    """One reply came for a batch of several: this size of batch, or any, is not served."""


@dataclass(frozen=True, slots=True)
class Batch:
    """Hashes that are asked together: the first under `first_id`, each next under the next id."""

    endpoint: Endpoint
    first_id: int
    hashes: Sequence[TxHash]

    def question(self, method: str) -> bytes:
        if len(self.hashes) == 1:
            return encode_call(method, [str(self.hashes[0])], self.first_id)
        return encode_status_batch(method, self.hashes, self.first_id)

    def read(self, body: bytes) -> Mapping[int, ExclusionAnswer]:
        """Return the answers that are not null by place; UpstreamError where nothing is answered.

        Trouble with one reply is the failure of its hash. A record names its own hash and so proves
        that it is in its place. A null names nothing: it is believed only where every reply carries
        an id that was asked, once, and every record stands under the hash that it names. Otherwise
        replies may have been swapped.
        """
        plain = self._plainly_in_place(body)
        if plain is not None:
            return plain
        try:
            replies = decode_replies(body)
        except WireError as error:
            raise unreadable(self.endpoint, error) from None
        self._refuse_lone_reply(replies)
        return {
            place: answer
            for place, answer in enumerate(self._match(replies))
            if answer.record is not None or answer.claim is not None or answer.failure is not None
        }

    def _plainly_in_place(self, body: bytes) -> dict[int, ExclusionAnswer] | None:
        """Read an answer without any trouble, as nearly all are; None for every other."""
        said = decode_status_batch(body, self.first_id, len(self.hashes))
        if said is None:
            return None
        answers = {place: _said_of(self.hashes[place], each) for place, each in said.items()}
        return answers if all(map(_is_in_place, answers.values())) else None

    def _refuse_lone_reply(self, replies: Sequence[RpcReply]) -> None:
        """Raise where one reply stands for a whole batch, or where a fault names no question."""
        if len(replies) > 1:
            return
        name, asked = self.endpoint.name, len(self.hashes)
        fault = replies[0].error if replies and (asked > 1 or replies[0].id is None) else None
        error = None if fault is None else rpc_error(name, fault.code)
        if error is not None and (asked == 1 or isinstance(error, UpstreamThrottled)):
            raise error
        if asked > 1:
            raise BatchRefused(f"{name}: does not answer a batch of {asked}")

    def _match(self, replies: Sequence[RpcReply]) -> list[ExclusionAnswer]:
        by_id = {reply.id: reply for reply in replies}
        answers = [
            self._answer(tx_hash, by_id.get(self.first_id + place))
            for place, tx_hash in enumerate(self.hashes)
        ]
        return answers if self._is_in_order(replies, answers) else self._without_nulls(answers)

    def _answer(self, tx_hash: TxHash, reply: RpcReply | None) -> ExclusionAnswer:
        """Read one reply; whether its record is another hash's is judged over the whole batch."""
        try:
            return _said_of(tx_hash, self._said(reply))
        except UpstreamError as error:
            return ExclusionAnswer(tx_hash, failure=failure_of(error))

    def _said(self, reply: RpcReply | None) -> RejectedTransaction | StatusClaim | None:
        name = self.endpoint.name
        if reply is None:
            raise UpstreamUnreadable(f"{name}: the reply for this hash is missing")
        if reply.error is not None or reply.result is None:
            raise rpc_error(name, 0 if reply.error is None else reply.error.code)
        return self._decoded(reply.result)

    def _decoded(self, result: Raw) -> RejectedTransaction | StatusClaim | None:
        try:
            return decode_record(result)
        except WireError as error:
            raise unreadable(self.endpoint, error) from None

    def _is_in_order(self, replies: Sequence[RpcReply], answers: Iterable[ExclusionAnswer]) -> bool:
        asked = range(self.first_id, self.first_id + len(self.hashes))
        ids = [reply.id for reply in replies if reply.id is not None or reply.error is None]
        return (
            len(ids) == len(set(ids))
            and all(isinstance(each, int) and each in asked for each in ids)
            and all(_is_in_place(answer) for answer in answers)
        )

    def _without_nulls(self, answers: Iterable[ExclusionAnswer]) -> list[ExclusionAnswer]:
        """Keep the records that prove their place and the failures; duplicates fail both ways."""
        mixed_up = UpstreamUnreadable(f"{self.endpoint.name}: mixed up its replies")
        failure = failure_of(mixed_up)
        return [
            answer
            if answer.failure or (_names_hash(answer) and _is_in_place(answer))
            else ExclusionAnswer(answer.tx_hash, failure=failure)
            for answer in answers
        ]


def _said_of(tx_hash: TxHash, said: RejectedTransaction | StatusClaim | None) -> ExclusionAnswer:
    if isinstance(said, StatusClaim):
        return ExclusionAnswer(tx_hash, claim=said)
    return ExclusionAnswer(tx_hash, said)


def _is_in_place(answer: ExclusionAnswer) -> bool:
    said = answer.record or answer.claim
    return said is None or said.tx_hash in {None, answer.tx_hash}


def _names_hash(answer: ExclusionAnswer) -> bool:
    said = answer.record or answer.claim
    return said is not None and said.tx_hash is not None
