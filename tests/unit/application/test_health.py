"""Which time was watched, and what asking has cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.application.application import Application
from dashboard.application.source_health import (
    NetworkHealth,
    OperationHealth,
    Spending,
    endpoint_words,
    spending_in_words,
)
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.health.observation import (
    AnswerShape,
    Failure,
    FailureKind,
    Operation,
    Spent,
)
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.coverage import gaps_until, save_coverage
from dashboard.store.monitoring.upkeep import record_credits
from dashboard.store.tracking.statements import EndpointState
from tests.browser.seeded_store import SILENT, SIMULATED
from tests.builders import A_MOMENT, HOUR, MINUTE

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
NETWORK = SIMULATED.network_id
EXCLUSION = Operation.EXCLUSION_STATUS


def cover_until(store: Store, until: datetime, *ended: Gap, silence: Gap | None = None) -> None:
    """Leave the store as a worker does whose last look was then."""
    held = Covered(NETWORK, Watched.FEES, NOW - 9 * HOUR, until, silence)
    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(held, ended))


def a_gap(begins_at: datetime, ends_at: datetime | None, cause: GapCause, reason: str = "") -> Gap:
    return Gap(NETWORK, Watched.FEES, begins_at, ends_at, cause, reason)


def found(store: Store, network_id: NetworkId = NETWORK) -> list[Gap]:
    with store.read() as connection:
        return gaps_until(connection, [network_id], NOW)


def test_gap_of_one_network_is_not_lost_behind_many_of_another(empty_store: Store) -> None:
    missed = a_gap(NOW - 120 * HOUR, NOW - 96 * HOUR, GapCause.NOT_WATCHED)
    moments = (NOW - timedelta(minutes=6 * each) for each in range(1, 602))
    flapping = (
        Gap(SILENT.network_id, Watched.FEES, at, at + 3 * MINUTE, GapCause.NOT_ANSWERED, "no")
        for at in moments
    )
    cover_until(empty_store, NOW, missed, *flapping)
    queries = Application(empty_store, (SIMULATED, SILENT), None, lambda: NOW)

    gaps = queries.health.coverage().gaps

    assert [each for each in gaps if each.network_id == NETWORK] == [missed]


def test_present_without_a_worker_is_a_gap_that_lasts(empty_store: Store) -> None:
    cover_until(empty_store, NOW - HOUR)

    assert found(empty_store) == [a_gap(NOW - HOUR, None, GapCause.NOT_WATCHED)]
    assert found(empty_store, SILENT.network_id) == []


def test_silence_ends_where_the_worker_did(empty_store: Store) -> None:
    silence = a_gap(NOW - 2 * HOUR, None, GapCause.NOT_ANSWERED, "no answer")
    cover_until(empty_store, NOW - HOUR, silence=silence)

    assert [(gap.begins_at, gap.ends_at) for gap in found(empty_store)] == [
        (NOW - HOUR, None),
        (NOW - 2 * HOUR, NOW - HOUR),
    ]


def test_silence_lasts_while_a_worker_looks(empty_store: Store) -> None:
    silence = a_gap(NOW - 2 * HOUR, None, GapCause.NOT_ANSWERED, "no answer")
    cover_until(empty_store, NOW, silence=silence)

    assert found(empty_store) == [silence]


def test_spending_is_told_of_today_and_of_this_month(store: Store, queries: Application) -> None:
    with store.write() as connection:
        for days in (0, 1, 25):
            at = NOW - timedelta(days=days)
            record_credits(connection, NETWORK, at, {"busyThreshold": Spent(1000, 80_000)})

    assert spending_in_words(queries.health.spending()[NETWORK], 0, 0) == (
        "Asked today: 1,000 calls, 80,000 credits; this month: 2,000 calls, 160,000 credits."
    )


@pytest.mark.parametrize(
    ("spent", "planned", "words"),
    [
        (Spent(1, 0), 0, "Asked today: 1 call; this month: 1 call."),
        (
            Spent(2, 160),
            2_304_000,
            (
                "Asked today: 2 calls, 160 credits; this month: 2 calls, 160 credits. "
                "Its fees took 160 of the 2,304,000 credits planned for a day."
            ),
        ),
    ],
)
def test_costs_are_said_in_words(spent: Spent, planned: int, words: str) -> None:
    assert spending_in_words(Spending(spent, spent), spent.credits, planned) == words


DOWN = Failure(FailureKind.UNAVAILABLE, "no answer within 3 s")
TRIED = "one question tries it every 15 s at most, and its first answer brings it back"


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [
        ("", EndpointState(), ""),
        ("", EndpointState(AnswerShape.RECORD), "Its answers are records"),
        ("gateway", EndpointState(), "gateway has not been asked yet"),
        (
            "gateway",
            EndpointState(answered_at=A_MOMENT),
            "gateway answered just now; so far, all its answers are null",
        ),
        (
            "gateway",
            EndpointState(AnswerShape.STATUS, A_MOMENT),
            "gateway answered just now; its answers are statuses, without stage, nonce and date",
        ),
        (
            "gateway",
            EndpointState(AnswerShape.RECORD, None, A_MOMENT, DOWN),
            (
                "gateway has not answered since 2026-11-20 12:00:00 UTC: no answer within 3 s; one "
                "question tries it every 15 s at most, and its first answer brings it back; its "
                "answers are records"
            ),
        ),
        *(
            ("gateway", state, f"gateway {said}: no answer within 3 s; {TRIED}")
            for state, said in (
                (
                    EndpointState(None, None, A_MOMENT, DOWN),
                    "has never answered, first asked 2026-11-20 12:00:00 UTC",
                ),
                (EndpointState(None, None, None, DOWN), "has never answered"),
                (EndpointState(None, A_MOMENT, None, DOWN), "does not answer"),
            )
        ),
    ],
)
def test_how_an_endpoint_answers_is_said_in_words(
    name: str, state: EndpointState, words: str
) -> None:
    operation = OperationHealth(EXCLUSION, A_MOMENT, None, endpoints=((name, state),))

    assert endpoint_words(operation, A_MOMENT) == ([words] if words else [])


WELL = EndpointState(AnswerShape.RECORD, A_MOMENT)
MUTE = EndpointState(None, A_MOMENT, A_MOMENT, DOWN)
NEVER = EndpointState(None, None, A_MOMENT, DOWN)
UNDATED = EndpointState(None, A_MOMENT, None, DOWN)


@pytest.mark.parametrize(
    ("states", "asks_all", "begins", "left"),
    [
        ((WELL, WELL), False, ["a answered", "b stands by: answered"], ""),
        ((WELL, MUTE), False, ["a answered", "b stands by: did not answer at"], ""),
        (
            (MUTE, WELL),
            False,
            ["a has not answered", "b is asked instead: answered"],
            "a has not answered since 12:00:00 UTC (just now)",
        ),
        (
            (NEVER, WELL),
            False,
            ["a has never answered", "b is asked instead: answered"],
            "a has never answered, first asked 12:00:00 UTC (just now)",
        ),
        ((UNDATED, WELL), False, ["a does not", "b is asked instead"], "a does not answer"),
        ((WELL, UNDATED), False, ["a answered", "b stands by: did not answer lately"], ""),
        ((MUTE, MUTE), False, ["a has not answered", "b has not answered"], ""),
        (
            (WELL, MUTE),
            True,
            ["a answered", "b has not answered"],
            "b has not answered since 12:00:00 UTC (just now)",
        ),
        ((EndpointState(), WELL), False, ["a has not been asked yet", "b stands by"], ""),
    ],
)
def test_endpoint_that_is_left_is_named_with_the_one_asked_instead(
    states: Sequence[EndpointState],
    asks_all: bool,  # noqa: FBT001 - ask_exclusions = "all"
    begins: Sequence[str],
    left: str,
) -> None:
    endpoints = tuple(zip("ab", states, strict=True))
    asked = OperationHealth(EXCLUSION, A_MOMENT, None, endpoints=endpoints, asks_all=asks_all)
    health = NetworkHealth(SIMULATED, [asked])

    words = endpoint_words(asked, A_MOMENT)
    named = [headline for headline, _, _ in health.left_endpoints(A_MOMENT)]

    assert [said.startswith(start) for said, start in zip(words, begins, strict=True)] == [True] * 2
    assert named == ([f"Devnet: the exclusion endpoint {left}."] if left else [])
