"""What pages say of a network whose line limits ended, or will, in place of what is missing."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from dashboard.application.application import Application
from dashboard.application.source_health import OperationState
from dashboard.domain.health.observation import Cost, Failure, FailureKind, Operation, Spent
from dashboard.domain.rejections.line_limits import LimitsEnd, LineLimits
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.domain.tracking.verdict import Need, VerdictKind
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.answer_counts import note_failure
from dashboard.store.rejections.limits_end import save_end_block
from dashboard.store.tracking.transactions import track
from tests.browser.seeded_store import SILENT, SIMULATED
from tests.builders import A_MOMENT as NOW
from tests.builders import DAY, a_hash
from tests.unit.show.page_runs import open_page, visit, words_of

ENDED = "No line limits since 2026-11-19 12:00:00 UTC."
MUTE = Failure(FailureKind.UNAVAILABLE, "Devnet exclusion endpoint did not answer")


def ending(store: Store, end: LimitsEnd) -> Application:
    card = replace(SIMULATED, line_limits=LineLimits((), end), cost=Cost({"": Spent(1, 80)}))
    return Application(store, (card,), None, lambda: NOW)


@pytest.fixture
def ended(store: Store) -> Application:
    """Return an application whose only network has no line limits since a day, and no answers."""
    asked = Operation.EXCLUSION_STATUS
    with store.write() as connection:
        note_failure(connection, SIMULATED.network_id, NOW - DAY, (asked, MUTE))
        note_failure(connection, SIMULATED.network_id, NOW, (asked, MUTE))
    return ending(store, LimitsEnd(NOW - DAY))


@pytest.mark.parametrize("page", ["overview", "rejections", "tracked"])
def test_page_says_that_line_limits_ended(ended: Application, page: str) -> None:
    assert ENDED in words_of(visit(page, ended))


@pytest.mark.parametrize("page", ["overview", "rejections", "tracked"])
def test_page_announces_the_end_a_week_before(store: Store, page: str) -> None:
    near, far = (ending(store, LimitsEnd(NOW + days * DAY)) for days in (7, 8))

    assert "Line limits end on 2026-11-27 12:00:00 UTC." in words_of(visit(page, near))
    assert "ine limits" not in words_of(visit(page, far))


def test_rejections_and_wall_name_the_end_in_place_of_nothing(
    ended: Application, store: Store
) -> None:
    later = Application(store, ended.networks, None, lambda: NOW + 400 * DAY)

    assert "No rejection in this time: line limits have ended" in words_of(
        visit("rejections", later)
    )
    assert "no line limits" in words_of(visit("overview", later, wall="1"))


def test_silence_after_the_end_needs_no_attention_and_health_says_why(ended: Application) -> None:
    [devnet] = ended.health.networks()
    now, statuses = ended.statuses_as_of()

    states = {each.operation: each.state(NOW) for each in devnet.operations}
    assert states[Operation.EXCLUSION_STATUS] is OperationState.NOT_AWAITED
    assert not any("exclusion" in each.headline for each in ended.needed_attention(statuses, now))
    assert not statuses[0].figures.failures
    said = "no line limits since 2026-11-19 12:00:00 UTC: transactions first seen later are asked"
    assert f"{said} about once a day" in words_of(visit("health", ended))


def test_transaction_that_is_not_asked_about_after_the_end_needs_no_attention(
    ended: Application, store: Store
) -> None:
    before = ended.tracked.needs(None)[Need.UNANSWERED]
    with store.write() as connection:
        request = TrackRequest(a_hash(77), (SIMULATED.network_id,))
        track(connection, request, NOW - timedelta(hours=1))

    [summary] = ended.summaries([a_hash(77)])

    assert summary.findings[0].verdict.kind is VerdictKind.NO_LINE_LIMITS
    assert ended.tracked.needs(None)[Need.UNANSWERED] == before
    assert summary.unanswered_since(NOW) == ()
    assert ENDED in words_of(open_page(ended, str(a_hash(77))))


def test_block_ends_limits_once_its_time_is_known(store: Store) -> None:
    queries = ending(store, LimitsEnd(block_number=31_000_000))
    found = []
    for at, is_expected in ((NOW + DAY, True), (NOW - DAY, False)):
        with store.write() as connection:
            end = LimitsEnd(at, 31_000_000, is_expected)
            save_end_block(connection, SIMULATED.network_id, end)
        queries = ending(store, LimitsEnd(block_number=31_000_000))
        found.append(queries.line_limits.sentences(queries.networks))
        assert [each.profile for each in queries.health.networks()] == list(queries.networks)

    assert found == [
        ("Line limits end with block 31,000,000, expected around 2026-11-21 12:00:00 UTC.",),
        (ENDED,),
    ]


def test_networks_end_their_limits_each_by_itself(store: Store) -> None:
    first = replace(SIMULATED, line_limits=LineLimits((), LimitsEnd(NOW - DAY)))
    second = replace(SILENT, line_limits=LineLimits((), LimitsEnd(NOW + DAY)), has_exclusion=True)
    queries = Application(store, (first, second), None, lambda: NOW)

    assert queries.line_limits.sentences(queries.networks) == (
        f"{first.name}: no line limits since 2026-11-19 12:00:00 UTC.",
        f"{second.name}: line limits end on 2026-11-21 12:00:00 UTC.",
    )
    assert queries.line_limits.have_ended([first])
    assert not queries.line_limits.have_ended([first, second])
    assert queries.overview.hourly()[second.network_id].ended_at is None
