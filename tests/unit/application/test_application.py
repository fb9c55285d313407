"""What all pages share: answers asked once, statuses, look-ups."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from dashboard.application.application import RECENT, Application
from dashboard.application.network_status import Activity
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_csv import TrackResult
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.store.engine.engine import Store
from tests.browser.seeded_store import SILENT, SIMULATED, tx_hash
from tests.one_by_one import newest_tracked

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
HOUR = timedelta(hours=1)


def test_what_is_known_of_many_is_read_once_for_all_clicks(store: Store) -> None:
    clock = [NOW]
    queries = Application(store, (SIMULATED,), None, lambda: clock[0])
    hashes = [tx_hash(number) for number in range(60)]
    first = queries.recent_summaries(hashes)

    assert queries.recent_summaries(hashes) is first
    assert queries.recent_summaries(hashes[:59]) == first[:59]
    queries.discard_recent_summaries()
    second = queries.recent_summaries(hashes)
    clock[0] += RECENT
    assert first is not second is not queries.recent_summaries(hashes)


def test_statuses_tell_the_fresh_network_from_the_silent_one(queries: Application) -> None:
    activities = [status.activity for status in queries.network_statuses()]

    assert activities == [Activity.BUSY, Activity.STALE]


def test_figures_of_a_network_carry_their_age(queries: Application) -> None:
    figures = queries.network_statuses()[1].figures

    assert figures.base_fee is not None
    assert NOW - figures.base_fee.asked_at == timedelta(minutes=6)
    assert figures.network_congestion is not None
    assert figures.network_congestion.value == 0.64


def test_summary_of_a_rejected_hash_holds_every_version(queries: Application) -> None:
    (summary,) = queries.summaries([tx_hash(2)])

    finding = summary.findings[0]
    assert finding.verdict.kind is VerdictKind.REJECTED
    assert [each.record.tx_rejection_stage for each in finding.versions] == ["RPC", "SEQUENCER"]
    assert summary.is_tracked


def test_summary_says_of_each_network_what_is_known(queries: Application) -> None:
    (summary,) = queries.summaries([tx_hash(2)])

    kinds = [finding.verdict.kind for finding in summary.findings]
    assert kinds == [VerdictKind.REJECTED, VerdictKind.CANNOT_CHECK]


def test_hash_that_nobody_asked_about_is_not_checked_yet(queries: Application) -> None:
    (summary,) = queries.summaries([tx_hash(200)])

    assert [finding.verdict.kind for finding in summary.findings] == [
        VerdictKind.NOT_CHECKED_YET,
        VerdictKind.NOT_CHECKED_YET,
    ]


def test_tracking_watches_every_network_that_can_be_asked(
    queries: Application, store: Store
) -> None:
    became = queries.track(
        [tx_hash(50), tx_hash(2)], Remarks(NOW - HOUR, "Case 9"), queries.context.unnamed()
    )

    with store.read() as connection:
        newest = newest_tracked(connection, 10)
    (entry,) = [each for each in newest if each.tx_hash == tx_hash(50)]
    assert became == (TrackResult.NEW, TrackResult.NEW)
    assert set(entry.network_ids) == {SIMULATED.network_id, SILENT.network_id}
    assert entry.remarks == Remarks(NOW - HOUR, "Case 9")


def test_live_question_is_put_for_all_hashes_on_all_networks(store: Store) -> None:
    asked: list[tuple[tuple[TxHash, ...], NetworkId | None]] = []
    queries = Application(
        store, (SIMULATED,), lambda hashes, network: asked.append((hashes, network)), lambda: NOW
    )

    list(queries.ask_now((tx_hash(1), tx_hash(2))))

    assert asked == [((tx_hash(1), tx_hash(2)), None)]


def test_installation_without_a_live_question_says_that_it_cannot_ask(queries: Application) -> None:
    list(queries.ask_now((tx_hash(1),)))

    assert not queries.can_ask


def test_network_that_left_the_configuration_is_named_by_its_id(queries: Application) -> None:
    assert queries.network_name(NetworkId(5)) == "network 5"
