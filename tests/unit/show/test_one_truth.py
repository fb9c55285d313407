"""What the pages and `linewatch doctor` say alike: what is stale, pending, held, watched."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dashboard.application.application import Application
from dashboard.application.health import Health, NotificationHealth, StorageHealth, WorkerHealth
from dashboard.application.health_troubles import health_troubles
from dashboard.application.network_status import Activity
from dashboard.application.source_health import NetworkHealth, OperationHealth, OperationState
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.coverage import CoverageChange, Covered, Watched
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.show.parts.health_cards import mail_part
from dashboard.show.views.alerts import headline
from dashboard.store.alerts.alert_status import NotificationCounts
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import Holder, acquire
from dashboard.store.fees.save import save_gas
from dashboard.store.health import MailState, StoreSpace
from dashboard.store.monitoring.answer_counts import note_answered
from dashboard.store.monitoring.coverage import save_coverage
from dashboard.store.tracking.transactions import track
from tests.browser.seeded_store import SILENT, SIMULATED, tx_hash
from tests.builders import A_MOMENT as NOW
from tests.builders import HOUR, MINUTE, a_hash, a_record, a_transition
from tests.saved_record import save_record
from tests.unit.show.page_runs import visit, words_of

A_STORE = StorageHealth(StoreSpace())
NO_MAIL = NotificationHealth(MailState(NotificationCounts(0, None, 0, None, 0)))
A_WORKER = WorkerHealth({"worker": Holder("host/1/x", 1)})


def test_rejections_that_no_worker_asks_about_are_stale(store: Store, queries: Application) -> None:
    until = NOW - 9 * MINUTE
    held = Covered(SIMULATED.network_id, Watched.REJECTIONS, NOW - HOUR, until)
    with store.write() as connection:
        note_answered(connection, SIMULATED.network_id, [Operation.EXCLUSION_STATUS], until)
        save_coverage(connection, None, CoverageChange(held))

    [devnet, _] = queries.health.networks()

    states = {each.operation: each.state(NOW) for each in devnet.operations}
    assert states[Operation.EXCLUSION_STATUS] is OperationState.STALE
    [said] = [
        each for each in health_troubles(queries.health.health(), NOW) if each.network is SIMULATED
    ]
    assert said.headline == "Devnet: rejections of tracked transactions stale."
    assert said.text == (
        "Rejections of tracked transactions: last answered 9 min ago, no worker has asked since "
        "11:52:00 UTC."
    )


@pytest.mark.parametrize(
    ("operation", "is_fresh", "said"),
    [
        (Operation.SUGGESTED_GAS_FEES, False, ["Devnet is stale."]),
        (Operation.BUSY_THRESHOLD, False, ["Devnet is stale."]),
        (Operation.BUSY_THRESHOLD, True, []),
        (Operation.BASE_FEE_PERCENTILE, True, ["Devnet: median base fee stale."]),
        (Operation.BASE_FEE_HISTORY, True, ["Devnet: base fees of past blocks stale."]),
    ],
)
def test_network_is_stale_only_if_its_verdict_is(
    operation: Operation,
    is_fresh: bool,  # noqa: FBT001 - the case
    said: list[str],
) -> None:
    old = OperationHealth(operation, NOW - 9 * MINUTE, MINUTE)
    health = Health([NetworkHealth(SIMULATED, (old,))], A_WORKER, NO_MAIL, A_STORE)
    fresh = {SIMULATED.network_id} if is_fresh else ()

    assert [each.headline for each in health_troubles(health, NOW, fresh)] == said


def test_overview_calls_no_network_stale_that_it_calls_calm(
    store: Store, queries: Application
) -> None:
    until = NOW - 9 * MINUTE
    held = Covered(SIMULATED.network_id, Watched.REJECTIONS, NOW - HOUR, until)
    with store.write() as connection:
        note_answered(connection, SIMULATED.network_id, [Operation.EXCLUSION_STATUS], until)
        save_coverage(connection, None, CoverageChange(held))

    now, [devnet, *_] = queries.statuses_as_of()
    said = [each.headline for each in queries.needed_attention([devnet], now)]

    assert "Devnet: rejections of tracked transactions stale." in said
    assert "Devnet is stale." not in said
    assert devnet.activity is not Activity.STALE


def test_held_notifications_wait_for_a_person() -> None:
    held = NotificationHealth(MailState(NotificationCounts(0, None, 0, None, 0, held=2)))

    [said] = health_troubles(Health([], A_WORKER, held, A_STORE), NOW)

    assert said.headline == "2 notifications are held since a backup was restored."
    assert "linewatch release" in said.advice
    assert "Some held" in str(mail_part(held, NOW))


@pytest.mark.parametrize(
    ("failing", "advice"),
    [
        ((), "Check [mail] in the configuration, and the mail server."),
        (("mail",), "Check [mail] in the configuration, and the mail server."),
        (
            ("am", "hook"),
            "Check [channels.am] and [channels.hook] in the configuration, and what answers there.",
        ),
    ],
)
def test_advice_names_the_channels_that_fail(failing: tuple[str, ...], advice: str) -> None:
    since = NOW - HOUR
    counts = NotificationCounts(1, since, 0, None, 0, in_delivery=1, in_delivery_since=since)
    mail = NotificationHealth(MailState(counts, failing=failing))

    [said] = health_troubles(Health([], A_WORKER, mail, A_STORE), NOW)

    assert said.advice.endswith(advice)


@pytest.mark.parametrize(
    ("tried", "said"),
    [
        (312, "312 notifications are pending, the oldest for 60 min."),
        (40, "40 of 312 pending notifications are in delivery, the oldest for 60 min."),
        (1, "1 of 312 pending notifications is in delivery, the oldest for 60 min."),
    ],
)
def test_as_many_notifications_are_pending_here_as_on_alerts(tried: int, said: str) -> None:
    since = NOW - HOUR
    counts = NotificationCounts(312, since, 0, None, 0, in_delivery=tried, in_delivery_since=since)
    mail = NotificationHealth(MailState(counts))

    assert [
        each.headline for each in health_troubles(Health([], A_WORKER, mail, A_STORE), NOW)
    ] == [said]
    assert headline(counts, NOW) == "312 notifications pending"


def test_what_is_dead_is_not_said_to_be_refused_since_an_address_may_be_off() -> None:
    mail = NotificationHealth(MailState(NotificationCounts(0, None, 0, None, 2)))

    [said] = health_troubles(Health([], A_WORKER, mail, A_STORE), NOW)

    assert said.headline == "2 notifications are dead."
    assert said.text == "Linewatch does not try again."


def test_notifications_that_wait_for_the_cap_or_their_time_are_not_late() -> None:
    counts = NotificationCounts(5, NOW - HOUR, 0, None, 0, pending_changes=1)
    mail = NotificationHealth(MailState(counts))

    assert health_troubles(Health([], A_WORKER, mail, A_STORE), NOW) == []
    card = str(mail_part(mail, NOW))
    assert "Late" not in card
    assert "1 change is pending: the worker turns it into notifications." in card
    assert headline(counts, NOW) == "5 notifications pending, 1 change pending"


def test_change_that_no_worker_took_up_is_pending_here_and_on_health(empty_store: Store) -> None:
    with empty_store.write() as connection:
        record_transition(connection, a_transition(at=NOW), None)
    queries = Application(empty_store, (SIMULATED,), None, lambda: NOW)

    words = words_of(visit("alerts", queries, section="Deliveries"))

    said = "1 change is pending: the worker turns it into notifications."
    assert words.count(said) == 1
    assert "nothing to send" not in words
    assert said in words_of(visit("health", queries))


def test_counts_of_a_time_that_began_without_a_worker_are_lower_bounds(empty_store: Store) -> None:
    began = NOW - timedelta(minutes=40)
    held = Covered(SIMULATED.network_id, Watched.REJECTIONS, began, NOW)
    with empty_store.write() as connection:
        save_coverage(connection, None, CoverageChange(held))
        for number in range(114):
            at = NOW - (timedelta(minutes=90) if number == 0 else timedelta(minutes=10))
            record = a_record(tx_hash=a_hash(number), timestamp=at)
            save_record(connection, SIMULATED.network_id, record, at)
    networks = SIMULATED, replace(SILENT, has_exclusion=False)
    queries = Application(empty_store, networks, None, lambda: NOW)

    [hour] = queries.overview.hourly().values()

    assert (hour.count, hour.watched.is_whole) == (113, False)
    assert "113 or more rejected in 1 h" in words_of(visit("overview", queries, wall="1"))
    assert '<b>113</b><small title="Not all of the hour was watched."> or more' in words_of(
        visit("overview", queries)
    )
    assert (
        "113 rejections or more in the last hour (40 min of it watched); "
        "the hour before was not watched."
    ) in words_of(visit("rejections", queries, period="1 h"))


def test_hour_with_gaps_is_not_called_free_of_rejections(empty_store: Store) -> None:
    queries = Application(empty_store, (SIMULATED, SILENT), None, lambda: NOW)

    assert "no rejection seen in 1 h, with gaps" in words_of(visit("overview", queries, wall="1"))
    assert '0<small title="Not all of the hour was watched.">, with gaps' in words_of(
        visit("overview", queries)
    )


def test_gap_is_the_same_on_health_and_fees(queries: Application) -> None:
    assert "Devnet, fees: 1 gap in 7 days, 5 min in all." in words_of(visit("health", queries))
    assert "1 gap (hatched): 5 min from 20 Nov 11:30 UTC." in words_of(
        visit("fees", queries, network="Devnet")
    )


def test_network_that_was_not_asked_is_not_hidden_behind_one_that_was(store: Store) -> None:
    with store.write() as connection:
        track(connection, TrackRequest(tx_hash(9), (SIMULATED.network_id, SILENT.network_id)), NOW)
    queries = Application(store, (SIMULATED, SILENT), None, lambda: NOW)

    words = words_of(visit("tracked", queries))

    assert "Not checked yet" in words
    assert "on Linea</small>" in words
    assert "No rejection on record" not in words


def test_page_of_one_network_does_not_say_that_nothing_is_tracked_at_all(store: Store) -> None:
    queries = Application(store, (SIMULATED, SILENT), None, lambda: NOW)

    words = words_of(visit("tracked", queries, network="Linea"))

    assert "Nothing is tracked on this network" in words


def test_page_says_that_fees_have_not_been_asked_for_yet(empty_store: Store) -> None:
    with empty_store.write() as connection:
        acquire(connection, "worker", "host-1/77/abc", MINUTE)
        save_gas(connection, GasObservation(SIMULATED.network_id, NOW, busy_threshold=Wei(7)))

    words = words_of(visit("health", Application(empty_store, (SIMULATED,), None, lambda: NOW)))

    assert "Nothing is wrong; some fees have not been asked for yet" in words
