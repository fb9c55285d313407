"""How each source of a network answers, and what asking it has cost."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct, field
from msgspec.structs import replace

from dashboard.application.network_status import NetworkProfile, PolledValue
from dashboard.application.text import age, moment_near
from dashboard.domain.fees.gas import GasSource
from dashboard.domain.formatting import capitalized, counted, moment, share
from dashboard.domain.health.coverage import Watched
from dashboard.domain.health.observation import (
    FEE_OPERATIONS,
    AnswerShape,
    FailureKind,
    Operation,
    Spent,
)
from dashboard.domain.health.transport_state import TransportState
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.line_limits import LineLimits
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.latest import LatestGas, latest_gas_of
from dashboard.store.monitoring.answer_counts import StandingFailure, last_answers_of, transports_of
from dashboard.store.monitoring.coverage import unwatched_now
from dashboard.store.monitoring.upkeep import LedgerLine, spent_since
from dashboard.store.tracking.statements import EndpointState, endpoint_states

PLAN_TOLERANCE: Final = 0.05
"""The share by which fees may exceed the plan: a worker that restarts asks at once."""


class Spending(Struct, frozen=True):
    """Calls to one network, and their credits."""

    today: Spent = Spent()
    this_month: Spent = Spent()


def spending(connection: Connection, now: datetime) -> dict[NetworkId, Spending]:
    """Return today's and this month's calls and credits, for each network asked this month."""
    midnight = _midnight(now)
    today = _by_network(spent_since(connection, midnight))
    this_month = _by_network(spent_since(connection, midnight.replace(day=1)))
    return {each: Spending(today[each], spent) for each, spent in this_month.items()}


def fee_credits(connection: Connection, now: datetime) -> dict[NetworkId, int]:
    """Return the credits spent on each network's fees since midnight UTC."""
    lines = spent_since(connection, _midnight(now))
    of_fees = _by_network(each for each in lines if each.operation in FEE_OPERATIONS)
    return {each: spent.credits for each, spent in of_fees.items()}


def is_over_plan(took: int, planned: int) -> bool:
    """Whether fees cost clearly more credits than planned; false if nothing is planned."""
    return 0 < planned * (1 + PLAN_TOLERANCE) < took


def spending_in_words(spending: Spending, took: int, planned: int) -> str:
    """Say what a network has cost, and how today's fees compare with the plan."""
    today, month = _calls_and_credits(spending.today), _calls_and_credits(spending.this_month)
    plan = f" {plan_in_words(took, planned)}" if planned else ""
    return f"Asked today: {today}; this month: {month}.{plan}"


def plan_in_words(took: int, planned: int) -> str:
    """Say what fees cost today (UTC) of the daily plan, and by how much they exceed it."""
    over = f", {share(took / planned - 1)} over plan" if is_over_plan(took, planned) else ""
    return f"Its fees took {took:,} of the {planned:,} credits planned for a day{over}."


def _by_network(lines: Iterable[LedgerLine]) -> defaultdict[NetworkId, Spent]:
    found: defaultdict[NetworkId, Spent] = defaultdict(Spent)
    for line in lines:
        found[line.network_id] += line.spent
    return found


def _midnight(now: datetime) -> datetime:
    return now.replace(hour=0, minute=0, second=0, microsecond=0)


def _calls_and_credits(spent: Spent) -> str:
    calls = counted(spent.calls, "call")
    return f"{calls}, {counted(spent.credits, 'credit')}" if spent.credits else calls


OPERATION_NAMES: Final = {
    Operation.SUGGESTED_GAS_FEES: "Base fee, congestion, suggested fees",
    Operation.BASE_FEE_HISTORY: "Base fees of past blocks",
    Operation.BASE_FEE_PERCENTILE: "Median base fee",
    Operation.BUSY_THRESHOLD: "Busy threshold",
    Operation.EXCLUSION_STATUS: "Rejections of tracked transactions",
    Operation.TRANSACTION_RECEIPT: "Inclusion of tracked transactions",
}
"""What each operation returns, in words."""

REMEDIES: Final = {
    FailureKind.UNAVAILABLE: (
        "It is asked again automatically. If this lasts, check the address of the endpoint and "
        "the connection to it."
    ),
    FailureKind.THROTTLED: (
        "It wants fewer calls: lengthen the periods under [poll], or get a larger plan."
    ),
    FailureKind.REFUSED: "Check its address, its key, and what the key may ask.",
    FailureKind.UNREADABLE: "Another program answers there: check the address.",
}
"""What to do about a lasting failure."""


class OperationState(StrEnum):
    """Whether an operation is answered."""

    ANSWERED = "answered"
    STALE = "stale"
    FAILING = "failing"
    NOT_ASKED = "not asked yet"
    NOT_AWAITED = "no line limits"


class OperationHealth(Struct, frozen=True):
    """One operation on one network: when it was last answered, and why it is not.

    `period` is how often it is asked, None if that depends on the age of each hash.
    `no_worker_since` is when the last worker stopped; None while one runs. `is_from_node`: the last
    answer came from the node, because the gas API gave none. `not_awaited_since` is when line
    limits ended, after which it need not answer; hashes first seen after that are asked about
    rarely if `is_asked_after`, otherwise never. `endpoints` are asked by name, in order or all at
    once; a single endpoint has no name.
    """

    operation: Operation
    answered_at: datetime | None
    period: timedelta | None
    failure: StandingFailure | None = None
    is_from_node: bool = False
    no_worker_since: datetime | None = None
    not_awaited_since: datetime | None = None
    is_asked_after: bool = True
    endpoints: tuple[tuple[str, EndpointState], ...] = ()
    asks_all: bool = False

    def left_endpoints(self) -> list[tuple[str, EndpointState]]:
        """Return the endpoints that do not answer although they should be asked."""
        found = []
        for name, state in self.endpoints:
            if state.failure is not None:
                found.append((name, state))
            elif not self.asks_all:
                break
        return found

    def state(self, now: datetime) -> OperationState:
        """Return its state; a failure takes precedence over an old answer."""
        if self.not_awaited_since is not None:
            return OperationState.NOT_AWAITED
        if self.failure is not None:
            return OperationState.FAILING
        if self.answered_at is None:
            return OperationState.NOT_ASKED
        if self.period is None:
            is_stale = self.no_worker_since is not None
        else:
            is_stale = PolledValue(None, self.answered_at, self.period).is_stale(now)
        return OperationState.STALE if is_stale else OperationState.ANSWERED


def endpoint_words(operation: OperationHealth, now: datetime) -> list[str]:
    """Say how each exclusion endpoint answers, and who replaces one that does not.

    A single endpoint is left out if nothing is known of it.
    """
    left = {name for name, _ in operation.left_endpoints()}
    said = []
    for place, (name, state) in enumerate(operation.endpoints):
        answers = "" if state.shape is None else f"its answers are {_SHAPES[state.shape]}"
        if not name:
            said += [capitalized(answers)] if answers else []
            continue
        role = ""
        if not operation.asks_all and name not in left:
            role = " stands by:" if place > len(left) else " is asked instead:" if left else ""
        words = [f"{name}{role} {_last_answer(state, now, is_left=name in left)}"]
        if state.failure is None and state.answered_at is not None:
            words.append(answers or "so far, all its answers are null")
        elif answers:
            words.append(answers)
        said.append("; ".join(words))
    return said


def _last_answer(state: EndpointState, now: datetime, *, is_left: bool) -> str:
    """Say when an endpoint last answered, to follow its name."""
    if state.failure is not None:
        since = "" if state.failing_since is None else moment(state.failing_since)
        if is_left:
            return f"{_silence(state, since)}: {state.failure.message}; {_TRIED}"
        return f"did not answer at {since}" if since else "did not answer lately"
    if state.answered_at is None:
        return "has not been asked yet"
    return f"answered {age(state.answered_at, now)}"


def _silence(state: EndpointState, since: str) -> str:
    """Say since when an endpoint has not answered, if that is known."""
    if state.answered_at is None and state.shape is None:
        return f"has never answered{since and f', first asked {since}'}"
    return f"has not answered since {since}" if since else "does not answer"


_TRIED: Final = "one question tries it every 15 s at most, and its first answer brings it back"

_SHAPES: Final = {
    AnswerShape.RECORD: "records",
    AnswerShape.STATUS: "statuses, without stage, nonce and date",
}


class NetworkHealth(Struct, frozen=True):
    """The operations of one network; its fees cost `fee_credits` today.

    `transports` say how its exclusion endpoints are asked, by endpoint.
    """

    profile: NetworkProfile
    operations: Sequence[OperationHealth]
    fee_credits: int = 0
    transports: Mapping[str, Sequence[TransportState]] = field(default_factory=dict)

    @property
    def is_over_plan(self) -> bool:
        """Whether fees cost more credits today than are planned for a whole day."""
        return is_over_plan(self.fee_credits, self.profile.cost.gas_credits)

    def ways(self) -> list[str]:
        """Say how each exclusion endpoint is asked and why, the transport in use first.

        While the API does not answer, one request tries it from time to time, like a circuit
        breaker.
        """
        operations = {each.operation: each for each in self.operations}
        exclusion = operations.get(Operation.EXCLUSION_STATUS)
        found = [
            f"{capitalized(name)}: {'; '.join(each.in_words() for each in states)}."
            for name, states in self.transports.items()
        ]
        if found and exclusion is not None and exclusion.failure is not None:
            found.append(
                "The exclusion API does not answer: one request tries it "
                "every 15 s at most; after the first answer, all that are due follow."
            )
        return found

    def left_endpoints(self, now: datetime) -> Iterator[tuple[str, str, str]]:
        """Yield each endpoint that is left while others answer: what, why, and what to do."""
        for each in self.operations:
            left = each.left_endpoints()
            if each.failure is not None or len(left) == len(each.endpoints):
                continue
            for name, state in left:
                if state.failure is None:
                    continue
                at = state.failing_since
                since = "" if at is None else f"{moment_near(at, now)} ({age(at, now)})"
                what = f"the exclusion endpoint {name} {_silence(state, since)}."
                advice = f"{REMEDIES[state.failure.kind]} Meanwhile another endpoint answers."
                yield f"{self.profile.name}: {what}", state.failure.message, advice

    def stale(self, now: datetime) -> Iterator[OperationHealth]:
        """Yield the operations whose answers are old, if none fails."""
        states = [(each, each.state(now)) for each in self.operations]
        if all(state is not OperationState.FAILING for _, state in states):
            yield from (each for each, state in states if state is OperationState.STALE)

    def state(self, now: datetime) -> OperationState:
        """Return the worst state of its operations; NOT_ASKED if there are none."""
        found = {operation.state(now) for operation in self.operations}
        worst = (
            OperationState.FAILING,
            OperationState.STALE,
            OperationState.ANSWERED,
            OperationState.NOT_AWAITED,
        )
        return next((state for state in worst if state in found), OperationState.NOT_ASKED)


def read_networks(
    connection: Connection,
    profiles: Sequence[NetworkProfile],
    limits: Mapping[NetworkId, LineLimits],
    now: datetime,
) -> list[NetworkHealth]:
    """Return how each network answers, and what its fees cost today."""
    ids = [each.network_id for each in profiles]
    took = fee_credits(connection, now)
    no_worker_since = {
        each.network_id: each.begins_at
        for each in unwatched_now(connection, ids, now)
        if each.watched is Watched.REJECTIONS
    }
    latest, answered = latest_gas_of(connection, ids, now), last_answers_of(connection, ids)
    states = endpoint_states(connection)
    transports = transports_of(connection, ids)
    found = []
    for each in profiles:
        key = each.network_id
        operations = _operations(each, latest[key], answered, states, no_worker_since.get(key))
        awaited = tuple(_unless_ended(one, limits[key], now) for one in operations)
        found.append(NetworkHealth(each, awaited, took.get(key, 0), transports[key]))
    return found


def _unless_ended(operation: OperationHealth, limits: LineLimits, now: datetime) -> OperationHealth:
    """Return the operation as it is after line limits ended, when it need not answer."""
    ended_at = limits.ended_at(now)
    if ended_at is None or operation.operation is not Operation.EXCLUSION_STATUS:
        return operation
    return replace(
        operation,
        failure=None,
        no_worker_since=None,
        not_awaited_since=ended_at,
        is_asked_after=limits.is_asked_after,
    )


def _operations(
    profile: NetworkProfile,
    latest: LatestGas,
    answered_at: Mapping[tuple[NetworkId, Operation], datetime],
    states: Mapping[tuple[NetworkId, str], EndpointState],
    no_worker_since: datetime | None,
) -> Iterator[OperationHealth]:
    failures = {failure.operation: failure for failure in latest.failures}
    answered = [*(_gas_operations(profile, latest) if profile.has_gas else ())]
    asked, followed = (
        answered_at.get((profile.network_id, each))
        for each in (Operation.EXCLUSION_STATUS, Operation.TRANSACTION_RECEIPT)
    )
    if profile.has_exclusion:
        answered.append(
            OperationHealth(
                Operation.EXCLUSION_STATUS,
                asked,
                None,
                no_worker_since=no_worker_since,
                endpoints=tuple(
                    (name, states.get((profile.network_id, name), EndpointState()))
                    for name in profile.exclusion_endpoints
                ),
                asks_all=profile.asks_all,
            )
        )
    if followed is not None:
        answered.append(
            OperationHealth(
                Operation.TRANSACTION_RECEIPT, followed, None, no_worker_since=no_worker_since
            )
        )
    return _with_failures(answered, failures)


def _gas_operations(profile: NetworkProfile, latest: LatestGas) -> Iterator[OperationHealth]:
    usual, threshold = latest.base_fee_percentile, latest.busy_threshold
    for operation, dated, period in (
        (Operation.SUGGESTED_GAS_FEES, latest.suggested_gas_fees, profile.gas_period),
        (Operation.BUSY_THRESHOLD, threshold, profile.threshold_period),
        (Operation.BASE_FEE_PERCENTILE, usual, profile.threshold_period),
        (Operation.BASE_FEE_HISTORY, latest.base_fee_history, profile.history_period),
    ):
        answered_at = None if dated is None else dated.asked_at
        is_instead = dated is not None and dated.source is GasSource.NODE_INSTEAD
        yield OperationHealth(operation, answered_at, period, is_from_node=is_instead)


def _with_failures(
    operations: list[OperationHealth], failures: dict[Operation, StandingFailure]
) -> Iterator[OperationHealth]:
    """Add each failure to its operation; a failure of another operation is yielded by itself."""
    for each in operations:
        yield replace(each, failure=failures.pop(each.operation, None))
    for operation, failure in failures.items():
        yield OperationHealth(operation, None, None, failure)
