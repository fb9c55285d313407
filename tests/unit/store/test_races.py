"""Of several that want the same thing at the same moment, exactly one gets it."""

from __future__ import annotations

from collections import Counter
from uuid import UUID

from dashboard.domain.rejections.exclusion import SaveStatus
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notification_claims import mark_sent
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.engine.leases import acquire
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    a_hash,
    a_record,
    a_report,
    a_transition,
    an_id,
    seconds,
)
from tests.delivery_checks import DEV, claim_for_all, make_pending, reject
from tests.one_by_one import deliveries_of, newest, save_report
from tests.recording_channel import ONCALL
from tests.routes import expand_alone
from tests.saved_record import save_record
from tests.unit.store.races import CONTENDERS, Race

ROUNDS = 15


def change_all(store: Store, number: int) -> list[bool]:
    """Try to be the one who changes each condition."""
    won = []
    for subject in range(1, ROUNDS + 1):
        transition = a_transition(subject, transition_id=an_id(1000 * number + subject))
        with store.write() as connection:
            won.append(record_transition(connection, transition, None))
    return won


def report_all(store: Store, number: int) -> list[SaveStatus]:
    """Report each hash, every reporter with another time and the same reason."""
    statuses = []
    for subject in range(1, ROUNDS + 1):
        at = A_MOMENT + seconds(number)
        report = a_report(tx_hash=a_hash(subject), timestamp=at)
        with store.write() as connection:
            statuses.append(save_report(connection, report, A_NETWORK, A_MOMENT))
    return statuses


def poll_all(store: Store, _number: int) -> list[int]:
    """See the same versions."""
    ids = []
    for subject in range(1, ROUNDS + 1):
        with store.write() as connection:
            record = a_record(tx_hash=a_hash(subject))
            ids.append(save_record(connection, A_NETWORK, record, A_MOMENT))
    return ids


def track_all(store: Store, _number: int) -> list[bool]:
    """Wish for the same hashes."""
    new = []
    for subject in range(1, ROUNDS + 1):
        with store.write() as connection:
            request = TrackRequest(a_hash(subject), (A_NETWORK,))
            new.append(track(connection, request, A_MOMENT))
    return new


def expand_all(store: Store, _number: int) -> int:
    """Expand the outbox, reading it in one transaction and writing in the next."""
    with store.read() as connection:
        entries = pending_expansion(connection, ROUNDS)
    pending = 0
    for entry in entries:
        with store.write() as connection:
            pending += expand_alone(connection, entry, [ONCALL, DEV], A_MOMENT)
    return pending


def deliver_all(store: Store, number: int) -> list[UUID]:
    """Claim notifications two at a time under a lease of its own, and mark them sent."""
    sent: list[UUID] = []
    with store.write() as connection:
        token = acquire(connection, f"lane {number}", "us", seconds(600))
    assert token is not None
    while True:
        with store.write() as connection:
            claimed = claim_for_all(connection, token, A_MOMENT, 2)
        if not claimed:
            return sent
        with store.write() as connection:
            for notification in claimed:
                mark_sent(connection, notification.notification_id, "250", A_MOMENT)
        sent += [notification.notification_id for notification in claimed]


def take_all(store: Store, number: int) -> list[int | None]:
    """Try to get each lease."""
    tokens = []
    for lease in range(ROUNDS):
        with store.write() as connection:
            tokens.append(acquire(connection, f"job {lease}", f"us {number}", seconds(600)))
    return tokens


def test_racing_changes_of_a_condition_have_one_winner(url: str, race: Race) -> None:
    results = race(url, change_all)

    assert [Counter(each) for each in zip(*results, strict=True)] == [
        Counter({True: 1, False: CONTENDERS - 1})
    ] * ROUNDS
    with open_store(url) as store, store.read() as connection:
        assert len(pending_expansion(connection, 10 * ROUNDS)) == ROUNDS


def test_racing_reports_of_one_reason_are_saved_once(url: str, race: Race) -> None:
    results = race(url, report_all)

    assert [Counter(each) for each in zip(*results, strict=True)] == [
        Counter({SaveStatus.SAVED: 1, SaveStatus.DUPLICATE: CONTENDERS - 1})
    ] * ROUNDS
    with open_store(url) as store, store.read() as connection:
        assert len(newest(connection, 10 * ROUNDS)) == ROUNDS


def test_racing_polls_of_one_version_get_one_id(url: str, race: Race) -> None:
    results = race(url, poll_all)

    assert [len(set(each)) for each in zip(*results, strict=True)] == [1] * ROUNDS


def test_racing_wishes_for_one_hash_are_new_once(url: str, race: Race) -> None:
    results = race(url, track_all)

    assert [sum(each) for each in zip(*results, strict=True)] == [1] * ROUNDS


def test_racing_expansions_owe_each_notification_once(url: str, race: Race) -> None:
    with open_store(url) as store:
        reject(store, *range(1, ROUNDS + 1))

    assert sum(race(url, expand_all)) == 2 * ROUNDS


def test_racing_claims_never_get_the_same_notification(url: str, race: Race) -> None:
    with open_store(url) as store:
        make_pending(store, ROUNDS)

    sent = [notification_id for each in race(url, deliver_all) for notification_id in each]

    assert len(sent) == len(set(sent)) == ROUNDS
    with open_store(url) as store, store.read() as connection:
        assert {len(deliveries_of(connection, each)) for each in sent} == {1}


def test_racing_for_a_lease_has_one_winner_and_no_token_twice(url: str, race: Race) -> None:
    results = race(url, take_all)

    tokens = [token for each in results for token in each if token is not None]
    assert [CONTENDERS - each.count(None) for each in zip(*results, strict=True)] == [1] * ROUNDS
    assert len(tokens) == len(set(tokens)) == ROUNDS
