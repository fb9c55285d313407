"""Several exclusion endpoints of one network: asked in order, or all of them at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from typing import Protocol

import anyio

from dashboard.domain.health.observation import ExclusionAnswer, Failure, FailureKind
from dashboard.domain.quantity import TxHash


class ExclusionEndpoint(Protocol):
    """Answers for many hashes at once, in order; `ExclusionClient` is the one in use."""

    async def ask(self, hashes: Sequence[TxHash]) -> Sequence[ExclusionAnswer]: ...


@dataclass(frozen=True, slots=True)
class ExclusionEndpoints:
    """Asks endpoints by their names: all at once, or each about what those before did not answer.

    A rejection by any of them counts; what the others said stands beside it. An endpoint that has
    not answered after `patience` has failed, so that the answers of others are not waited for in
    vain.
    """

    clients: Mapping[str, ExclusionEndpoint]
    asks_all: bool = False
    patience: timedelta | None = None

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]:
        """Return one answer for each hash, in order."""
        said: list[list[ExclusionAnswer]] = [[] for _ in hashes]
        rounds = [[*self.clients]] if self.asks_all else [[name] for name in self.clients]
        for names in rounds:
            places = [at for at, each in enumerate(said) if all(one.failure for one in each)]
            asked = [hashes[place] for place in places]
            for answers in await asyncio.gather(*(self._ask(name, asked) for name in names)):
                for place, answer in zip(places, answers, strict=True):
                    said[place].append(answer)
        return [_combined(each) for each in said]

    async def _ask(self, name: str, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]:
        if not hashes:
            return []
        patience = None if self.patience is None else self.patience.total_seconds()
        failure = Failure(FailureKind.UNAVAILABLE, f"{name}: no answer within {patience or 0:g} s")
        answers: Sequence[ExclusionAnswer] = [
            ExclusionAnswer(each, failure=failure) for each in hashes
        ]
        with anyio.move_on_after(patience):
            answers = await self.clients[name].ask(hashes)
        return [replace(each, endpoint=name) for each in answers]


def _combined(said: Sequence[ExclusionAnswer]) -> ExclusionAnswer:
    """Let the most telling answer lead: a whole record, any record, an answer, a failure."""
    first = min(said, key=_rank)
    return replace(first, beside=tuple(each for each in said if each is not first))


def _rank(answer: ExclusionAnswer) -> int:
    if answer.record is not None:
        return 0 if answer.record.is_whole else 1
    return 2 if answer.failure is None else 3
