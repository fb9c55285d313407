"""Observations: what a poll saw or how it failed, what it cost, and how well sources answer."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from operator import add
from typing import Final, TypeVar, cast, overload

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import INCLUDED, RejectedTransaction, StatusClaim


class FailureKind(StrEnum):
    """How a question to upstream failed; one word per leaf of `UpstreamError`."""

    UNAVAILABLE = "unavailable"
    THROTTLED = "throttled"
    REFUSED = "refused"
    UNREADABLE = "unreadable"


OF_ONE_HASH: Final = frozenset({FailureKind.UNAVAILABLE, FailureKind.UNREADABLE})
"""Failures that may concern one hash alone, and that another try may end."""


@dataclass(frozen=True, slots=True)
class Failure:
    """Why there is no answer; `message` is safe to show and holds no secret.

    `retry_after` is how long the upstream asks us to wait, if it does; it is obeyed at once and not
    stored.
    """

    kind: FailureKind
    message: str
    retry_after: timedelta | None = field(default=None, compare=False)


def longest_retry_after(failures: Iterable[Failure]) -> timedelta:
    """Return the longest wait that these failures ask for."""
    wishes = (each.retry_after for each in failures if each.retry_after is not None)
    return max(wishes, default=timedelta())


class Operation(StrEnum):
    """The operations that are polled, named as on the wire."""

    SUGGESTED_GAS_FEES = "suggestedGasFees"
    BASE_FEE_HISTORY = "baseFeeHistory"
    BASE_FEE_PERCENTILE = "baseFeePercentile"
    BUSY_THRESHOLD = "busyThreshold"
    EXCLUSION_STATUS = "getTransactionExclusionStatusV1"
    TRANSACTION_RECEIPT = "eth_getTransactionReceipt"


FEE_OPERATIONS: Final = frozenset(
    {
        Operation.SUGGESTED_GAS_FEES,
        Operation.BASE_FEE_HISTORY,
        Operation.BASE_FEE_PERCENTILE,
        Operation.BUSY_THRESHOLD,
    }
)
"""The operations that a gas API answers."""

NODE_READING: Final[Mapping[str, int]] = {"eth_getBlockByNumber": 2, "eth_feeHistory": 1}
"""The calls, and how many of each at most, that read the fees of a node once."""

VERDICT_OPERATIONS: Final = frozenset({Operation.SUGGESTED_GAS_FEES, Operation.BUSY_THRESHOLD})
"""What the verdict of a network rests on: it is stale if one of these answers is."""

FOLLOW_UP_METHODS: Final = (
    Operation.TRANSACTION_RECEIPT,
    "eth_getTransactionCount",
    "eth_getBlockByNumber",
)
"""What a node is asked to learn what became of transactions."""

METHODS: Final = (*Operation, *NODE_READING, "eth_chainId", "eth_getTransactionCount")
"""All methods that any upstream is asked."""


def bare_method(method: str) -> str:
    """Return the name under which a method is counted: without the prefix of its network."""
    return method if method in METHODS else method.partition("_")[2] or method


class AnswerShape(StrEnum):
    """The format in which an endpoint answers: upstream's own record, or a status."""

    RECORD = "record"
    STATUS = "status"


class ExclusionAnswer(Struct, frozen=True):
    """What upstream said of one hash: a record, null (`record` is None), or a failure.

    `claim` is what it said instead of a record, as other gateways do. If there are several
    endpoints, `endpoint` gave this answer, and `beside` holds the answers of the others.
    """

    tx_hash: TxHash
    record: RejectedTransaction | None = None
    failure: Failure | None = None
    claim: StatusClaim | None = None
    endpoint: str = ""
    beside: tuple[ExclusionAnswer, ...] = ()

    @property
    def is_claimed_included(self) -> bool:
        """Whether upstream claims, without a record, that the transaction is in a block."""
        return self.claim is not None and self.claim.status == INCLUDED

    @property
    def shape(self) -> AnswerShape | None:
        """Its format; None for null and for a failure."""
        if self.claim is not None:
            return AnswerShape.STATUS
        if self.record is None:
            return None
        return AnswerShape.RECORD if self.record.is_staged else AnswerShape.STATUS


class ExclusionAnswers(Sequence[ExclusionAnswer]):
    """What upstream said of many hashes, in order: null except for `not_null`, by index.

    Most answers are null, from all `endpoints`. Objects for these are created only when needed.
    """

    def __init__(
        self,
        hashes: Sequence[TxHash],
        not_null: Mapping[int, ExclusionAnswer] | None = None,
        endpoints: Sequence[str] = ("",),
    ) -> None:
        """Store the answers that are not null by index; a network's only endpoint has no name."""
        self.hashes = hashes
        self.not_null = not_null or {}
        self.endpoints = endpoints
        self._all: list[ExclusionAnswer] | None = None

    def null(self, tx_hash: TxHash) -> ExclusionAnswer:
        """Return the null answer about a hash."""
        first, *beside = (ExclusionAnswer(tx_hash, endpoint=each) for each in self.endpoints)
        return replace(first, beside=tuple(beside)) if beside else first

    def __len__(self) -> int:
        return len(self.hashes)

    def __iter__(self) -> Iterator[ExclusionAnswer]:
        return iter(self._answers())

    @overload
    def __getitem__(self, place: int) -> ExclusionAnswer: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[ExclusionAnswer]: ...
    def __getitem__(self, place: int | slice) -> ExclusionAnswer | Sequence[ExclusionAnswer]:
        return self._answers()[place]

    def _answers(self) -> list[ExclusionAnswer]:
        if self._all is None:
            self._all = [self.null(each) for each in self.hashes]
            for place, answer in self.not_null.items():
                self._all[place] = answer
        return self._all


Answer = TypeVar("Answer")


def not_null(answers: Sequence[Answer]) -> Sequence[Answer]:
    """Return the records and failures, in order, or all answers if nulls are not kept apart."""
    return [each for _, each in sorted(not_null_by_place(answers).items())]


def not_null_by_place(answers: Sequence[Answer]) -> Mapping[int, Answer]:
    """Return the same answers by index."""
    if not isinstance(answers, ExclusionAnswers):
        return dict(enumerate(answers))
    return cast("Mapping[int, Answer]", answers.not_null)


class Spent(Struct, frozen=True):
    """Calls, and the credits that they cost in total; zero if calls are free."""

    calls: int = 0
    credits: int = 0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.credits + other.credits)

    def __mul__(self, times: int) -> Spent:
        return Spent(self.calls * times, self.credits * times)


CREDITS_PER_CALL: Final = 80
"""What the hosted gateway charges for one call of either API, according to its price list."""

FREE_CREDITS: Final = 3_000_000
"""The daily credits of its free plan."""


class Cost(Struct, frozen=True):
    """What polling one network costs while everything answers, by budget; "" stands for no budget.

    `question` is one question about a transaction, to all endpoints that are asked; `receipt` is
    one to a node about its inclusion, if that node is charged to a budget. `fees` are all fees of a
    day, `gas_credits` those of the gas API alone. A transaction without a rejection is asked about
    `checks` times in all; one that is first seen after line limits ended, `checks_after_limits`
    times, None if no end is known. A node is asked about one in no block `receipts` times.
    """

    question: Mapping[str, Spent] = msgspec.field(default_factory=dict)
    fees: Mapping[str, Spent] = msgspec.field(default_factory=dict)
    gas_credits: int = 0
    checks: int = 0
    checks_after_limits: int | None = None
    receipt: Mapping[str, Spent] = msgspec.field(default_factory=dict)
    receipts: int = 0

    @property
    def of_question(self) -> Spent:
        return sum(self.question.values(), Spent())

    @property
    def of_fees(self) -> Spent:
        """The calls and credits for the fees of a day."""
        return sum(self.fees.values(), Spent())

    def of_checks(self, checks: int) -> Spent:
        return self.of_question * checks

    @property
    def of_receipts(self) -> Spent:
        """The calls and credits for the receipts of a transaction in no block."""
        return sum(self.receipt.values(), Spent()) * self.receipts

    @property
    def is_free(self) -> bool:
        return not (self.of_question + self.of_fees + self.of_receipts).credits


LIMITS: Final = tuple(
    timedelta(milliseconds=each)
    for each in (5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000)
)
"""The upper bounds of the buckets in `times`; the last bucket has none."""

_LONGEST: Final = timedelta(seconds=30)
"""The assumed bound of the last bucket: the default deadline of a question."""


class AnswerCounts(Struct, frozen=True):
    """The results of one question, counted.

    `instead` counts answers of the node after the gas API failed. `times` is a histogram of
    response times; hashes that are asked about together share one response time.
    """

    answered: int = 0
    instead: int = 0
    failed: int = 0
    times: tuple[int, ...] = (0,) * (len(LIMITS) + 1)

    def __add__(self, other: AnswerCounts) -> AnswerCounts:
        return AnswerCounts(
            self.answered + other.answered,
            self.instead + other.instead,
            self.failed + other.failed,
            tuple(map(add, self.times, other.times)),
        )

    @property
    def asked(self) -> int:
        return self.answered + self.instead + self.failed

    def share(self) -> float | None:
        """Return the share of questions that were answered, None if nothing was asked."""
        return (self.answered + self.instead) / self.asked if self.asked else None

    def percentile(self, part: float) -> timedelta | None:
        """Return the time within which this share of the answers came, None without answers.

        Answers are assumed to be spread evenly within a bucket of `times`.
        """
        rank, below = part * sum(self.times), 0
        for place, count in enumerate(self.times):
            if count and below + count >= rank:
                begins = LIMITS[place - 1] if place else timedelta()
                ends = LIMITS[place] if place < len(LIMITS) else _LONGEST
                return begins + (ends - begins) * ((rank - below) / count)
            below += count
        return None


def times_of(took: timedelta) -> tuple[int, ...]:
    """Return the histogram of a single answer."""
    place = sum(took > limit for limit in LIMITS)
    return tuple(int(each == place) for each in range(len(LIMITS) + 1))


class TrialOutcome(StrEnum):
    """The result of a question; ABSENT: the endpoint lacks an optional feature."""

    GOOD = "ok"
    ABSENT = "absent"
    FAILED = "failed"


class TrialResult(Struct, frozen=True):
    """One question that was tried on one endpoint, its result in words, and how long it took."""

    endpoint: str
    question: str
    outcome: TrialOutcome
    found: str
    took: timedelta
