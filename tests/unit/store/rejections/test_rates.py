"""Rejections of a short time are counted as a rule takes them, by network and one dimension."""

from __future__ import annotations

import pytest

from dashboard.domain.alerts.kinds.kind import Dimension
from dashboard.domain.alerts.rule import RuleScope
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.engine.engine import Store
from dashboard.store.rejections.rates import count_arrivals
from dashboard.store.tracking.transactions import track_all
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    an_address,
    seconds,
)
from tests.saved_record import save_record

HUB = "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)"
EVERYTHING = RuleScope(takes_all_reports=True)


@pytest.fixture
def store(store: Store) -> Store:
    """Hold four rejections of the last minute, of which two are tracked, and an old one."""
    arrivals = (
        (1, A_NETWORK, HUB, 10),
        (2, A_NETWORK, HUB, 20),
        (3, A_NETWORK, "odd", 30),
        (4, ANOTHER_NETWORK, HUB, 60),
        (5, A_NETWORK, HUB, 0),
    )
    with store.write() as connection:
        labels = {1: ("bot #vip", ""), 3: ("bot", "#VIP #late")}
        track_all(
            connection,
            [
                TrackRequest(a_hash(number), (A_NETWORK,), Remarks(label=label, note=note))
                for number, (label, note) in labels.items()
            ],
            A_MOMENT,
        )
        for number, network_id, reason, after in arrivals:
            record = a_record(
                tx_hash=a_hash(number), sender=an_address(number % 2), reason_message=reason
            )
            save_record(connection, network_id, record, A_MOMENT + seconds(after))
    return store


COUNTED: tuple[tuple[RuleScope, Dimension | None, dict[tuple[int, str], int]], ...] = (
    (EVERYTHING, None, {(A_NETWORK, ""): 3, (ANOTHER_NETWORK, ""): 1}),
    (RuleScope(), None, {(A_NETWORK, ""): 2}),
    (
        EVERYTHING,
        Dimension.MODULE,
        {(A_NETWORK, "HUB"): 2, (A_NETWORK, ""): 1, (ANOTHER_NETWORK, "HUB"): 1},
    ),
    (
        RuleScope(takes_all_reports=True, networks=(A_NETWORK,)),
        Dimension.SENDER,
        {(A_NETWORK, str(an_address(1))): 2, (A_NETWORK, str(an_address(0))): 1},
    ),
    (
        RuleScope(takes_all_reports=True, modules=("HUB",), stages=(RejectionStage.RPC,)),
        Dimension.STAGE,
        {(A_NETWORK, "RPC"): 2, (ANOTHER_NETWORK, "RPC"): 1},
    ),
    (RuleScope(takes_all_reports=True, senders=(an_address(9),)), None, {}),
    (RuleScope(labels=("bot",)), None, {(A_NETWORK, ""): 1}),
    (
        EVERYTHING,
        Dimension.LABEL,
        {
            (A_NETWORK, "bot #vip"): 1,
            (A_NETWORK, "bot"): 1,
            (A_NETWORK, ""): 1,
            (ANOTHER_NETWORK, ""): 1,
        },
    ),
    (RuleScope(tags=("vip",)), None, {(A_NETWORK, ""): 2}),
    (RuleScope(tags=("vi",)), None, {}),
    (
        EVERYTHING,
        Dimension.TAG,
        {
            (A_NETWORK, "vip"): 2,
            (A_NETWORK, "late"): 1,
            (A_NETWORK, ""): 1,
            (ANOTHER_NETWORK, ""): 1,
        },
    ),
    (RuleScope(), Dimension.TAG, {(A_NETWORK, "vip"): 2, (A_NETWORK, "late"): 1}),
    (RuleScope(tags=("late",)), Dimension.TAG, {(A_NETWORK, "late"): 1}),
)
"""What a rule takes, by which dimension, and what it counts."""


def test_arrivals_are_counted_as_the_rule_takes_them(store: Store) -> None:
    until = A_MOMENT + seconds(60)
    with store.read() as connection:
        counted = [
            (scope, by, dict(count_arrivals(connection, scope, by, A_MOMENT, until)))
            for scope, by, _ in COUNTED
        ]

    assert counted == list(COUNTED)
