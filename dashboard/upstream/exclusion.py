"""The exclusion API: ask about many hashes over the best transport there is, and send reports."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import Final

from msgspec import Struct, field

from dashboard.domain.health.observation import (
    ExclusionAnswer,
    ExclusionAnswers,
    Failure,
    FailureKind,
)
from dashboard.domain.health.transport_state import TransportState
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectionReport, SaveStatus
from dashboard.errors import (
    UpstreamError,
    UpstreamFailed,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
    WireError,
)
from dashboard.upstream.batches import Batch, Places, Round
from dashboard.upstream.endpoint import (
    Asker,
    Charge,
    body_limit,
    failure_of,
    rpc_error,
    unreadable,
)
from dashboard.upstream.exclusion_transports import ExclusionTransports, Keep, Line, keep_nothing
from dashboard.wire.exclusion import LARGEST_BATCH, decode_saved, method_name
from dashboard.wire.jsonrpc import RpcReply, decode_reply, encode_call
from dashboard.wire.params import GET_STATUS, SAVE_REJECTED
from dashboard.wire.rejection_report import encode_report

_TRIES: Final = 2
"""How many times a request is sent if its answer cannot be read."""

_MOST_APART: Final = 1000
"""How many hashes are remembered that the server fails at."""

_LONGEST_SEARCH: Final = 12
"""For how many time-outs a round waits in a search. Six suffice for a hash: a part of a batch, and
the hash alone, are sent three times each."""


def loop_time() -> timedelta:
    return timedelta(seconds=asyncio.get_running_loop().time())


class _Outcome(Struct):
    """The result of one request: the answers that are not null by index in it, or an error."""

    answers: dict[int, ExclusionAnswer] = field(default_factory=dict)
    error: UpstreamError | None = None
    took: timedelta = timedelta()

    @property
    def throttled(self) -> int:
        """How many of its hashes were refused because of the rate."""
        failures = (each.failure for each in self.answers.values())
        return sum(each is not None and each.kind is FailureKind.THROTTLED for each in failures)


class ExclusionClient:
    """Asks one exclusion endpoint over one or two transports, the preferred one first.

    Batches over the first transport are preferred to batches over the second, and these to single
    requests, of which many run concurrently only over WebSocket. The client learns by asking what
    the endpoint accepts: it starts from `known` and passes changes to `keep`. If there is another
    transport, one that fails is left for a while, and then tried with one request.
    """

    def __init__(
        self,
        asker: Asker,
        method_prefix: str,
        batch_size: int = LARGEST_BATCH,
        second: Asker | None = None,
        known: Iterable[TransportState] = (),
        keep: Keep = keep_nothing,
        elapsed: Callable[[], timedelta] = loop_time,
        patience: timedelta | None = None,
    ) -> None:
        """Count ids up, so that a late reply matches no later question.

        With `patience`, what is not answered within that time fails.
        """
        self._patience = patience
        self._apart: dict[TxHash, None] = {}
        self._turns = itertools.count()
        self.endpoint = asker.endpoint
        self._reporter = asker if second is None else second
        self._get_status = method_name(method_prefix, GET_STATUS)
        self._save_rejected = method_name(method_prefix, SAVE_REJECTED)
        self._elapsed = elapsed
        self._next_id = LARGEST_BATCH
        largest = min(batch_size, LARGEST_BATCH)
        askers = (asker,) if second is None else (asker, second)
        self._transports = ExclusionTransports(askers, largest, known, keep, elapsed)

    @property
    def batch_size(self) -> int:
        """The number of hashes in one request now; one if batches are refused."""
        return self._transports.best().size.now

    async def ask(self, hashes: Sequence[TxHash]) -> Sequence[ExclusionAnswer]:
        """Return one answer for each hash, in order; any trouble is a failure in its answer.

        If nobody answers or the endpoint refuses, the rest is not asked and fails too. When a batch
        is not answered, one other hash shows whether the server answers at all: an outage costs
        this one question more in each round. If it answers, parts of the batch are asked after all
        other hashes, and then its hashes alone. One at which the server fails, hangs or cuts the
        connection is asked alone and last, until it is answered: the others are answered in the
        same round, which lasts until the time for its answer is up.

        A round waits once for each batch that is not answered. Then it searches: after waits of
        twelve time-outs, what is left fails. It has found at least one such hash by then, so that
        several in a batch take several rounds; hashes asked alone take turns.
        """
        work = Round(hashes, self._apart)
        seconds = None if self._patience is None else self._patience.total_seconds()
        try:
            async with asyncio.timeout(seconds):
                await self._ask_all(work)
        except TimeoutError:
            silence = f"{self.endpoint.name}: no answer within {seconds:g} s"
            work.end(Failure(FailureKind.UNAVAILABLE, silence))
        self._transports.keep_states()
        return ExclusionAnswers(hashes, work.not_null)

    async def report(self, report: RejectionReport) -> SaveStatus:
        """Send a report; UpstreamError unless the endpoint says whether it was saved."""
        request_id = self._take_ids()
        body = encode_call(self._save_rejected, [encode_report(report)], request_id)
        answer = await self._reporter.post_json(body, body_limit(1))
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

    async def _ask_all(self, work: Round) -> None:
        """Ask until the round is over; if it is cut short, keep the answers that have come."""
        while parts := work.take((line := self._transports.best()).size.now, line.in_flight):
            requests = [asyncio.ensure_future(self._request(line, work, each)) for each in parts]
            try:
                outcomes = await asyncio.gather(*requests)
            except asyncio.CancelledError:
                for places, request in zip(parts, requests, strict=True):
                    self._cut_short(line, work, places, request)
                raise
            self._judge(line, work, list(zip(parts, outcomes, strict=True)))

    def _cut_short(
        self, line: Line, work: Round, places: Places, request: asyncio.Future[_Outcome]
    ) -> None:
        if not request.cancelled() and request.result().error is None:
            self._take(line, work, places, request.result())
            return
        work.put_back(places)
        if len(places) == 1:
            self._set_apart(work.hashes[places[0]])

    async def _request(self, line: Line, work: Round, places: Places) -> _Outcome:
        hashes = work.hashes
        batch = Batch(
            line.asker.endpoint,
            self._take_ids(),
            hashes[places.start : places.stop]
            if isinstance(places, range)
            else [hashes[place] for place in places],
        )
        count, began = len(places), self._elapsed()
        charge = Charge(GET_STATUS, count)
        try:
            question = batch.question(self._get_status)
            body = await line.asker.post_json(question, body_limit(count), charge)
            return _Outcome(dict(batch.read(body)), took=self._elapsed() - began)
        except UpstreamError as error:
            return _Outcome(error=error, took=self._elapsed() - began)

    def _judge(self, line: Line, work: Round, outcomes: Sequence[tuple[Places, _Outcome]]) -> None:
        """Record the answers of concurrent requests, and learn from what went wrong."""
        is_answered = any(outcome.error is None for _, outcome in outcomes)
        if is_answered:
            self._transports.used = line
        for places, outcome in reversed(outcomes):  # what is put back last is asked first
            if outcome.error is None:
                self._take(line, work, places, outcome)
            else:
                self._recover(line, work, places, outcome, is_answered=is_answered)
        self._end_long_search(line, work, [outcome for _, outcome in outcomes])

    def _end_long_search(self, line: Line, work: Round, outcomes: Sequence[_Outcome]) -> None:
        failed = [(x.took, x.error) for x in outcomes if isinstance(x.error, UpstreamUnavailable)]
        if work.is_searching and failed:
            took, error = max(failed, key=lambda each: each[0])
            work.waited += took
            if work.waited >= _LONGEST_SEARCH * line.asker.endpoint.timeout:
                work.end(failure_of(error))

    def _take(self, line: Line, work: Round, places: Places, outcome: _Outcome) -> None:
        count, throttled = len(places), outcome.throttled
        line.answer()
        if count == 1:
            self._apart.pop(work.hashes[places[0]], None)
        if throttled and count > 1:
            line.size.slow_down(count, count - throttled)
            line.limit = f"of {count:,} at once, {throttled:,} were asked too fast"
        else:
            line.size.answer(count)
        work.keep(places, outcome.answers)
        if throttled == count:
            failure = outcome.answers[0].failure
            assert failure is not None  # noqa: S101 - all of them are throttled
            work.end(failure)

    def _recover(
        self, line: Line, work: Round, places: Places, outcome: _Outcome, *, is_answered: bool
    ) -> None:
        """Try a smaller batch or another transport, or retry; otherwise end the round."""
        error, count = outcome.error, len(places)
        assert error is not None  # noqa: S101 - only failed requests come here
        if type(error) is UpstreamUnreadable and line.unread < _TRIES - 1:
            line.unread += 1
            work.put_back(places)
        elif count > 1 and isinstance(error, UpstreamRefused | UpstreamUnreadable):
            line.size.refuse(count)
            line.limit = str(error)
            work.put_back(places)
        elif isinstance(error, UpstreamUnavailable) and (
            is_answered
            or (work.may_try(places) and (work.is_searching or isinstance(error, UpstreamFailed)))
        ):
            self._narrow(line, work, places, error, is_answered=is_answered)
        elif is_answered and not isinstance(error, UpstreamThrottled):
            work.fail(places, failure_of(error))
        else:
            self._give_up(line, work, places, outcome, error)

    def _narrow(
        self,
        line: Line,
        work: Round,
        places: Places,
        error: UpstreamUnavailable,
        *,
        is_answered: bool,
    ) -> None:
        """Search for the hash that the server fails at, once one hash shows that it answers."""
        if len(places) > 1:
            work.split(places)
        else:
            tx_hash = work.hashes[places[0]]
            self._set_apart(tx_hash)
            work.not_null[places[0]] = ExclusionAnswer(tx_hash, failure=failure_of(error))
        if not is_answered:
            line.is_proven = False
            work.try_one(next(self._turns), places)

    def _set_apart(self, tx_hash: TxHash) -> None:
        """Ask about a hash alone, after all that were not asked when it failed."""
        self._apart.pop(tx_hash, None)
        self._apart[tx_hash] = None
        if len(self._apart) > _MOST_APART:
            del self._apart[next(iter(self._apart))]

    def _give_up(
        self, line: Line, work: Round, places: Places, outcome: _Outcome, error: UpstreamError
    ) -> None:
        """Use the other transport, search for the hash that nobody answers, or end the round.

        A transport that answered before and asks for a pause speaks for the account; one that never
        did may only refuse connections.
        """
        count, is_throttled = len(places), isinstance(error, UpstreamThrottled)
        may_leave = not (is_throttled and line.is_proven) and (
            work.left is None or work.left is line
        )
        is_new = line.is_proven or not line.size.accepted
        is_slow = is_new and outcome.took >= line.asker.endpoint.timeout
        if count > 1 and (is_throttled or is_slow):
            line.size.slow_down(count)
            line.limit = str(error)
        line.size.restore()
        line.is_proven, line.unread, line.trouble = False, 0, str(error)
        if may_leave and self._transports.leave(line):
            work.left = line
            work.put_back(places)
        elif isinstance(error, UpstreamUnavailable) and work.may_try(places):
            self._narrow(line, work, places, error, is_answered=False)
        else:
            work.put_back(places)
            work.end(failure_of(error))

    def _take_ids(self) -> int:
        first, self._next_id = self._next_id, self._next_id + LARGEST_BATCH
        return first
