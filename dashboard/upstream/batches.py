"""Batches of hashes: how many an endpoint accepts, what is left, which reply is for which hash."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from math import isqrt
from typing import Final, TypeAlias

from msgspec import Raw, Struct

from dashboard.domain.health.observation import OF_ONE_HASH, ExclusionAnswer, Failure
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectedTransaction, StatusClaim
from dashboard.errors import UpstreamError, UpstreamThrottled, UpstreamUnreadable, WireError
from dashboard.upstream.endpoint import Endpoint, failure_of, rpc_error, unreadable
from dashboard.wire.exclusion import decode_record, decode_status_batch, encode_status_batch
from dashboard.wire.jsonrpc import RpcReply, decode_replies, encode_call

_PATIENCE: Final = 50
"""How many batches must first succeed at one size before a larger one is retried."""

_LONGEST_PATIENCE: Final = 6400
_AFTER_TROUBLE: Final = 10
"""The same if the size was lowered because answers were late, or requests too fast."""

_ASKED_ALONE: Final = 32
"""Parts of a failed batch with at most so many hashes are asked one by one."""

_CLOSE: Final = 8
"""The search ends when the refused size exceeds the accepted one by at most an eighth."""


class BatchSize:
    """How many hashes go into one request: a search between accepted and refused sizes.

    After a refusal one hash is asked alone. If that is answered, the size was the reason.
    """

    def __init__(self, largest: int, accepted: int = 0, refused: int = 0) -> None:
        """Start with the largest size, or where an earlier search ended."""
        self._largest = largest
        self._beyond = largest + 1
        self.accepted = min(accepted, largest)
        self._refused = refused if 0 < refused < self._beyond else self._beyond
        self._answered = 0
        self._patience = _PATIENCE
        self._before: tuple[int, int] | None = None

    @property
    def refused(self) -> int:
        """The smallest size known to be refused; 0 if there is none."""
        return 0 if self._refused == self._beyond else self._refused

    @property
    def now(self) -> int:
        """The size to use now."""
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
        """Lower the size after a slow answer, or if only `answered` hashes were allowed."""
        self._before, self._patience = None, _AFTER_TROUBLE
        self._refused, self._answered = count, 0
        self.accepted = max(1, answered or count // 4)

    def restore(self) -> None:
        """Undo the refusals, since one hash alone is refused too."""
        if self._before is not None:
            (self.accepted, self._refused), self._before = self._before, None


Places: TypeAlias = Sequence[int]


class Round:
    """The hashes of one `ask` by index: what is left to do, and the answers so far.

    Those among `apart` are asked alone and last, in the order of `apart`; before them parts of
    batches that failed. `is_searching` says that only these are left, `waited` for how long they
    were not answered. `left` is the transport that was left for another one.
    """

    def __init__(self, hashes: Sequence[TxHash], apart: Collection[TxHash] = ()) -> None:
        self.hashes = hashes
        self.not_null: dict[int, ExclusionAnswer] = {}
        self._todo: deque[Places] = deque([range(len(hashes))] if hashes else ())
        self._suspects: deque[Places] = deque()
        self._again: list[int] = []
        self._is_second = False
        self._proof: int | None = None
        self._tried: int | None = None
        self._trial: int | None = None
        self._others: Places = range(len(hashes))
        self.is_searching = False
        self.waited = timedelta()
        self.left: object = None
        if apart:
            turn = {each: at for at, each in enumerate(apart)}
            alone = [place for place, each in enumerate(hashes) if each in turn]
            alone.sort(key=lambda place: turn[hashes[place]])
            self._others = [place for place, each in enumerate(hashes) if each not in turn]
            self._todo = deque([self._others] if self._others else ())
            self._suspects = deque([one] for one in alone)

    def take(self, size: int, most: int) -> list[Places]:
        """Return the hashes for the next requests; empty when the round is over.

        Hashes that failed alone are asked once more at the end.
        """
        if not self._todo and self._suspects:
            self._todo, self._suspects, self.is_searching = self._suspects, deque(), True
        if not self._todo and self._again:
            self._todo.append(self._again)
            self._again, self._is_second = [], True
        if self._trial is not None:
            self._todo.appendleft([self._trial])
            self._trial = None
        parts: list[Places] = []
        while self._todo and len(parts) < most:
            places = self._todo.popleft()
            parts.append(places[:size])
            if places[size:]:
                self._todo.appendleft(places[size:])
        return parts

    def put_back(self, places: Places) -> None:
        """Put hashes first again, for another size or transport."""
        rest = self._todo[0] if self._todo else ()
        if isinstance(places, range) and isinstance(rest, range) and rest.start == places.stop:
            self._todo[0] = range(places.start, rest.stop)
        else:
            self._todo.appendleft(places)

    def split(self, places: Places) -> None:
        """Put hashes back in parts, after the others: a thousand in 33, and these hash by hash.

        Few steps, since each may wait for a time-out.
        """
        count = len(places)
        size = 1 if count <= _ASKED_ALONE else isqrt(count)
        parts = [places[at : at + size] for at in range(0, count, size)]
        (self._todo if self.is_searching else self._suspects).extendleft(reversed(parts))

    def may_try(self, places: Places) -> bool:
        """Whether another hash can show that the server answers, although it failed at these."""
        return len(self.hashes) > 1 and list(places) != [self._tried]

    def try_one(self, turn: int, failed: Places) -> None:
        """Ask first about a hash that was answered before, or else about one at each turn."""
        likely = self._others if len(self._others) > 1 else range(len(self.hashes))
        place = likely[turn % len(likely)]
        if list(failed) == [place]:
            place = likely[(turn + 1) % len(likely)]
        self._trial = self._tried = place if self._proof is None else self._proof

    def keep(self, places: Places, answers: dict[int, ExclusionAnswer]) -> None:
        """Record the answers of one request; hashes that failed are asked once more."""
        answered = (place for at, place in enumerate(places) if at not in answers)
        self._proof = next(answered, self._proof)
        for at, answer in answers.items():
            self._keep(places[at], answer)

    def fail(self, places: Places, failure: Failure) -> None:
        """Record one failure for several hashes; they are asked once more."""
        for place in places:
            self._keep(place, ExclusionAnswer(self.hashes[place], failure=failure))

    def end(self, failure: Failure) -> None:
        """End the round: all remaining hashes get this failure."""
        self._is_second = True
        for places in (*self._todo, *self._suspects, self._again):
            self.fail(places, failure)
        self._todo.clear()
        self._suspects.clear()
        self._again, self._trial = [], None

    def _keep(self, place: int, answer: ExclusionAnswer) -> None:
        failure = answer.failure
        is_lasting = failure is None or failure.kind not in OF_ONE_HASH
        if is_lasting or self._is_second:
            self.not_null[place] = answer
        else:
            self._again.append(place)


class BatchRefused(UpstreamUnreadable):
    """A batch of several got a single reply: this size, or any batch, is not served."""


class Batch(Struct, frozen=True):
    """Hashes that are asked together, with ids that count up from `first_id`."""

    endpoint: Endpoint
    first_id: int
    hashes: Sequence[TxHash]

    def question(self, method: str) -> bytes:
        if len(self.hashes) == 1:
            return encode_call(method, [str(self.hashes[0])], self.first_id)
        return encode_status_batch(method, self.hashes, self.first_id)

    def read(self, body: bytes) -> Mapping[int, ExclusionAnswer]:
        """Return the answers that are not null by index; UpstreamError if nothing is answered.

        If one reply is wrong, only its hash has a failure. A record names its own hash, which
        proves that it is in its place. A null proves nothing: it is believed only if every reply
        has an id that was asked, none twice, and every record has the hash of its call. Otherwise
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
        """Read an answer without any fault, as nearly all are; None for all others."""
        said = decode_status_batch(body, self.first_id, len(self.hashes))
        if said is None:
            return None
        answers = {place: _said_of(self.hashes[place], each) for place, each in said.items()}
        return answers if all(map(_is_in_place, answers.values())) else None

    def _refuse_lone_reply(self, replies: Sequence[RpcReply]) -> None:
        """Raise if a whole batch got one reply, or if an error names no question."""
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
        """Read one reply; whether its record is another hash's is checked for the whole batch."""
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
        """Keep failures and records that prove their place; everything else fails."""
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
