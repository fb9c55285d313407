"""Upstreams for tests of polling: they answer as told and remember what they were asked."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Sequence
from itertools import count
from typing import Any

from dashboard.domain.health.observation import (
    ExclusionAnswer,
    ExclusionAnswers,
    Failure,
    FailureKind,
    Operation,
)
from dashboard.domain.quantity import TxHash, Wei
from dashboard.domain.rejections.exclusion import RejectedTransaction, StatusClaim
from dashboard.errors import UpstreamError
from tests.builders import GWEI, suggested_gas_fees

SILENCE = Failure(FailureKind.UNAVAILABLE, "devnet exclusion endpoint did not answer")


class ScriptedExclusion:
    """Answers null but for the hashes in `records`, fails for those in `failing` or for all."""

    def __init__(self) -> None:
        self.records: dict[TxHash, RejectedTransaction] = {}
        self.claims: dict[TxHash, StatusClaim] = {}
        self.failing: set[TxHash] = set()
        self.is_down = False
        self.silence = SILENCE
        self.asked: list[list[TxHash]] = []

    async def ask(self, hashes: Sequence[TxHash]) -> ExclusionAnswers:
        """Answer for each hash in order."""
        self.asked.append(list(hashes))
        said = {at: self._answer(each) for at, each in enumerate(hashes)}
        others = {at: each for at, each in said.items() if each != ExclusionAnswer(each.tx_hash)}
        return ExclusionAnswers(hashes, others)

    def reject(self, *records: RejectedTransaction) -> None:
        """Show these records from now on."""
        self.records |= {record.tx_hash: record for record in records}

    @property
    def questions(self) -> Counter[TxHash]:
        """How often each hash was asked about."""
        return Counter(tx_hash for hashes in self.asked for tx_hash in hashes)

    def _answer(self, tx_hash: TxHash) -> ExclusionAnswer:
        if self.is_down or tx_hash in self.failing:
            return ExclusionAnswer(tx_hash, failure=self.silence)
        record = self.records.get(tx_hash)
        return ExclusionAnswer(tx_hash, record, claim=self.claims.get(tx_hash))


class SilentExclusion:
    """Never answers."""

    async def ask(self, hashes: Sequence[TxHash]) -> list[ExclusionAnswer]:
        """Wait until the asker gives up."""
        await asyncio.Event().wait()
        return [ExclusionAnswer(each) for each in hashes]


class ScriptedGas:
    """Answers with `fees` and `threshold`, or raises what stands in `errors`."""

    def __init__(self) -> None:
        """Be at 10 gwei."""
        self.fees = suggested_gas_fees()
        self.threshold = Wei(9)
        self.errors: dict[Operation, UpstreamError] = {}
        self.asked: Counter[Operation] = Counter()

    async def ask(self, operation: Operation) -> Any:  # noqa: ANN401 - each has its own answer
        """Answer one operation; the history has three base fees."""
        self.asked[operation] += 1
        if operation in self.errors:
            raise self.errors[operation]
        return {
            Operation.SUGGESTED_GAS_FEES: self.fees,
            Operation.BASE_FEE_HISTORY: (Wei(7), Wei(8), Wei(9)),
            Operation.BASE_FEE_PERCENTILE: Wei(8),
            Operation.BUSY_THRESHOLD: self.threshold,
        }[operation]


class MovingGas(ScriptedGas):
    """Tells another base fee each time, by one wei: only a chain with a flat fee never moves."""

    def __init__(self) -> None:
        """Be calm below 20 gwei."""
        super().__init__()
        self.threshold = Wei(20 * GWEI)
        self.gwei = 10
        self._moves = count()

    async def ask(self, operation: Operation) -> Any:  # noqa: ANN401 - each has its own answer
        """Answer as well, with other fees when they are asked for."""
        if operation is Operation.SUGGESTED_GAS_FEES:
            base_fee = Wei(self.gwei * GWEI + next(self._moves))
            self.fees = suggested_gas_fees(estimated_base_fee=base_fee)
        return await super().ask(operation)
