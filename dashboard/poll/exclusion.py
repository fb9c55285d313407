"""Ask one network about the tracked transactions that are due."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from functools import partial
from itertools import islice
from typing import Final, Protocol

from anyio.to_thread import run_sync

from dashboard.domain.observation import ExclusionAnswer, Failure, longest_wish
from dashboard.domain.quantity import TxHash
from dashboard.logs import get_logger
from dashboard.poll.clocks import Clocks
from dashboard.poll.exclusion_records import ExclusionArchive
from dashboard.poll.rejection_schedule import Calendar, Due, Question
from dashboard.store.tracking.cohorts import Cohort, WatchedCohort
from dashboard.store.tracking.poll_results import Asked, PollResult

_LONGEST_REST: Final = timedelta(minutes=1)
_SHORTEST_REST: Final = timedelta(seconds=1)

_log = get_logger("exclusion poll")


class ExclusionAsker(Protocol):
    """Whoever answers for many hashes at once, in order; trouble is a failure in the answer."""

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]: ...


class ExclusionPoll:
    """The poll of one network during one term.

    The calendar lives in memory and begins with what the store holds, so a restart asks again
    what is due and tells nothing twice. A tick asks some `largest_tick` hashes.
    """

    def __init__(
        self,
        asker: ExclusionAsker,
        archive: ExclusionArchive,
        calendar: Calendar,
        clocks: Clocks,
        largest_tick: int = 5000,
    ) -> None:
        """Read and ask nothing yet."""
        self._asker = asker
        self._archive = archive
        self._calendar = calendar
        self._clocks = clocks
        self._largest_tick = largest_tick
        self._last_cohort_id = 0
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
        due = self._calendar.take_due(started, self._largest_tick)
        if not due:
            return
        try:
            stayed = await self._ask_and_keep([each.cohort_id for each in due])
        except BaseException:
            self._calendar.put_back(due, started + _SHORTEST_REST)
            raise
        now = self._clocks.elapsed()
        for each in due:
            if each.cohort_id in stayed:
                failure, is_rejected = stayed[each.cohort_id]
                self._calendar.add(each, Question(now, failure is None, is_rejected), now)

    async def _take_up(self) -> None:
        """Enter new cohorts: what was tracked since, and those for which hashes left others."""
        found = await run_sync(self._archive.watches, self._last_cohort_id)
        now = self._clocks.elapsed()
        for each in found:
            cohort = Due(each.cohort_id, self._clocks.elapsed_at(each.born_at), each.size)
            self._calendar.add(cohort, self._last_question(each), now)
            self._last_cohort_id = each.cohort_id

    def _last_question(self, watch: WatchedCohort) -> Question | None:
        if watch.last_asked_at is None:
            return None
        asked = self._clocks.elapsed_at(watch.last_asked_at)
        return Question(asked, not watch.is_failing, watch.is_rejected)

    async def _ask_and_keep(self, cohort_ids: Sequence[int]) -> Mapping[int, PollResult]:
        """Return what came of each cohort; what is not tracked any more is not among them."""
        cohorts = await run_sync(self._archive.cohorts, cohort_ids)
        if not cohorts:
            return {}
        asked_at = self._clocks.now()
        hashes = [tx_hash for cohort in cohorts for tx_hash in cohort.hashes]
        answers = await self._asker.ask(hashes)
        stayed = await run_sync(partial(self._archive.keep, asked_at, _shared(cohorts, answers)))
        failures = [answer.failure for answer in answers if answer.failure is not None]
        if failures:
            _tell(self._archive, len(answers), failures)
        self._rest_after(failures, is_silent=len(failures) == len(answers))
        return stayed

    def _rest_after(self, failures: Sequence[Failure], *, is_silent: bool) -> None:
        """Leave an upstream alone that answered nothing, for longer each time, or as it wishes."""
        self._rest = min(max(self._rest * 2, _SHORTEST_REST), _LONGEST_REST)
        if not is_silent:
            self._rest = timedelta()
        self._rests_until = self._clocks.elapsed() + max(self._rest, longest_wish(failures))


def _shared(cohorts: Sequence[Cohort], answers: Sequence[ExclusionAnswer]) -> list[Asked]:
    """Give each cohort its share of the answers, which stand in its order."""
    rest = iter(answers)
    return [Asked(cohort, list(islice(rest, len(cohort.hashes)))) for cohort in cohorts]


def _tell(archive: ExclusionArchive, asked: int, failures: Sequence[Failure]) -> None:
    _log.warning(
        "questions got no answer",
        network_id=archive.network_id,
        asked=asked,
        unanswered=len(failures),
        why=failures[0].message,
    )
