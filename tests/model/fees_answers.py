"""How fees are read, each way beside what a plain model of them holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from operator import attrgetter
from typing import Final

from dashboard.domain.fees.gas import GasSource
from dashboard.domain.fees.rollup import FeeSeries
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.busy_window import RollingFees
from dashboard.store.fees.series import (
    ChartRange,
    fee_steps,
    first_seen_at,
    percentile_steps,
)
from dashboard.store.fees.steps import FeeSteps
from dashboard.store.fees.stored_fees import (
    fees_answered_at,
    percentile_answered_by_api_at,
    priority_fee_window,
)
from dashboard.store.gas import latest_gas
from dashboard.store.schema.columns import milliseconds_of, moment_of
from tests.model.fees import A_MINUTE, MARKS, Fees, Value, begin_of, newest
from tests.model.kills import Turn
from tests.model.tracking import Silences
from tests.model.world import NETWORKS
from tests.stored_base_fees import base_fees

_FEES: Final = (FeeSeries.ESTIMATED_BASE_FEE, FeeSeries.MEDIUM_MAX_PRIORITY_FEE)
"""The series that the model holds."""

_STEPS: Final = (A_MINUTE, timedelta(hours=1), timedelta(days=1))
_asked_at = attrgetter("asked_at")


def check_fees(
    connection: Connection, held: Fees, silences: Silences, now: datetime, turn: Turn
) -> None:
    """Read fees in every way whose turn it is, and see that they are what is held."""
    for network_id in NETWORKS:
        _check_latest(connection, held, silences, network_id, now)
        _check_values(connection, held, network_id, now)
        for kind in _FEES:
            for step in turn.some_of(_STEPS):
                # Short enough to be told in the steps that were asked for.
                since = _opens_nothing(held, network_id, now - 2500 * step, step)
                between = ChartRange(since, now + timedelta(days=1), step)
                found = fee_steps(connection, network_id, kind, between)
                groups = _groups(held.told(network_id, kind), between)
                bounds = _groups(held.gone.bounds[network_id, kind], between)
                _check_steps(found, groups, bounds)
                gone = _groups(held.gone.values[network_id, kind], between)
                _check_gaps(found, groups, gone)
        for operation in MARKS:
            _check_mark_steps(connection, held, network_id, operation, now)


def _check_latest(
    connection: Connection, held: Fees, silences: Silences, network_id: NetworkId, now: datetime
) -> None:
    latest = latest_gas(connection, network_id, now)
    history = held.histories.get(network_id)
    assert latest.suggested_gas_fees == newest(held.observed[network_id], now)
    assert latest.base_fee_history == (history if history and history.asked_at <= now else None)
    percentile, threshold = (newest(held.marks[network_id, each], now) for each in MARKS)
    assert latest.base_fee_percentile == percentile
    assert latest.busy_threshold == threshold
    assert latest.failures == silences.of(network_id)
    answered = latest.suggested_gas_fees
    assert fees_answered_at(connection, network_id, now) == (answered and answered.asked_at)
    by_api = [
        each.asked_at
        for operation in MARKS
        for each in held.marks[network_id, operation].values()
        if each.source is not GasSource.NODE_INSTEAD and each.asked_at <= now
    ]
    assert percentile_answered_by_api_at(connection, network_id, now) == max(by_api, default=None)


def _check_values(connection: Connection, held: Fees, network_id: NetworkId, now: datetime) -> None:
    since = now - timedelta(hours=2)
    own = [
        each
        for each in held.values(network_id, FeeSeries.ESTIMATED_BASE_FEE)
        if since <= each[0] <= now
    ]
    found = base_fees(connection, network_id, since, now)
    assert sorted((moment_of(at), fee, guess) for at, fee, guess in found) == own
    rolling = RollingFees(network_id, FeeSeries.ESTIMATED_BASE_FEE, now - since)
    window = rolling.read(connection, now)
    assert list(window) == sorted(fee for _, fee, _ in own)
    priority = [
        (at, fee)
        for at, fee, _ in held.values(network_id, FeeSeries.MEDIUM_MAX_PRIORITY_FEE)
        if since <= at <= now
    ]
    fees = priority_fee_window(connection, network_id, since, now)
    assert list(fees) == sorted(fee for _, fee in priority)
    ever = [at for at, _, _ in held.told(network_id, FeeSeries.ESTIMATED_BASE_FEE)]
    assert first_seen_at(connection, network_id) == min(ever, default=None)


def _opens_nothing(held: Fees, network_id: NetworkId, at: datetime, step: timedelta) -> datetime:
    """Return a time that cuts no roll-up which only single values could tell a part of."""
    has_gone = any(gone for (each, _), gone in held.gone.values.items() if each == network_id)
    has_gone |= any(gone for (each, _), gone in held.gone.marks.items() if each == network_id)
    return begin_of(at, step) if has_gone else at


def _groups(values: Sequence[Value], between: ChartRange) -> dict[datetime, list[Value]]:
    groups: dict[datetime, list[Value]] = {}
    for each in values:
        if between.since <= each[0] <= between.until:
            groups.setdefault(begin_of(each[0], between.step), []).append(each)
    return groups


def _check_steps(
    found: FeeSteps, groups: dict[datetime, list[Value]], bounds: dict[datetime, list[Value]]
) -> None:
    assert len(found) == len(groups), (found, groups)
    for step, (begin, group) in zip(found, groups.items(), strict=True):
        fees = sorted(fee for _, fee, _ in group)
        bounded = [*fees, *(fee for _, fee, _ in bounds.get(begin, ()))]
        assert (step.first_at, step.last_at) == (group[0][0], group[-1][0])
        assert (step.lowest, step.highest) == (min(bounded), max(bounded))
        assert (step.values, step.estimated) == (len(group), sum(each[2] for each in group))
        assert abs(step.mean - sum(fees) / len(fees)) <= 1e-9 * fees[-1]
        for found_fee, percent in ((step.median, 50), (step.p90, 90)):
            exact = fees[max(1, -(-len(fees) * percent // 100)) - 1]
            assert abs(found_fee - exact) * 64 <= exact, (percent, fees, found_fee)


def _check_gaps(
    found: FeeSteps, groups: dict[datetime, list[Value]], gone: dict[datetime, list[Value]]
) -> None:
    """See how long silences were; in a minute that lost values they may seem longer."""
    for step, begin, exact in zip(found, groups, _gaps(list(groups.values())), strict=True):
        longest = max(exact, A_MINUTE) if begin in gone else exact
        assert exact <= step.longest_gap <= longest


def _gaps(groups: Sequence[Sequence[Value]]) -> list[timedelta]:
    """Return the longest silence that ended in each step."""
    gaps, last = [], None
    for group in groups:
        longest = timedelta()
        for at, _, _ in group:
            longest = max(longest, at - (last or at))
            last = at
        gaps.append(longest)
    return gaps


def _check_mark_steps(
    connection: Connection, held: Fees, network_id: NetworkId, operation: Operation, now: datetime
) -> None:
    step = timedelta(hours=1)
    since = _opens_nothing(held, network_id, now - 20 * step, step)
    between = ChartRange(since, now, step)
    place = network_id, operation
    marks = sorted([*held.gone.marks[place], *held.marks[place].values()], key=_asked_at)
    before = [each for each in marks if each.asked_at < since][-1:]
    last = {begin_of(each.asked_at, step): each for each in marks if since <= each.asked_at <= now}
    found = percentile_steps(connection, network_id, operation, between)
    expected = [(milliseconds_of(each.asked_at), each.value) for each in (*before, *last.values())]
    assert list(zip(found.asked_at.tolist(), found.fees.tolist(), strict=True)) == expected
