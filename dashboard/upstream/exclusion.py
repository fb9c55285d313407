"""The exclusion API: ask about many hashes in batches, match the replies, hand in a report."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from msgspec import Raw

from dashboard.domain.health.observation import ExclusionAnswer, FailureKind
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import (
    RejectedTransaction,
    RejectionReport,
    SaveStatus,
    StatusClaim,
)
from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnreadable,
    WireError,
)
from dashboard.upstream.endpoint import (
    Asker,
    Endpoint,
    body_limit,
    failure_of,
    rpc_error,
    unreadable,
)
from dashboard.wire.exclusion import decode_record, decode_saved, method_name
from dashboard.wire.jsonrpc import RpcReply, decode_replies, decode_reply, encode_batch, encode_call
from dashboard.wire.params import GET_STATUS, SAVE_REJECTED
from dashboard.wire.rejection_report import encode_report

LARGEST_BATCH: Final = 1000
SINGLES_IN_FLIGHT: Final = 4
"""Single requests that may wait for their answers at once; clients of HTTP/1.1 slow down early."""

_SHRINK: Final = 10
_TRUST_AFTER: Final = 50
"""Batches that must succeed at one size before a larger one is tried again."""


@dataclass(frozen=True, slots=True)
class _Round:
    """Answers to the next hashes; `must_stop` where asking for more would fare no better."""

    answers: list[ExclusionAnswer]
    must_stop: bool = False


class _BatchRefused(UpstreamUnreadable):
    """One reply came for a batch of several: this size of batch, or any, is not served."""


class ExclusionClient:
    """Asks one exclusion endpoint.

    Where a batch is refused, a tenth of its size is tried, down to single requests; the size
    that works is remembered, and grows again when it has worked for a while.
    """

    def __init__(self, asker: Asker, method_prefix: str, batch_size: int = LARGEST_BATCH) -> None:
        """Ask nothing yet; ids count up from one, so that a late reply fits no later question."""
        self.endpoint = asker.endpoint
        self._asker = asker
        self._get_status = method_name(method_prefix, GET_STATUS)
        self._save_rejected = method_name(method_prefix, SAVE_REJECTED)
        self._largest = min(batch_size, LARGEST_BATCH)
        self._size = self._largest
        self._successes = 0
        self._next_id = 1

    @property
    def batch_size(self) -> int:
        """How many hashes go into one request now; one where batches are refused."""
        return self._size

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]:
        """Return one answer for each hash, in order; trouble of any kind is a failure in it.

        Where nobody answers or the endpoint refuses, the rest is not asked and fails likewise.
        """
        answers: list[ExclusionAnswer] = []
        while len(answers) < len(hashes):
            found = await self._ask_round(hashes, len(answers))
            answers += found.answers
            if found.must_stop:
                failure = found.answers[-1].failure
                rest = hashes[len(answers) :]
                answers += [ExclusionAnswer(tx_hash, failure=failure) for tx_hash in rest]
        return answers

    async def report(self, report: RejectionReport) -> SaveStatus:
        """Hand in a report; raises UpstreamError unless the endpoint says whether it was saved."""
        request_id = self._take_ids(1)
        body = encode_call(self._save_rejected, [encode_report(report)], request_id)
        answer = await self._asker.post_json(body, body_limit(1))
        try:
            return self._saved(decode_reply(answer), request_id, report.transaction.tx_hash)
        except WireError as error:
            raise unreadable(self.endpoint, error) from None

    def _saved(self, reply: RpcReply, request_id: int, tx_hash: TxHash) -> SaveStatus:
        if reply.error is not None:
            raise rpc_error(self.endpoint.name, reply.error.code)
        status, saved_hash = decode_saved(reply.result or b"")
        if reply.id != request_id or saved_hash != tx_hash:
            raise UpstreamUnreadable(f"{self.endpoint.name}: answered another report")
        return status

    async def _ask_round(self, hashes: Sequence[TxHash], start: int) -> _Round:
        """Ask one batch, or a few single hashes at once: a part of what begins at `start`."""
        if self._size > 1:
            return await self._ask_batch(hashes[start : start + self._size])
        singles = hashes[start : start + SINGLES_IN_FLIGHT]
        rounds = await asyncio.gather(*(self._ask_batch([single]) for single in singles))
        answers = [answer for each in rounds for answer in each.answers]
        return _Round(answers, must_stop=all(each.must_stop for each in rounds))

    async def _ask_batch(self, hashes: Sequence[TxHash]) -> _Round:
        try:
            answers = await self._exchange(hashes)
        except (UpstreamRefused, _BatchRefused) as error:
            if len(hashes) > 1:
                return await self._ask_smaller(hashes)
            return _Round(unanswered(hashes, error), must_stop=True)
        except UpstreamUnreadable as error:
            return _Round(unanswered(hashes, error))
        except UpstreamError as error:
            return _Round(unanswered(hashes, error), must_stop=True)
        self._remember_success(len(hashes))
        return _Round(answers, must_stop=all(map(_is_throttled, answers)))

    async def _ask_smaller(self, hashes: Sequence[TxHash]) -> _Round:
        before, self._size = self._size, max(1, len(hashes) // _SHRINK)
        self._successes = 0
        found = await self._ask_batch(hashes[: self._size])
        if found.must_stop:
            self._size = before  # it was not the size that was refused
        return found

    def _remember_success(self, size: int) -> None:
        self._successes += size == self._size < self._largest
        if self._successes >= _TRUST_AFTER:
            self._size, self._successes = min(self._size * _SHRINK, self._largest), 0

    async def _exchange(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]:
        self.endpoint.note(GET_STATUS, len(hashes))
        batch = Batch(self.endpoint, self._take_ids(len(hashes)), hashes)
        body = await self._asker.post_json(self._encoded(batch), body_limit(len(hashes)))
        try:
            replies = decode_replies(body)
        except WireError as error:
            raise unreadable(self.endpoint, error) from None
        self._refuse_lone_reply(replies, len(hashes))
        return batch.match(replies)

    def _encoded(self, batch: Batch) -> bytes:
        params = [[str(tx_hash)] for tx_hash in batch.hashes]
        if len(params) == 1:
            return encode_call(self._get_status, params[0], batch.first_id)
        return encode_batch(self._get_status, params, batch.first_id)

    def _refuse_lone_reply(self, replies: Sequence[RpcReply], asked: int) -> None:
        """Raise where one reply stands for a whole batch, or where a fault names no question."""
        if len(replies) > 1:
            return
        fault = replies[0].error if replies and (asked > 1 or replies[0].id is None) else None
        error = None if fault is None else rpc_error(self.endpoint.name, fault.code)
        if error is not None and (asked == 1 or isinstance(error, UpstreamThrottled)):
            raise error
        if asked > 1:
            raise _BatchRefused(f"{self.endpoint.name}: does not answer a batch of {asked}")

    def _take_ids(self, how_many: int) -> int:
        first, self._next_id = self._next_id, self._next_id + how_many
        return first


def _is_throttled(answer: ExclusionAnswer) -> bool:
    return answer.failure is not None and answer.failure.kind is FailureKind.THROTTLED


@dataclass(frozen=True, slots=True)
class Batch:
    """Hashes that were asked together: the first under `first_id`, each next under the next id."""

    endpoint: Endpoint
    first_id: int
    hashes: Sequence[TxHash]

    def match(self, replies: Sequence[RpcReply]) -> list[ExclusionAnswer]:
        """Return one answer for each hash, in order; trouble with one becomes its failure.

        A record names its own hash and so proves that it is in its place. A null names nothing:
        it is believed only where every reply carries an id that was asked, once, and every
        record stands under the hash that it names. Otherwise replies may have been swapped.
        """
        by_id = {reply.id: reply for reply in replies}
        answers = [
            self._answer(tx_hash, by_id.get(self.first_id + place))
            for place, tx_hash in enumerate(self.hashes)
        ]
        return answers if self._is_in_order(replies, answers) else self._without_nulls(answers)

    def _answer(self, tx_hash: TxHash, reply: RpcReply | None) -> ExclusionAnswer:
        """Read one reply; whether its record is another hash's is judged over the whole batch."""
        try:
            said = self._said(reply)
        except UpstreamError as error:
            return ExclusionAnswer(tx_hash, failure=failure_of(error))
        if isinstance(said, StatusClaim):
            return ExclusionAnswer(tx_hash, claim=said)
        return ExclusionAnswer(tx_hash, said)

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


def _is_in_place(answer: ExclusionAnswer) -> bool:
    said = answer.record or answer.claim
    return said is None or said.tx_hash in {None, answer.tx_hash}


def _names_hash(answer: ExclusionAnswer) -> bool:
    said = answer.record or answer.claim
    return said is not None and said.tx_hash is not None


def unanswered(hashes: Iterable[TxHash], error: UpstreamError) -> list[ExclusionAnswer]:
    """Return the same failure for each hash."""
    failure = failure_of(error)
    return [ExclusionAnswer(tx_hash, failure=failure) for tx_hash in hashes]
