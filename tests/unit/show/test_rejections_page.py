"""The page Rejections: counts, filters in the address, pages of rows, and the empty page."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest

from dashboard.domain.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.exclusion import RejectionStage
from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.show.queries.context import QueryContext
from dashboard.show.queries.page_queries import PageQueries
from dashboard.show.queries.rejections import PERIODS, Period, RejectionListQueries, rejections_csv
from dashboard.show.views.rejections import headline
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.evidence.save_rejections import save_polled
from dashboard.store.monitoring.coverage import covered, save_coverage
from tests.browser.seeded_store import HOSTILE, SILENT, SIMULATED, seed, tx_hash
from tests.builders import A_NETWORK, a_hash, a_record, an_address
from tests.databases import new_sqlite_store
from tests.unit.show.page_runs import UnreadableStore, visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
DAY = Period("day", timedelta(days=1), timedelta(hours=1))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with seed(tmp_path, NOW) as seeded:
        yield seeded


@pytest.fixture
def queries(store: Store) -> PageQueries:
    return PageQueries(store, (SIMULATED, SILENT), None, lambda: NOW)


def test_page_says_how_many_and_whether_it_gets_worse(queries: PageQueries) -> None:
    words = words_of(visit("rejections", queries))

    assert "6 rejections in the last 24 h, 6 more than in the 24 h before." in words
    assert "As of 2026-11-20 12:00:00 UTC." in words


def test_page_tells_the_reason_in_words_beside_the_lines(queries: PageQueries) -> None:
    words = words_of(visit("rejections", queries))

    assert "2,402 of 70 <small>34.31 ×</small>" in words
    assert "2,402 lines in the prover module HUB" in words
    assert f'href="lookup?tx={tx_hash(2)}"' in words


def test_unknown_reason_is_quoted_counted_and_inert(queries: PageQueries) -> None:
    words = words_of(visit("rejections", queries, module="unknown reason"))

    assert "1 rejection in the last 24 h" in words
    assert "&lt;script&gt;" in words
    assert "<script" not in words
    assert "\u202e" not in words


@pytest.mark.parametrize(
    ("address", "count"),
    [
        ({"module": "HUB"}, "1 rejection in"),
        ({"module": "MISSING"}, "No rejection in"),
        ({"stage": "SEQUENCER"}, "3 rejections in"),
        ({"stage": "P2P", "module": "HUB"}, "No rejection in"),
        ({"period": "1 h"}, "5 rejections in the last hour, 5 more"),
        ({"search": str(tx_hash(2))}, "2 rejections in"),
        ({"search": "0x" + "03" * 20}, "1 rejection in"),
        ({"search": "0x" + "03" * 6}, "1 rejection in"),
        ({"search": "devnet"}, "6 rejections in"),
        ({"search": "Linea"}, "No rejection in"),
        ({"search": "Linea", "network": "Devnet"}, "No rejection in"),
        ({"search": "module hub"}, "1 rejection in"),
        ({"search": "0x02020202…020202"}, "2 rejections in"),
        ({"search": f"https://explorer.example/tx/{tx_hash(2)}"}, "2 rejections in"),
        ({"search": "2,402 lines"}, "1 rejection in"),
        ({"search": "unknown reason"}, "1 rejection in"),
        ({"search": "1742"}, "2 rejections in"),
        ({"network": "Linea"}, "No rejection in"),
        ({"module": "<script>"}, "6 rejections in"),
    ],
)
def test_filters_of_the_address_are_kept(
    queries: PageQueries, address: dict[str, str], count: str
) -> None:
    assert count in words_of(visit("rejections", queries, **address))


def test_filters_that_fit_nothing_say_so(queries: PageQueries) -> None:
    assert "Nothing fits these filters" in words_of(visit("rejections", queries, module="MISSING"))


def test_time_without_rejections_says_what_is_covered(store: Store) -> None:
    later = NOW + timedelta(days=90)
    words = words_of(visit("rejections", PageQueries(store, (SIMULATED,), None, lambda: later)))

    assert (
        "No rejection in the last 24 h, none of it watched. "
        "There is nothing to compare with: nobody watched the 24 h before."
    ) in words
    assert "No rejection seen in this time" in words
    assert "Every rejection that nodes reported to this installation." in words


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (1, ", 59 min of it watched. There is nothing to compare with: nobody watched the 24 h"),
        (30, "; not compared with the 24 h before, of which 6 h were watched."),
        (48, ", and none in the 24 h before."),
    ],
)
def test_only_what_was_watched_is_compared(tmp_path: Path, hours: int, said: str) -> None:
    at = NOW + timedelta(minutes=59, seconds=59)
    began = NOW - timedelta(hours=hours - 1)
    network = replace(SIMULATED, network_id=A_NETWORK)
    with empty_store(tmp_path, Covered(A_NETWORK, Watched.REJECTIONS, began, at)) as store:
        queries = RejectionListQueries(QueryContext(store, (network,), lambda: at))
        summary = queries.summary(RejectionFilter(), PERIODS["24 h"])

    assert said in headline(summary, PERIODS["24 h"])


def test_gap_of_the_last_day_is_not_compared_and_hatched(store: Store) -> None:
    begins, ends = NOW - timedelta(hours=9), NOW - timedelta(hours=3)
    missed = Gap(
        SIMULATED.network_id, Watched.REJECTIONS, begins, ends, GapCause.NOT_ANSWERED, "down"
    )
    with store.write() as connection:
        held, *_ = covered(connection, [SIMULATED.network_id])
        save_coverage(connection, held, CoverageChange(held, (missed,)))

    words = words_of(visit("rejections", PageQueries(store, (SIMULATED,), None, lambda: NOW)))

    assert "6 rejections in the last 24 h, 17 h of it watched; not compared" in words
    assert words.count(': not watched" class="is-unwatched"') == 6
    assert "not watched</span>" in words


def test_long_list_has_pages(store: Store) -> None:
    with store.write() as connection:
        for number in range(60):
            save_polled(connection, A_NETWORK, a_record(tx_hash=a_hash(number)), NOW)
    queries = PageQueries(store, (SIMULATED,), None, lambda: NOW)

    first, last = visit("rejections", queries), visit("rejections", queries, page="3")

    assert words_of(first).count("lookup?tx=") == 25
    assert words_of(last).count("lookup?tx=") == 66 - 50


@pytest.mark.parametrize("page", ["rejections", "tracked", "alerts"])
def test_page_without_a_store_says_what_to_look_at(page: str) -> None:
    queries = PageQueries(UnreadableStore(), (SIMULATED,), None, lambda: NOW)

    assert "The store cannot be read." in words_of(visit(page, queries))


def test_summary_counts_each_hour_and_stage(store: Store) -> None:
    queries = RejectionListQueries(QueryContext(store, (SIMULATED,), lambda: NOW))

    summary = queries.summary(RejectionFilter(), DAY)

    assert len(summary.steps) == 24
    assert summary.stages == {
        RejectionStage.SEQUENCER: 3,
        RejectionStage.RPC: 2,
        RejectionStage.P2P: 1,
    }
    assert sum(sum(counts.values()) for _, counts in summary.steps) == summary.total == 6


@pytest.mark.parametrize("period", PERIODS.values(), ids=lambda period: period.words)
def test_steps_of_a_period_end_with_the_present(period: Period) -> None:
    steps = period.steps(NOW)

    assert steps[-1] <= NOW < steps[-1] + period.step
    assert steps[-1] - steps[0] == period.step * (len(steps) - 1)


def test_csv_holds_each_rejection_and_never_computes(store: Store) -> None:
    hostile = a_record(tx_hash=a_hash(77), reason_message="=cmd|' /C calc'!A0")
    with store.write() as connection:
        save_polled(connection, A_NETWORK, hostile, NOW)
    context = QueryContext(store, (SIMULATED,), lambda: NOW)
    rejections = RejectionListQueries(context).page(RejectionFilter(), DAY, 1, 100)

    written = rejections_csv(rejections, context)
    rows = list(csv.DictReader(StringIO(written, newline="")))

    reasons = {row["tx_hash"]: row["reason_as_sent"] for row in rows}
    assert len(rows) == 7
    assert reasons[str(a_hash(77))] == "'=cmd|' /C calc'!A0"
    assert reasons[str(tx_hash(3))].startswith(HOSTILE[:60])
    assert {row["is_simulated"] for row in rows} == {"yes"}
    assert rows[0]["sender"] == str(an_address())


def test_senders_are_ranked_and_lead_to_their_rejections(
    store: Store, queries: PageQueries
) -> None:
    with store.write() as connection:
        for number, sender in ((70, 7), (71, 7), (72, 8)):
            record = a_record(
                tx_hash=a_hash(number), sender=an_address(sender), timestamp=NOW, nonce=number
            )
            save_polled(connection, SIMULATED.network_id, record, NOW)

    words = words_of(visit("rejections", queries, period="1 h"))

    first, second = (words.index(f"search={an_address(sender)}") for sender in (7, 8))
    assert first < second
    assert f'href="rejections?period=1+h&amp;search={an_address(7)}"' in words


@contextmanager
def empty_store(folder: Path, held: Covered) -> Iterator[Store]:
    """Open a store that holds only until when a network was watched."""
    url = new_sqlite_store(folder / "empty.sqlite")
    with open_store(url) as opened:
        with opened.write() as connection:
            save_coverage(connection, None, CoverageChange(held))
        yield opened
