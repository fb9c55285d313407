"""Several exclusion endpoints of one network: asked in order, or all at once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Final, Protocol, TypeAlias

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.health.observation import (
    ExclusionAnswer,
    ExclusionAnswers,
    Failure,
    longest_retry_after,
    not_null_by_place,
)
from dashboard.domain.quantity import TxHash
from dashboard.logs import get_logger
from dashboard.upstream.exclusion import loop_time

_log = get_logger(__name__)

_SHORTEST_REST: Final = timedelta(seconds=1)
_LONGEST_REST: Final = timedelta(seconds=15)

_NotNull: TypeAlias = Mapping[int, ExclusionAnswer]
"""The answers of one endpoint that are not null, by index of the hash."""


class ExclusionEndpoint(Protocol):
    """Answers for many hashes at once, in order; implemented by `ExclusionClient`."""

    async def ask(self, hashes: Sequence[TxHash]) -> Sequence[ExclusionAnswer]: ...


class _Circuit(Struct):
    """A circuit breaker for one endpoint.

    It is closed while the endpoint answers. If nothing is answered, it is open for a `rest`, which
    doubles each time. Then one question tries the endpoint (half-open), and an answer closes the
    circuit.
    """

    client: ExclusionEndpoint
    rest: timedelta = timedelta()
    rests_until: timedelta = timedelta.min
    trial: asyncio.Task[_NotNull] | None = None

    @property
    def is_closed(self) -> bool:
        return not self.rest

    def judge(self, name: str, failures: Sequence[Failure], asked: int, now: timedelta) -> None:
        """Open the circuit if nothing was answered, close it if anything was."""
        was_closed = self.is_closed
        if len(failures) < asked:
            self.rest = timedelta()
            if not was_closed:
                _log.info("An exclusion endpoint answers again", endpoint=name)
            return
        self.rest = min(max(2 * self.rest, _SHORTEST_REST), _LONGEST_REST)
        self.rests_until = now + max(self.rest, longest_retry_after(failures))
        if was_closed:
            _log.warning("An exclusion endpoint fails", endpoint=name, why=failures[0].message)


class ExclusionEndpoints:
    """Asks several endpoints by name: all at once, or each about what earlier ones left unanswered.

    A rejection by any of them counts; the other answers are kept beside it. An endpoint that
    answers nothing is left, so that nobody waits for it, and tried in the background until it
    answers. Until then it is asked only about hashes that nobody else answers.
    """

    def __init__(
        self,
        clients: Mapping[str, ExclusionEndpoint],
        elapsed: Callable[[], timedelta] = loop_time,
        *,
        asks_all: bool = False,
    ) -> None:
        """Take the endpoints in order of preference."""
        self._circuits = {name: _Circuit(each) for name, each in clients.items()}
        self._elapsed = elapsed
        self._asks_all = asks_all

    def in_use(self) -> list[str]:
        """Return the endpoints that are now asked about every hash."""
        names = self._closed() or list(self._circuits)
        return names if self._asks_all else names[:1]

    async def ask(self, hashes: Sequence[TxHash]) -> ExclusionAnswers:
        """Return one answer for each hash, in order; nulls from all endpoints take no memory."""
        closed = self._closed()
        left = [name for name in self._circuits if name not in closed]
        if closed:
            self._try_again(left, hashes[:1])
        rounds = [closed] if self._asks_all else [[name] for name in closed]
        first, *others = (names for names in (*rounds, left) if names)
        said: dict[int, list[ExclusionAnswer]] = {}
        await self._ask_round(first, hashes, range(len(hashes)), said)
        for names in others:
            places = [at for at, each in said.items() if all(one.failure for one in each)]
            await self._ask_round(names, [hashes[each] for each in places], places, said)
        return ExclusionAnswers(hashes, {at: _combined(each) for at, each in said.items()}, first)

    async def aclose(self) -> None:
        """Cancel the trials of endpoints that are left."""
        trials = [each.trial for each in self._circuits.values() if each.trial is not None]
        for each in trials:
            each.cancel()
        await asyncio.gather(*trials, return_exceptions=True)

    def _closed(self) -> list[str]:
        return [name for name, each in self._circuits.items() if each.is_closed]

    def _try_again(self, left: Sequence[str], hashes: Sequence[TxHash]) -> None:
        """Try endpoints whose rest is over with one question in the background."""
        for name in left:
            circuit = self._circuits[name]
            is_over = circuit.trial is None or circuit.trial.done()
            if is_over and self._elapsed() >= circuit.rests_until:
                circuit.trial = asyncio.create_task(self._ask(name, hashes))

    async def _ask_round(
        self,
        names: Sequence[str],
        hashes: Sequence[TxHash],
        places: Sequence[int],
        said: dict[int, list[ExclusionAnswer]],
    ) -> None:
        """Ask some endpoints at once; add their answers to `said`, by index, unless all are null.

        A hash that was null in the first round is not asked in a later one.
        """
        answers = await asyncio.gather(*(self._ask(name, hashes) for name in names))
        for at in range(len(hashes)) if said else sorted({at for each in answers for at in each}):
            said.setdefault(places[at], []).extend(
                each.get(at) or ExclusionAnswer(hashes[at], endpoint=name)
                for name, each in zip(names, answers, strict=True)
            )

    async def _ask(self, name: str, hashes: Sequence[TxHash]) -> _NotNull:
        if not hashes:
            return {}
        circuit = self._circuits[name]
        told = not_null_by_place(await circuit.client.ask(hashes))
        failures = [each.failure for each in told.values() if each.failure is not None]
        circuit.judge(name, failures, len(hashes), self._elapsed())
        return {at: replace(each, endpoint=name) for at, each in told.items()}


def _combined(said: Sequence[ExclusionAnswer]) -> ExclusionAnswer:
    """Merge answers: a whole record leads, then any record, any answer, a failure."""
    first = min(said, key=_rank)
    return replace(first, beside=tuple(each for each in said if each is not first))


def _rank(answer: ExclusionAnswer) -> int:
    if answer.record is not None:
        return 0 if answer.record.is_whole else 1
    return 2 if answer.failure is None else 3
