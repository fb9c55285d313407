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
from streamlit.testing.v1 import AppTest

from dashboard.application.application import Application
from dashboard.application.context import ApplicationContext, PageSettings
from dashboard.application.rejection_timeline import PERIODS, Period, SplitBy, window_of
from dashboard.application.rejection_trend import trend_words
from dashboard.application.rejections import Rejections
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.people.access import Actor
from dashboard.domain.rejections.search import HashRange, RejectionFilter
from dashboard.settings.presets import public_tables
from dashboard.show.parts.subject_acts import end_in_words
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.monitoring.coverage import covered, save_coverage
from dashboard.store.rejections.counts import Grouping
from tests.browser.seeded_store import HOSTILE, SIMULATED, tx_hash
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    DISPUTE,
    a_disputed_answer,
    a_hash,
    a_record,
    an_address,
)
from tests.databases import new_sqlite_store
from tests.saved_record import save_record
from tests.unit.show.page_runs import visit, visit_in, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SETTLED_BY_RECEIPT = DISPUTE.replace(", and the rejection takes precedence", "").replace(
    "; only a receipt proves an inclusion", ""
)
DAY = Period("day", timedelta(days=1), timedelta(hours=1))


def test_page_says_how_many_and_whether_it_gets_worse(queries: Application) -> None:
    words = words_of(visit("rejections", queries))

    assert "Getting worse: 6 rejections in the last 24 h, none in the 24 h before." in words
    assert 'title="2026-11-20 12:00:00 UTC" class="lw-updated"' in words


def test_row_names_module_overrun_and_lines_and_leads_to_lookup(queries: Application) -> None:
    shown = visit("rejections", queries)
    words = words_of(shown)

    assert "<b>HUB</b> 34.31×<small> 2,402 of 70</small>" in words
    assert "2,402 lines in the prover module HUB" in words
    assert str(tx_hash(2)) in {
        each.proto.query_string.removeprefix("tx=") for each in shown.get("page_link")
    }


def test_unknown_reason_is_quoted_counted_and_inert(queries: Application) -> None:
    words = words_of(visit("rejections", queries, module="unknown reason"))

    assert "1 rejection in the last 24 h" in words
    assert "<q>" in words
    assert "&lt;script&gt;" in words
    assert "<script" not in words
    assert "\u202e" not in words


@pytest.mark.parametrize(
    ("address", "count"),
    [
        ({"module": "HUB"}, "1 rejection in"),
        ({"module": "MISSING"}, "No rejection matches these filters"),
        ({"stage": "SEQUENCER"}, "3 rejections in"),
        ({"stage": "P2P", "module": "HUB"}, "No rejection in"),
        (
            {"period": "1 h"},
            "Getting worse: 5 rejections in the last hour, none in the hour before.",
        ),
        (
            {"from": "2026-11-20T11:59:00Z", "to": "2026-11-20T11:59:30Z"},
            "from 20 Nov 2026 11:59:00 to 20 Nov 2026 11:59:30, ",
        ),
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
    queries: Application, address: dict[str, str], count: str
) -> None:
    assert count in words_of(visit("rejections", queries, **address))


def test_time_without_rejections_says_what_is_covered(store: Store) -> None:
    later = NOW + timedelta(days=90)
    words = words_of(visit("rejections", Application(store, (SIMULATED,), None, lambda: later)))

    assert (
        "No rejection seen in the last 24 h (none of it watched); the 24 h before was not watched."
    ) in words
    assert "No rejection seen in this time" in words
    assert "Source: reporting nodes." in words


@pytest.mark.parametrize(
    ("hours", "said"),
    [
        (1, "No rejection seen in the last 24 h (59 min of it watched); the 24 h"),
        (30, "none seen in the 24 h before (6 h of it watched)."),
        (48, ", and none in the 24 h before."),
    ],
)
def test_only_what_was_watched_is_compared(tmp_path: Path, hours: int, said: str) -> None:
    at = NOW + timedelta(minutes=59, seconds=59)
    began = at - timedelta(hours=hours) + (timedelta(seconds=1) if hours == 1 else timedelta())
    network = replace(SIMULATED, network_id=A_NETWORK)
    with empty_store(tmp_path, Covered(A_NETWORK, Watched.REJECTIONS, began, at)) as store:
        queries = Rejections(ApplicationContext(store, (network,), lambda: at))
        compared = queries.summary(RejectionFilter(), PERIODS["24 h"]).compared

    assert said in trend_words(compared, window_of(PERIODS["24 h"], at))


def test_gap_of_the_last_day_makes_counts_a_lower_bound_and_is_hatched(store: Store) -> None:
    begins, ends = NOW - timedelta(hours=9), NOW - timedelta(hours=3)
    missed = Gap(
        SIMULATED.network_id, Watched.REJECTIONS, begins, ends, GapCause.NOT_ANSWERED, "down"
    )
    with store.write() as connection:
        held, *_ = covered(connection, [SIMULATED.network_id])
        save_coverage(connection, held, CoverageChange(held, (missed,)))
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    words = words_of(visit("rejections", queries))
    timeline = queries.rejections.timeline(RejectionFilter(), PERIODS["24 h"], SplitBy.MODULE)

    assert "6 rejections or more in the last 24 h (18 h of it watched), none in the 24 h" in words
    assert len(timeline.unwatched) == 6
    assert "not watched: there may be more</span>" in words


def test_long_list_has_pages(store: Store) -> None:
    with store.write() as connection:
        for number in range(60):
            save_record(connection, A_NETWORK, a_record(tx_hash=a_hash(number)), NOW)
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    first, last = visit("rejections", queries), visit("rejections", queries, page="6")

    assert len(first.get("page_link")) == 12
    assert len(last.get("page_link")) == 66 - 60


def test_timeline_counts_each_hour_and_group(store: Store) -> None:
    queries = Rejections(ApplicationContext(store, (SIMULATED,), lambda: NOW))

    by_stage = queries.timeline(RejectionFilter(), DAY, SplitBy.STAGE)
    by_network = queries.timeline(RejectionFilter(), DAY, SplitBy.NETWORK)

    assert len(by_stage.window.begins) == 25
    assert [(name, sum(counts)) for name, counts in by_stage.groups] == [
        ("SEQUENCER", 3),
        ("RPC", 2),
        ("P2P", 1),
    ]
    assert [(name, sum(counts)) for name, counts in by_network.groups] == [("Devnet", 6)]


def test_counts_beside_each_other_agree(store: Store) -> None:
    queries = Rejections(ApplicationContext(store, (SIMULATED,), lambda: NOW))

    summary = queries.summary(RejectionFilter(), DAY)
    of_modules = queries.timeline(RejectionFilter(), DAY, SplitBy.MODULE)
    stages = queries.groups(RejectionFilter(), DAY, Grouping.STAGE)

    assert summary.total == of_modules.total == stages.total == 6
    assert summary.modules.total() + summary.kinds.total() == 6
    assert queries.overruns(RejectionFilter(), DAY).of == 6


def test_csv_holds_each_rejection_and_never_computes(store: Store) -> None:
    hostile = a_record(tx_hash=a_hash(77), reason_message="=cmd|' /C calc'!A0")
    with store.write() as connection:
        save_record(connection, A_NETWORK, hostile, NOW)
        record_lookup(connection, A_NETWORK, NOW, [a_disputed_answer(a_hash(77))])
    context = ApplicationContext(store, (SIMULATED,), lambda: NOW)

    written = Rejections(context).file(RejectionFilter(), DAY)
    rows = list(csv.DictReader(StringIO(written, newline="")))

    reasons = {row["tx_hash"]: row["reason_as_sent"] for row in rows}
    assert len(rows) == 7
    assert reasons[str(a_hash(77))] == "'=cmd|' /C calc'!A0"
    assert reasons[str(tx_hash(3))].startswith(HOSTILE[:60])
    assert {row["is_simulated"] for row in rows} == {"yes"}
    assert rows[0]["sender"] == str(an_address())
    said = {row["tx_hash"]: row["endpoints_say"] for row in rows}
    assert (said[str(a_hash(77))], {*said.values()}) == (DISPUTE, {DISPUTE, ""})


def test_row_and_form_say_what_endpoints_report_and_leave_out_what_a_receipt_settles(
    store: Store, queries: Application
) -> None:
    included, disputed = tx_hash(4), tx_hash(2)
    with store.write() as connection:
        for each in (included, disputed):
            record_lookup(connection, SIMULATED.network_id, A_MOMENT, [a_disputed_answer(each)])
    [found] = queries.rejections.latest(RejectionFilter(tx_hashes=HashRange.of(included)), 1)

    words = words_of(visit("rejections", queries))
    form = queries.rejections.listing([found]).form(found)
    [nothing] = queries.rejections.latest(RejectionFilter(tx_hashes=HashRange.of(tx_hash(1))), 1)

    assert form["endpointsSay"] == SETTLED_BY_RECEIPT
    assert f'<small class="lw-endpoints">{DISPUTE}</small>' in words
    assert f'<small class="lw-endpoints">{SETTLED_BY_RECEIPT}</small>' in words
    assert queries.rejections.listing([nothing]).form(nothing)["endpointsSay"] is None


def test_sender_that_stands_out_is_ranked_and_a_filter(store: Store, queries: Application) -> None:
    with store.write() as connection:
        for number in range(70, 90):
            record = a_record(
                tx_hash=a_hash(number), sender=an_address(7), timestamp=NOW, nonce=number
            )
            save_record(connection, SIMULATED.network_id, record, NOW)

    shown = visit("rejections", queries, period="1 h")
    shown.button(key=f"choose-senders-{an_address(7)}").click().run()

    assert "20 rejections in the last hour" in words_of(shown)
    assert shown.query_params["search"] == str(an_address(7))
    assert "chip-Sender" in {each.key for each in shown.button}


def test_rejections_without_a_known_sender_are_counted_but_no_filter(
    store: Store, queries: Application
) -> None:
    with store.write() as connection:
        for number in range(70, 90):
            record = a_record(tx_hash=a_hash(number), sender=None, timestamp=NOW, nonce=None)
            save_record(connection, SIMULATED.network_id, record, NOW)

    shown = visit("rejections", queries, period="1 h")

    assert "<span>unknown</span>" in words_of(shown)
    choices = [each.key for each in shown.button if str(each.key).startswith("choose-senders-")]
    assert choices
    assert all("-0x" in str(each) for each in choices)


def test_sender_that_is_no_longer_tracked_is_taken_back_as_it_was(queries: Application) -> None:
    sender, by = an_address(7), Actor("Ada", NOW)
    queries.senders.watch([sender], [SIMULATED.network_id], "Customer", by)
    page = visit_in(None, "rejections", queries, {"name_of_who_acts": "Ada"}, search=str(sender))

    page.button(key=f"unwatch-{sender}").click().run()
    assert queries.senders.watched() == ()
    page.button(key="undo").click().run()

    [watched] = queries.senders.watched()
    assert (watched.label, watched.network_ids) == ("Customer", (SIMULATED.network_id,))


def test_senders_are_folded_while_none_stands_out(store: Store) -> None:
    with store.write() as connection:
        for number in range(70, 90):
            record = a_record(
                tx_hash=a_hash(number), sender=an_address(number), timestamp=NOW, nonce=number
            )
            save_record(connection, SIMULATED.network_id, record, NOW)

    shown = visit("rejections", Application(store, (SIMULATED,), None, lambda: NOW))

    assert [each.label for each in shown.expander] == ["Senders: 25, at most 2 rejections each"]


def test_click_on_a_module_narrows_and_its_chip_takes_that_back(queries: Application) -> None:
    shown = visit("rejections", queries, stage="RPC")

    shown.button(key="choose-modules-HUB").click().run()
    assert shown.query_params == {"stage": "RPC", "module": "HUB"}
    assert "1 rejection in the last 24 h" in words_of(shown)

    shown.button(key="chip-Module").click().run()
    assert shown.query_params == {"stage": "RPC"}

    shown.button(key="chip-Stage").click().run()
    assert "6 rejections in the last 24 h" in words_of(shown)
    assert not [each for each in shown.button if str(each.key).startswith("chip-")]


def test_reasons_without_a_module_never_rank_among_modules(queries: Application) -> None:
    shown = visit("rejections", queries)
    keys = [str(each.key) for each in shown.button]

    modules = {each for each in keys if each.startswith("choose-modules-")}
    assert "choose-kinds-unknown reason" in keys
    assert not any(" " in each for each in modules)
    shown.button(key="choose-kinds-unknown reason").click().run()
    assert shown.query_params["module"] == "unknown reason"


def test_module_has_what_it_works_on_and_its_limit_in_the_chosen_table(store: Store) -> None:
    settings = PageSettings(limit_tables=public_tables())
    queries = Application(store, (SIMULATED,), None, lambda: NOW, settings=settings)

    first = words_of(visit("rejections", queries, module="HUB"))
    other = words_of(visit("rejections", queries, module="HUB", limits="Linea Sepolia, 2026-06-12"))

    assert "Prover module: coordination of all other modules" in first
    assert "Limit <b>2,097,152</b> lines in one transaction." in first
    assert "Limit <b>4,194,304</b> lines in one transaction." in other
    assert "Table: Linea Sepolia, 2026-06-12." in other


def test_long_name_of_a_module_may_wrap_in_its_title_and_its_limit(store: Store) -> None:
    settings = PageSettings(limit_tables=public_tables())
    queries = Application(store, (SIMULATED,), None, lambda: NOW, settings=settings)

    words = words_of(visit("rejections", queries, module="PRECOMPILE_MODEXP_UNKNOWN"))

    wrapped = "PRECOMPILE_<wbr>MODEXP_<wbr>UNKNOWN"
    assert f"{wrapped}</h2>" in words
    assert f"<b>{wrapped}</b> is not in this table of limits." in words


@contextmanager
def empty_store(folder: Path, held: Covered) -> Iterator[Store]:
    """Open a store that holds only until when a network was watched."""
    url = new_sqlite_store(folder / "empty.sqlite")
    with open_store(url) as opened:
        with opened.write() as connection:
            save_coverage(connection, None, CoverageChange(held))
        yield opened


def test_end_of_a_silence_is_said_in_the_zone_of_its_button_as_well() -> None:
    ends_at = datetime(2026, 11, 21, 6, tzinfo=UTC)

    said = [end_in_words(ends_at, NOW, zone) for zone in ("Europe/Zurich", "UTC", None)]

    assert said == ["21 Nov 06:00 UTC (07:00 in Europe/Zurich)", *["21 Nov 06:00 UTC"] * 2]


def captions(page: AppTest) -> str:
    return "\n".join(each.value for each in page.caption)


def test_module_is_silenced_for_the_night_or_watched_in_two_presses(
    queries: Application,
) -> None:
    opened = {"silencing-shown": True, "watching-shown": True}  # as the first press does
    known = {**opened, "name_of_who_acts": "Ada"}

    page = visit_in(None, "rejections", queries, known, module="HUB")
    page.button(key="silence-shown-Until 07:00").click().run()

    [silence] = queries.silences.stored().unfinished
    assert queries.silences.scope_of(silence) == "module=HUB"
    assert silence.over_at == datetime(2026, 11, 21, 7, tzinfo=UTC)
    assert "“module HUB” is silenced until 21 Nov 07:00 UTC" in words_of(page)
    assert "It is silenced until 21 Nov 07:00 UTC: nobody is notified." in captions(page)
    page.button(key="undo").click().run()
    assert not queries.silences.stored().unfinished
    assert "It is silenced" not in captions(page)
    page.button(key="watch-shown-Until 07:00").click().run()
    [rule] = [each.rule for each in queries.rules.in_force() if each.rule.name == "watch-hub"]
    assert (rule.scope.modules, rule.scope.takes_all_reports) == (("HUB",), True)
    assert rule.until == silence.over_at
    assert "“module HUB” is watched until 21 Nov 07:00 UTC" in words_of(page)
    labels = [each.proto.popover.label for each in page.get("popover")]
    assert "Watched until 21 Nov 07:00 UTC" in labels
    page.button(key="watch-shown-stop").click().run()
    page.button(key="undo").click().run()
    assert rule in [each.rule for each in queries.rules.in_force()]
