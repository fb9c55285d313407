"""Ask one network about the tracked transactions that are due."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from typing import Final, Protocol

from anyio.to_thread import run_sync

from dashboard.domain.observation import ExclusionAnswer
from dashboard.domain.quantity import TxHash
from dashboard.logs import get_logger
from dashboard.poll.archive import ExclusionArchive
from dashboard.poll.clocks import Clocks
from dashboard.poll.schedule import Cohort, Schedule, Watched
from dashboard.store.transactions import Watch

_LONGEST_REST: Final = timedelta(minutes=1)
_SHORTEST_REST: Final = timedelta(seconds=1)

_log = get_logger("exclusion poll")


class ExclusionAsker(Protocol):
    """Whoever answers for many hashes at once, in order; trouble is a failure in the answer."""

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]: ...


@dataclass(frozen=True, slots=True)
class _Asked:
    """A cohort with the answers to its hashes, in order."""

    cohort: Cohort
    answers: Sequence[ExclusionAnswer]

    def news(self) -> list[ExclusionAnswer]:
        """Return the answers that may change something: records, and the first answers."""
        is_first = self.cohort.state is None
        return [
            answer
            for answer in self.answers
            if answer.record is not None or (is_first and answer.failure is None)
        ]


class ExclusionPoll:
    """The poll of one network during one term.

    The schedule lives in memory and begins with what the store holds, so a restart asks again
    what is due and tells nothing twice. A tick asks at most `largest_tick` hashes.
    """

    def __init__(
        self,
        asker: ExclusionAsker,
        archive: ExclusionArchive,
        schedule: Schedule,
        clocks: Clocks,
        largest_tick: int = 5000,
    ) -> None:
        """Read and ask nothing yet."""
        self._asker = asker
        self._archive = archive
        self._schedule = schedule
        self._clocks = clocks
        self._largest_tick = largest_tick
        self._last_watch_id = 0
        self._rest = timedelta()
        self._rests_until = timedelta()

    async def tick(self) -> None:
        """Take up what was tracked since the last tick, and ask what is due.

        Raises StoreError or LeaseLost; what could not be written down is asked again.
        """
        await self._take_up()
        started = self._clocks.elapsed()
        if started < self._rests_until:
            return
        cohorts = self._schedule.take_due(started, self._largest_tick)
        if not cohorts:
            return
        try:
            cohorts = await self._without_removed(cohorts)
            asked = await self._ask_and_keep(cohorts) if cohorts else []
        except BaseException:
            self._schedule.put_back(cohorts, started + _SHORTEST_REST)
            raise
        now = self._clocks.elapsed()
        for each in asked:
            self._schedule.reschedule(each.cohort, each.answers, now)
        if asked:
            self._rest_after(asked, now)

    async def _take_up(self) -> None:
        found = await run_sync(self._archive.watches, self._last_watch_id)
        if not found:
            return
        own = (each for each in found if each.network_id == self._archive.network_id)
        self._schedule.add(map(self._watched, own), self._clocks.elapsed())
        self._last_watch_id = found[-1].watch_id

    def _watched(self, watch: Watch) -> Watched:
        since = min(watch.attempted_at or watch.tracked_at, watch.tracked_at)
        asked_at = watch.last_asked_at
        return Watched(
            watch.tx_hash,
            self._clocks.elapsed_at(since),
            None if asked_at is None else self._clocks.elapsed_at(asked_at),
            watch.state,
            is_answered=watch.failing_since is None,
        )

    async def _without_removed(self, cohorts: Sequence[Cohort]) -> list[Cohort]:
        """Drop what is not tracked any more; it leaves the schedule by not coming back."""
        hashes = [tx_hash for cohort in cohorts for tx_hash in cohort.hashes]
        watched = await run_sync(self._archive.still_watched, hashes)
        kept = (
            replace(cohort, hashes=[each for each in cohort.hashes if each in watched])
            for cohort in cohorts
        )
        return [cohort for cohort in kept if cohort.hashes]

    async def _ask_and_keep(self, cohorts: Sequence[Cohort]) -> list[_Asked]:
        asked_at = self._clocks.now()
        hashes = [tx_hash for cohort in cohorts for tx_hash in cohort.hashes]
        answers = await self._asker.ask(hashes)
        asked = _split(cohorts, answers)
        news = [answer for each in asked for answer in each.news()]
        await run_sync(partial(self._archive.keep, asked_at, answers, news))
        _tell(self._archive, answers)
        return asked

    def _rest_after(self, asked: Sequence[_Asked], now: timedelta) -> None:
        """Leave an upstream alone that answered nothing, for longer each time."""
        if any(answer.failure is None for each in asked for answer in each.answers):
            self._rest = timedelta()
            return
        self._rest = min(max(self._rest * 2, _SHORTEST_REST), _LONGEST_REST)
        self._rests_until = now + self._rest


def _split(cohorts: Sequence[Cohort], answers: Sequence[ExclusionAnswer]) -> list[_Asked]:
    rest = iter(answers)
    return [_Asked(cohort, [next(rest) for _ in cohort.hashes]) for cohort in cohorts]


def _tell(archive: ExclusionArchive, answers: Sequence[ExclusionAnswer]) -> None:
    failures = [answer.failure for answer in answers if answer.failure is not None]
    if failures:
        _log.warning(
            "questions got no answer",
            network_id=archive.network_id,
            asked=len(answers),
            unanswered=len(failures),
            why=failures[0].message,
        )
