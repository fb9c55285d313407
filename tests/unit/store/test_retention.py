"""What is old is forgotten with all that hangs on it; what somebody still needs stays."""

from __future__ import annotations

from collections import Counter
from datetime import datetime, timedelta
from itertools import count as count_up

import pytest
from sqlalchemy import func, select

from dashboard.domain.api_key import KeyLimits
from dashboard.domain.audit import Action
from dashboard.domain.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.fee_rollup import Level
from dashboard.domain.follow_up import InclusionAnswer, InclusionQuestion
from dashboard.domain.notice import Recipient
from dashboard.domain.observation import ExclusionAnswer, GasObservation
from dashboard.domain.quantity import Wei
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.domain.retention import Before
from dashboard.store.answers import evidence, record_answers
from dashboard.store.api_keys import Credential, KeyUse, add_uses, create_key, key_uses
from dashboard.store.audit import AuditFilter, audit_entries, note_action
from dashboard.store.columns import milliseconds_of
from dashboard.store.conditions import change, condition
from dashboard.store.connection import Connection
from dashboard.store.engine import Store
from dashboard.store.follow_ups import keep_inclusion_answers
from dashboard.store.known_hashes import KnownHashes, head_of, load_heads
from dashboard.store.notice_rows import notice_id_of
from dashboard.store.observations import base_fees, save_gas
from dashboard.store.outbox import expand, mark_sent, recent_notices, unexpanded
from dashboard.store.pace import LONGEST_STEP, Pace, next_rows
from dashboard.store.rejections import save_polled, versions, visible
from dashboard.store.reports import save_report
from dashboard.store.retention import keep_house
from dashboard.store.schema import fee_rollups, metadata
from dashboard.store.tallies import how_many
from dashboard.store.transactions import TrackRequest, track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_hash,
    a_record,
    a_report,
    a_transition,
    an_id,
    seconds,
    suggested_gas_fees,
)

DAY = timedelta(days=1)
OPERATOR = Recipient("mail", "ops@example.org")


def forget(store: Store, rows: int = 100, **before: datetime) -> dict[str, int]:
    """Forget all that is older, in steps of so many rows; return how many of each kind."""
    forgotten: Counter[str] = Counter()
    ticks = (number * LONGEST_STEP / 2 for number in count_up())
    for step in keep_house(store, Before(**before), Pace(lambda: next(ticks), rows)):
        assert step.rows <= rows
        forgotten[step.kind] += step.rows
    return dict(+forgotten)


def rows_of(store: Store, table: str) -> int:
    """Count the rows of a table."""
    with store.read() as connection:
        return connection.scalars(select(func.count()).select_from(metadata.tables[table])).one()


def see_fees(store: Store, *moments: datetime) -> None:
    """Save what a poll of both networks saw at these times."""
    with store.write() as connection:
        for at in moments:
            for network_id in (A_NETWORK, ANOTHER_NETWORK):
                observation = GasObservation(
                    network_id, at, suggested_gas_fees(), busy_threshold=Wei(4)
                )
                save_gas(connection, observation, None)


def reject(store: Store, number: int, at: datetime, *, is_told: bool = True) -> int:
    """Keep a rejection of which somebody is owed a mail; it is handed over if it `is_told`."""
    with store.write() as connection:
        save_report(connection, a_report(tx_hash=a_hash(number)), A_NETWORK, at)
        [stored] = versions(connection, a_hash(number))
        transition = a_transition(number, at=at)
        change(connection, transition, stored.rejection_id)
        hand_over(connection, at, is_told=is_told)
    return stored.rejection_id


def hand_over(connection: Connection, at: datetime, *, is_told: bool = True) -> None:
    """Make notices of what is in the outbox, and mark them as sent if they are told."""
    for entry in unexpanded(connection, 100):
        expand(connection, entry, [OPERATOR], at)
        notice_id = notice_id_of(entry.transition.transition_id, OPERATOR)
        if is_told:
            mark_sent(connection, notice_id, "250", at)


def a_roll_up(level: Level, begins_at: int) -> dict[str, object]:
    """Return a row of a fee that was seen once."""
    numbers = ("lowest", "highest", "total", "median", "p90", "last", "longest_gap", "estimated")
    times = {"begins_at": begins_at, "first_at": begins_at, "last_at": begins_at}
    place = {"network_id": A_NETWORK, "series": 1, "level": level}
    return place | times | dict.fromkeys(numbers, 0) | {"seen": 1, "histogram": b""}


def on_record(store: Store, *numbers: int) -> list[int]:
    """Return those hashes of which a rejection is on record."""
    with store.read() as connection:
        return [number for number in numbers if versions(connection, a_hash(number))]


def test_fees_are_forgotten_and_nothing_else(store: Store) -> None:
    see_fees(store, *(A_MOMENT + seconds(60 * number) for number in range(-5, 5)))
    rolled_up = rows_of(store, "fee_rollups")

    assert forget(store, 2, fees=A_MOMENT) == {"fees": 20}

    with store.read() as connection:
        kept = base_fees(connection, A_NETWORK, A_MOMENT - DAY, A_MOMENT + DAY)
    assert [point.at for point in kept] == [A_MOMENT + seconds(60 * each) for each in range(5)]
    assert rows_of(store, "fee_rollups") == rolled_up
    assert forget(store, fees=A_MOMENT) == {}


def test_minutes_are_forgotten_while_hours_and_days_stay(store: Store) -> None:
    rows = [
        a_roll_up(level, milliseconds_of(at))
        for at in (A_MOMENT - seconds(3600), A_MOMENT - seconds(60), A_MOMENT)
        for level in Level
    ]
    with store.write() as connection:
        connection.execute(fee_rollups.insert(), rows)

    assert forget(store, 1, fee_minutes=A_MOMENT) == {"fee minutes": 2}

    with store.read() as connection:
        levels = select(fee_rollups.c.level, func.count()).group_by(fee_rollups.c.level)
        kept = [tuple(row) for row in connection.execute(levels.order_by("level"))]
    assert kept == [(1, 1), (2, 3), (3, 3)]


def test_rejection_goes_with_all_that_rests_on_it(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    reject(store, 2, A_MOMENT)

    assert forget(store, rejections=A_MOMENT) == {"rejections": 1}

    assert on_record(store, 1, 2) == [2]
    assert rows_of(store, "signed_transactions") == 1
    with store.read() as connection:
        assert how_many(connection, RejectionFilter()) == 1
        assert visible(connection, [A_NETWORK], a_hash(1), A_MOMENT) is None
        assert condition(connection, Subject.transaction(A_NETWORK, a_hash(1))) is None
        notices = recent_notices(connection, 10)
    assert [notice.rejection is None for notice in notices] == [False, True]


def test_signed_transaction_stays_with_another_version(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    with store.write() as connection:
        other = a_report(tx_hash=a_hash(1), reason_message="another")
        save_report(connection, other, A_NETWORK, A_MOMENT)

    assert forget(store, rejections=A_MOMENT) == {"rejections": 1}

    assert (on_record(store, 1), rows_of(store, "signed_transactions")) == ([1], 1)


def test_rejection_that_somebody_needs_stays(store: Store) -> None:
    old = A_MOMENT - DAY
    reject(store, 1, old, is_told=False)
    with store.write() as connection:
        save_report(connection, a_report(tx_hash=a_hash(2)), A_NETWORK, old)
        track(connection, TrackRequest(a_hash(2), (A_NETWORK,), None, ""), old)
        save_polled(connection, A_NETWORK, a_record(tx_hash=a_hash(3)), old)
        save_polled(connection, A_NETWORK, a_record(tx_hash=a_hash(3)), A_MOMENT)
        save_report(connection, a_report(tx_hash=a_hash(4)), A_NETWORK, old)
        [fourth] = versions(connection, a_hash(4))
        change(connection, a_transition(4), fourth.rejection_id)

    assert forget(store, 1, rejections=A_MOMENT) == {}
    assert on_record(store, 1, 2, 3, 4) == [1, 2, 3, 4]


def test_serve_answers_null_of_a_rejection_that_was_forgotten(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    known = KnownHashes(store.rejection_reader())
    known.adopt(load_heads(store))

    forget(store, rejections=A_MOMENT)

    reader = store.rejection_reader()
    assert known.is_current()
    assert known.among([head_of(a_hash(1))])  # asked for, not answered for
    assert reader.visible([A_NETWORK], a_hash(1), A_MOMENT) is None


def test_rejection_that_comes_again_is_told_again(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    forget(store, rejections=A_MOMENT)

    with store.write() as connection:
        again = save_polled(connection, A_NETWORK, a_record(), A_MOMENT)
        assert change(connection, a_transition(transition_id=an_id(9)), again)


def test_notices_go_with_their_change_and_their_deliveries(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    reject(store, 2, A_MOMENT)

    assert forget(store, notices=A_MOMENT) == {"notices": 1}

    tables = ("notices", "deliveries", "outbox", "transitions", "rejections", "conditions")
    assert [rows_of(store, table) for table in tables] == [1, 1, 1, 1, 2, 2]


def test_version_whose_notice_was_forgotten_is_not_told_again(store: Store) -> None:
    rejection_id = reject(store, 1, A_MOMENT - DAY)
    forget(store, notices=A_MOMENT)

    with store.write() as connection:
        again = a_transition(transition_id=an_id(9), before=State.REJECTED)
        assert not change(connection, again, rejection_id)


def test_notice_that_somebody_needs_stays(store: Store) -> None:
    old = A_MOMENT - DAY
    reject(store, 1, old, is_told=False)
    reject(store, 2, old)
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(2), (A_NETWORK,), None, ""), old)
        save_polled(connection, A_NETWORK, a_record(tx_hash=a_hash(3)), old)
        [third] = versions(connection, a_hash(3))
        change(connection, a_transition(3, at=old), third.rejection_id)
        save_polled(connection, A_NETWORK, a_record(tx_hash=a_hash(3)), A_MOMENT)
        hand_over(connection, old)

    assert forget(store, 1, notices=A_MOMENT) == {}
    assert rows_of(store, "notices") == 3


@pytest.mark.parametrize(("is_over", "kept"), [(False, 1), (True, 0)])
def test_notices_of_a_network_go_when_the_incident_is_over(
    store: Store, *, is_over: bool, kept: int
) -> None:
    subject = Subject(SubjectKind.BUSYNESS, A_NETWORK)
    old = A_MOMENT - DAY
    with store.write() as connection:
        change(connection, Transition(an_id(1), subject, None, State.BUSY, old), None)
        if is_over:
            change(connection, Transition(an_id(2), subject, State.BUSY, State.CALM, old), None)
        hand_over(connection, old)

    forget(store, notices=A_MOMENT)

    assert rows_of(store, "transitions") == kept


def test_answers_about_what_nobody_tracks_are_forgotten(store: Store) -> None:
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(1), (A_NETWORK,), None, ""), A_MOMENT - DAY)
        for at, numbers in ((A_MOMENT - DAY, (1, 2, 3)), (A_MOMENT, (4,))):
            answers = [ExclusionAnswer(a_hash(number)) for number in numbers]
            record_answers(connection, A_NETWORK, at, answers)

    assert forget(store, 1, untracked_answers=A_MOMENT) == {"answers": 2}

    with store.read() as connection:
        [first] = evidence(connection, A_NETWORK, a_hash(1))
        assert [bool(evidence(connection, None, a_hash(each))) for each in (2, 3, 4)] == [
            *(False, False, True),
        ]
    assert first.last_answered_at == A_MOMENT - DAY


def test_ends_of_what_nobody_tracks_are_forgotten_unless_rejected(store: Store) -> None:
    reject(store, 1, A_MOMENT - DAY)
    with store.write() as connection:
        track(connection, TrackRequest(a_hash(2), (A_NETWORK,), None, ""), A_MOMENT - DAY)
        answers = [
            (InclusionQuestion(a_hash(number)), InclusionAnswer(a_hash(number)))
            for number in (1, 2, 3)
        ]
        keep_inclusion_answers(connection, A_NETWORK, A_MOMENT - DAY, answers)

    assert forget(store, untracked_answers=A_MOMENT) == {"follow-ups": 1}

    assert rows_of(store, "follow_ups") == 2


def test_counts_of_keys_that_are_gone_are_forgotten(store: Store) -> None:
    long_ago = A_MOMENT - 401 * DAY
    made = Credential(b"a" * 32, b"s" * 32, long_ago)
    uses = {
        b"a" * 32: KeyUse(long_ago, 1, 0),
        b"b" * 32: KeyUse(long_ago, 2, 0),
        b"c" * 32: KeyUse(A_MOMENT, 3, 0),
    }
    with store.write() as connection:
        create_key(connection, "mine", KeyLimits(), made)
        add_uses(connection, uses)

    assert forget(store, untracked_answers=A_MOMENT) == {"uses of keys": 1}

    with store.read() as connection:
        assert {use.calls for use in key_uses(connection).values()} == {1, 3}


def test_audit_log_is_forgotten_only_when_told_to(store: Store) -> None:
    with store.write() as connection:
        for number in range(-3, 2):
            at = A_MOMENT + seconds(number)
            note_action(connection, at, "ann", Action.TRACK, str(number))

    assert forget(store) == {}
    assert forget(store, 2, audit_log=A_MOMENT) == {"audit log": 3}

    with store.read() as connection:
        kept = audit_entries(connection, AuditFilter())
    assert sorted(entry.subject for entry in kept) == ["0", "1", "audit log"]


@pytest.mark.parametrize(
    ("rows", "took", "then"),
    [
        (100, LONGEST_STEP * 1.1, 50),
        (100, LONGEST_STEP, 100),
        (100, LONGEST_STEP / 2, 100),
        (100, LONGEST_STEP / 4, 150),
        (30, 1.0, 20),
        (1900, 0.0, 2000),
    ],
)
def test_step_takes_as_many_rows_as_time_allows(rows: int, took: float, then: int) -> None:
    assert next_rows(rows, took) == then
