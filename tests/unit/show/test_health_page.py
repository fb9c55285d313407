"""The page Health in each of its states: what is well, what is not, and what to do then."""

from __future__ import annotations

import dataclasses
from collections import Counter
from datetime import UTC, datetime, timedelta
from importlib.metadata import version

import pytest
from msgspec.structs import replace

from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.health import Health, NotificationHealth, StorageHealth, WorkerHealth
from dashboard.application.health_troubles import health_troubles
from dashboard.application.source_health import (
    OPERATION_NAMES,
    REMEDIES,
    NetworkHealth,
    OperationHealth,
    OperationState,
)
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.fees.gas import GasObservation, GasSource
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.health.mail_outages_and_failing_roles import (
    FailingRole,
    MailOutage,
    MailTrouble,
)
from dashboard.domain.health.observation import (
    AnswerCounts,
    Failure,
    FailureKind,
    Operation,
    times_of,
)
from dashboard.domain.people.recipients import RecipientStatus
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.show.parts.health_cards import mail_part, worker_part
from dashboard.show.parts.health_sources import share_words, time_words
from dashboard.store.alerts.alert_status import NotificationCounts
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notification_claims import mark_dead, reschedule
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import Holder, acquire
from dashboard.store.fees.save import save_gas
from dashboard.store.health import MailState, StoreSpace
from dashboard.store.monitoring.answer_counts import StandingFailure, record_answer_counts
from dashboard.store.monitoring.coverage import save_coverage
from dashboard.store.monitoring.upkeep import (
    LastHeartbeat,
    note_backup,
    note_heartbeat,
    note_heartbeat_trouble,
    note_purge,
)
from tests.browser.seeded_store import HOSTILE, SILENT, SIMULATED
from tests.builders import HOUR, MINUTE, a_transition
from tests.delivery_checks import claim_for_all
from tests.routes import expand_alone
from tests.unit.show.page_runs import visit, with_blanks, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
OPERATOR = Recipient("mail", "ops@example.org")
NO_MAIL = NotificationHealth(MailState(NotificationCounts(0, None, 0, None, 0)))
A_STORE = StorageHealth(StoreSpace())
A_WORKER = WorkerHealth({"worker": Holder("host/1/x", 1)})
DUE = OperationHealth(Operation.SUGGESTED_GAS_FEES, NOW, MINUTE)


def failing(kind: FailureKind = FailureKind.UNAVAILABLE) -> StandingFailure:
    """Return a failure that lasts for a minute."""
    failure = Failure(kind, "no answer")
    return StandingFailure(Operation.SUGGESTED_GAS_FEES, NOW - MINUTE, NOW, failure)


def make_pending(store: Store, *, dead: bool) -> None:
    """Make a mail pending since ten minutes ago that the server did not take."""
    with store.write() as connection:
        token = acquire(connection, "worker", "host-1/77/abc", MINUTE) or 0
        record_transition(connection, a_transition(at=NOW - 10 * MINUTE), None)
        expand_alone(connection, pending_expansion(connection, 1)[0], [OPERATOR], NOW - 10 * MINUTE)
        (notification,) = claim_for_all(connection, token, NOW - 9 * MINUTE, 1)
        if dead:
            mark_dead(connection, notification, f"550 {HOSTILE}", NOW)
        else:
            reschedule(connection, notification, "451 later", NOW + MINUTE)


def test_page_says_first_what_is_wrong_and_what_helps(queries: Application) -> None:
    words = words_of(visit("health", queries))

    assert "3 things are wrong</p>" in words
    assert words.index("Monitoring stopped") < words.index("Linea: gas API down ")
    assert "Start <code>linewatch worker</code>, or <code>linewatch up</code> for" in words
    assert "since 11:54:20 UTC." in words
    assert "The Linea gas endpoint gave no answer within 5 s." in words
    assert "check the address of the endpoint" in words
    assert words.index("Sources") > words.index("check the address of the endpoint")


def test_page_that_is_well_says_so_in_one_line(store: Store) -> None:
    well = dataclasses.replace(SIMULATED, has_exclusion=False)
    queries = Application(store, (well,), None, lambda: NOW)
    with store.write() as connection:
        acquire(connection, "worker", "host-1/77/abc", MINUTE)
        save_gas(connection, GasObservation(well.network_id, NOW, busy_threshold=Wei(7)))

    words = words_of(visit("health", queries))

    assert "All well: worker running, sources answering" in words
    assert "Devnet, fees: 1 gap in 7 days, 5 min in all." in words
    assert "lw-sign" not in words


def test_strip_shares_and_times_of_a_question_are_shown(store: Store, queries: Application) -> None:
    fast = AnswerCounts(99, times=tuple(99 * each for each in times_of(MINUTE / 600)))
    with store.write() as connection:
        asked = {Operation.SUGGESTED_GAS_FEES: fast + AnswerCounts(failed=1)}
        record_answer_counts(connection, SIMULATED.network_id, NOW, asked)
        record_answer_counts(connection, SIMULATED.network_id, NOW - HOUR, asked)

    words = words_of(visit("health", queries, network="Devnet"))

    assert "some failed in 2, nothing asked in 94." in words
    assert "99.0%" in words
    assert "75 ms" in words
    assert "Some failed" in words


def test_gaps_are_drawn_by_network_and_listed_with_their_reason(
    store: Store, queries: Application
) -> None:
    ended = Gap(
        SIMULATED.network_id,
        Watched.FEES,
        NOW - 3 * HOUR,
        NOW - HOUR,
        GapCause.NOT_ANSWERED,
        f"502 {HOSTILE}",
    )
    held = Covered(SIMULATED.network_id, Watched.FEES, NOW - HOUR, NOW)
    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(held, (ended,)))

    words = words_of(visit("health", queries))

    assert "Devnet, fees: 2 gaps in 7 days, 2 h in all." in words
    assert "No gaps: Linea." in words
    assert "502 " in words
    assert "&lt;script&gt;" in words
    assert "<script>" not in words


def test_facts_for_operators_are_at_hand(store: Store, queries: Application) -> None:
    with store.write() as connection:
        note_purge(connection, NOW - 20 * MINUTE)
        note_backup(connection, NOW - 9 * HOUR)

    words = words_of(visit("health", queries))

    assert version("linewatch") in words
    assert "20 min ago" in words
    assert "9 h ago" in words
    assert "linewatch.sqlite" in words


@pytest.mark.parametrize(
    ("counts", "words"),
    [
        (AnswerCounts(), "–"),
        (AnswerCounts(9), "100%"),
        (AnswerCounts(99_999, failed=1), "99.9%"),
        (AnswerCounts(failed=1), "0.0%"),
    ],
)
def test_share_is_all_only_where_it_is_all(counts: AnswerCounts, words: str) -> None:
    assert share_words(counts) == words


@pytest.mark.parametrize(
    ("took", "words"), [(None, "–"), (MINUTE / 1000, "60 ms"), (MINUTE / 25, "2.4 s")]
)
def test_times_are_said_in_the_unit_that_fits(took: timedelta | None, words: str) -> None:
    assert time_words(took) == words


def test_question_that_the_node_answers_instead_says_so(queries: Application, store: Store) -> None:
    operation = Operation.BUSY_THRESHOLD
    failure = Failure(FailureKind.UNAVAILABLE, "no answer")
    seen = GasObservation(
        SILENT.network_id,
        NOW,
        busy_threshold=Wei(7),
        failures=((operation, failure),),
        sources={operation: GasSource.NODE_INSTEAD},
    )
    with store.write() as connection:
        save_gas(connection, seen)

    words = words_of(visit("health", queries))

    assert "Meanwhile the network&#x27;s node answers instead: Busy threshold." in words


def test_every_question_has_the_age_of_its_answer(queries: Application) -> None:
    words = words_of(visit("health", queries, network="Linea"))

    assert "Busy threshold" in words
    assert "6 min ago" in words
    assert "every 15 min" in words
    assert "Questions to Devnet" not in words


def test_worker_is_named_by_its_process(queries: Application, store: Store) -> None:
    with store.write() as connection:
        acquire(connection, "worker", "host-1/77/abc", MINUTE)

    words = words_of(visit("health", queries))

    assert "process 77 on host-1" in words
    assert "Monitoring stopped" not in words


def test_late_mail_says_what_the_server_said(queries: Application, store: Store) -> None:
    make_pending(store, dead=False)

    words = words_of(visit("health", queries))

    assert "1 notification is pending, the oldest for " in words
    assert "451 later" in words
    assert "No mail has been accepted since 11:51:00 UTC. The next attempt is in 1 min." in words
    assert "alerts?section=Deliveries&amp;state=Pending" in words
    assert "nothing is lost" in words


def test_mail_given_up_shows_the_answer_inertly(queries: Application, store: Store) -> None:
    make_pending(store, dead=True)

    words = words_of(visit("health", queries))

    assert "1 notification is dead." in words
    assert "&lt;script&gt;" in words
    assert "<script>" not in words


def test_outage_that_the_fallback_reported_says_so() -> None:
    trouble = MailTrouble(0, NOW - 9 * MINUTE, 3, "451 later")
    outage = MailOutage(0, trouble.since, reported_at=NOW - 4 * MINUTE)
    counts = NotificationCounts(3, NOW - 9 * MINUTE, 0, None, 0)
    mail = NotificationHealth(MailState(counts, trouble=trouble, outage=outage))

    words = with_blanks(mail_part(mail, NOW))

    assert "No mail has been accepted since 11:51:00 UTC. The next attempt is now." in words
    assert "The fallback was used at 11:56:00 UTC." in words


def test_network_without_endpoints_says_so(store: Store) -> None:
    mute = dataclasses.replace(SILENT, network_id=NetworkId(1), has_gas=False, has_exclusion=False)

    words = words_of(visit("health", Application(store, (mute,), None, lambda: NOW)))

    assert "This network has no gas, node or exclusion endpoint" in words


@pytest.mark.parametrize(
    ("question", "state"),
    [
        (DUE, OperationState.ANSWERED),
        (replace(DUE, answered_at=NOW - 2 * MINUTE), OperationState.ANSWERED),
        (replace(DUE, answered_at=NOW - 2.1 * MINUTE), OperationState.STALE),
        (replace(DUE, answered_at=None), OperationState.NOT_ASKED),
        (replace(DUE, answered_at=NOW - 99 * MINUTE, period=None), OperationState.ANSWERED),
        (replace(DUE, period=None, no_worker_since=NOW - MINUTE), OperationState.STALE),
        (replace(DUE, failure=failing()), OperationState.FAILING),
    ],
)
def test_question_is_stale_after_two_of_its_periods(
    question: OperationHealth, state: OperationState
) -> None:
    assert question.state(NOW) is state


def test_why_a_question_fails_ends_as_a_sentence_before_what_to_do() -> None:
    asked = replace(DUE, failure=failing(FailureKind.THROTTLED))

    health = Health([NetworkHealth(SIMULATED, [asked])], A_WORKER, NO_MAIL, A_STORE)

    [said] = health_troubles(health, NOW)
    assert (said.text, said.advice) == ("no answer.", REMEDIES[FailureKind.THROTTLED])


def test_stale_network_needs_a_look() -> None:
    old = replace(DUE, answered_at=NOW - 5 * MINUTE)
    health = Health([NetworkHealth(SIMULATED, [DUE, old])], A_WORKER, NO_MAIL, A_STORE)

    [said] = health_troubles(health, NOW)
    assert said.headline == "Devnet is stale."
    assert said.text == (
        "Base fee, congestion, suggested fees: last answered 5 min ago, more than two polling "
        "periods."
    )


@pytest.mark.parametrize(("again_in", "words"), [(5, "and starts"), (-5, "and was started")])
def test_role_that_keeps_dying_is_named_with_how_and_since_when(again_in: int, words: str) -> None:
    dying = FailingRole(
        "serve", 4, NOW - 5 * MINUTE, "killed by SIGKILL", NOW + timedelta(seconds=again_in)
    )
    health = Health([], A_WORKER, NO_MAIL, A_STORE, failing_roles=[dying])

    [said] = health_troubles(health, NOW)

    assert said.headline == "The role serve keeps dying."
    assert said.text.startswith("It died 4 times since ")
    assert f"(last: killed by SIGKILL), {words} again at " in said.text


def test_mail_that_was_just_pending_needs_no_look() -> None:
    just = NotificationCounts(3, NOW - MINUTE, 0, None, 0, 0, 3, NOW - MINUTE)
    mail = NotificationHealth(MailState(just))

    assert health_troubles(Health([], A_WORKER, mail, A_STORE), NOW) == []


def test_every_question_and_every_failure_is_explained() -> None:
    assert set(OPERATION_NAMES) == set(Operation)
    assert set(REMEDIES) == set(FailureKind)


def test_recipients_that_get_nothing_and_the_heartbeat_are_said(store: Store) -> None:
    counts = Counter({RecipientStatus.TRUSTED: 2, RecipientStatus.OFF: 1})
    settings = PageSettings(heartbeat_period=MINUTE)
    with store.write() as connection:
        note_heartbeat(connection, NOW - 3 * MINUTE)
        note_heartbeat_trouble(connection, "not accepted: it answered 503 <b>")
    queries = Application(store, (SIMULATED,), None, lambda: NOW, settings=settings)

    words = words_of(visit("health", queries))
    mail = str(mail_part(replace(NO_MAIL, recipients=counts), NOW))

    assert "2 recipients get messages, 1 off." in mail
    assert "alerts?section=Recipients" in mail
    assert "The heartbeat fails." in words
    assert "not accepted: it answered 503 &lt;b&gt;." in words
    assert words_of(visit("health", Application(store, (), None, lambda: NOW))).count("heart") == 0


def test_worker_card_says_when_the_heartbeat_was_taken() -> None:
    def said(heartbeat: LastHeartbeat | None) -> str:
        worker = replace(A_WORKER, heartbeat=heartbeat)
        return with_blanks(worker_part(worker, "0.1.0", NOW))

    taken = said(LastHeartbeat(NOW - 3 * MINUTE, "withheld: x"))
    assert "The heartbeat was accepted 3 min ago." in taken
    assert "The latest was withheld: x." in taken
    assert "was never accepted" in said(LastHeartbeat())
    assert "heartbeat" not in said(None)


def test_gap_without_a_worker_and_one_that_lasts_are_told(
    store: Store, queries: Application
) -> None:
    network, fees = SIMULATED.network_id, Watched.FEES
    missed = Gap(network, fees, NOW - 8 * HOUR, NOW - 5 * HOUR, GapCause.NOT_WATCHED)
    silence = Gap(network, fees, NOW - 2 * HOUR, None, GapCause.NOT_ANSWERED, HOSTILE)
    held = Covered(network, fees, NOW - 9 * HOUR, NOW, silence)
    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(held, (missed,)))

    words = words_of(visit("health", queries))

    assert "Gaps" in words
    assert '<time title="2026-11-20 04:00:00 UTC">8 h ago</time>' in words
    assert "No worker asked" in words
    assert "Ongoing" in words


def test_page_without_gaps_says_since_when_it_is_watched(empty_store: Store) -> None:
    held = Covered(SIMULATED.network_id, Watched.FEES, NOW - 9 * HOUR, NOW)
    with empty_store.write() as connection:
        save_coverage(connection, None, CoverageChange(held))

    words = words_of(
        visit("health", Application(empty_store, (SIMULATED, SILENT), None, lambda: NOW))
    )

    assert "No gaps: Devnet (watched since 2026-11-20 03:00:00 UTC). Never watched: Linea." in words
    assert "No worker asked" not in words
