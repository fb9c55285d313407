"""Which reply answers which hash: purely, and so that no mix-up can pass for a null."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from msgspec import Raw

from dashboard.domain.exclusion import RejectedTransaction
from dashboard.domain.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.errors import UpstreamError, UpstreamUnreadable, WireError
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.errors import failure_of, rpc_error, unreadable
from dashboard.wire.exclusion import decode_record
from dashboard.wire.jsonrpc_client import RpcReply


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
            return ExclusionAnswer(tx_hash, self._record(reply))
        except UpstreamError as error:
            return ExclusionAnswer(tx_hash, failure=failure_of(error))

    def _record(self, reply: RpcReply | None) -> RejectedTransaction | None:
        name = self.endpoint.name
        if reply is None:
            raise UpstreamUnreadable(f"{name}: the reply for this hash is missing")
        if reply.error is not None or reply.result is None:
            raise rpc_error(name, 0 if reply.error is None else reply.error.code)
        return self._decoded(reply.result)

    def _decoded(self, result: Raw) -> RejectedTransaction | None:
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
            if answer.failure or (answer.record and _is_in_place(answer))
            else ExclusionAnswer(answer.tx_hash, failure=failure)
            for answer in answers
        ]


def _is_in_place(answer: ExclusionAnswer) -> bool:
    return answer.record is None or answer.record.tx_hash == answer.tx_hash


def unanswered(hashes: Iterable[TxHash], error: UpstreamError) -> list[ExclusionAnswer]:
    """Return the same failure for each hash."""
    failure = failure_of(error)
    return [ExclusionAnswer(tx_hash, failure=failure) for tx_hash in hashes]
