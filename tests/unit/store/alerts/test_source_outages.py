"""What is silent, and whether a node stands in for it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.alerts.condition import State, Subject, SubjectKind
from dashboard.domain.alerts.inhibition import SourceOutage
from dashboard.domain.fees.gas import GasObservation, GasSource
from dashboard.domain.health.observation import Operation
from dashboard.store.alerts.alert_status import source_outages
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_transition,
    seconds,
    suggested_gas_fees,
)


def hold(store: Store, *held: tuple[Subject, State]) -> None:
    with store.write() as connection:
        for number, (subject, state) in enumerate(held, start=1):
            assert record_transition(
                connection, a_transition(number, subject=subject, before=None, after=state), None
            )


def test_only_what_is_silent_or_stale_counts_and_apis_come_first(store: Store) -> None:
    hold(
        store,
        (Subject(SubjectKind.FEES, A_NETWORK), State.STALE),
        (Subject(SubjectKind.EXCLUSION_API, A_NETWORK), State.SILENT),
        (Subject(SubjectKind.GAS_API, A_NETWORK), State.ANSWERING),
        (Subject(SubjectKind.GAS_API, ANOTHER_NETWORK), State.SILENT),
    )

    with store.read() as connection:
        found = source_outages(connection, A_MOMENT)

    assert found == [
        SourceOutage(SubjectKind.GAS_API, ANOTHER_NETWORK, A_MOMENT),
        SourceOutage(SubjectKind.EXCLUSION_API, A_NETWORK, A_MOMENT),
        SourceOutage(SubjectKind.FEES, A_NETWORK, A_MOMENT),
    ]


@pytest.mark.parametrize(("minutes", "is_replaced"), [(1, True), (6, False)])
def test_node_stands_in_as_long_as_it_answers(
    store: Store,
    minutes: int,
    is_replaced: bool,  # noqa: FBT001 - a table
) -> None:
    hold(store, (Subject(SubjectKind.GAS_API, A_NETWORK), State.SILENT))
    observation = GasObservation(
        A_NETWORK,
        A_MOMENT,
        suggested_gas_fees=suggested_gas_fees(),
        sources={Operation.SUGGESTED_GAS_FEES: GasSource.NODE_INSTEAD},
    )
    with store.write() as connection:
        save_gas(connection, observation)
        [found] = source_outages(connection, A_MOMENT + timedelta(minutes=minutes))

    assert found.is_replaced is is_replaced
    assert found.since == A_MOMENT + seconds(0)
