"""Pages in each of their states, run by Streamlit without a browser."""

from __future__ import annotations

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from uuid import UUID

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.application.application import Application
from dashboard.application.attention import Attention, Remedy
from dashboard.application.network_status import NetworkProfile
from dashboard.application.overview import UsualNow
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.observation import Failure, FailureKind, Operation
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import WIRE_STAGES
from dashboard.domain.tracking.remarks import NO_REMARKS
from dashboard.domain.tracking.transaction_cost import CoinPrice
from dashboard.show.parts.network_rows import NetworkRow
from dashboard.show.parts.wall import critical, split, tile
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import WORKER_LEASE, acquire
from dashboard.store.fees.save import save_gas
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, tx_hash
from tests.builders import a_record, an_id
from tests.saved_record import save_record
from tests.unit.show.page_runs import open_page, visit, visit_in, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
QUIET = NetworkProfile(
    NetworkId(7),
    "Quiet",
    is_simulated=False,
    gas_period=timedelta(seconds=4),
    threshold_period=timedelta(minutes=1),
)


def test_overview_says_first_which_network_needs_a_look(store: Store) -> None:
    page = open_page(Application(store, (SIMULATED, SILENT), None, lambda: NOW))

    words = words_of(page)
    assert "Linea: gas API down 5 min · Devnet busy" in words
    assert "stale, 6 min ago" in words
    assert "Simulated data." in words


def said_first(page: AppTest) -> str:
    """Return the heading of a page, and what its first line of all that needs attention says."""
    return "".join((words_of(page), *(each.label for each in page.expander)))


@pytest.mark.parametrize("name", ["overview", "alerts"])
def test_page_says_first_that_no_worker_runs(store: Store, name: str) -> None:
    said = "the worker is not running"
    queries = Application(store, (SIMULATED, SILENT), None, lambda: NOW)
    assert said in said_first(visit(name, queries))

    with store.write() as connection:
        acquire(connection, WORKER_LEASE, "a", timedelta(minutes=1))
    queries = Application(store, (SIMULATED, SILENT), None, lambda: NOW)
    assert said not in said_first(visit(name, queries))


def test_script_of_all_pages_shows_none_of_its_own_remarks(store: Store) -> None:
    page = open_page(Application(store, (SIMULATED,), None, lambda: NOW))

    assert [each.value for each in page.markdown] == []


def test_overview_of_one_network_charts_it_and_of_many_the_one_that_is_open(store: Store) -> None:
    one = open_page(Application(store, (SIMULATED,), None, lambda: NOW))
    many = open_page(Application(store, (SIMULATED, SILENT), None, lambda: NOW))
    opened = many.button(key=f"open-{SILENT.network_id}").click().run()

    assert [len(page.get("bidi_component")) for page in (one, opened)] == [1, 1]
    assert opened.query_params["open"] == str(SILENT.network_id)
    assert "stale, " in words_of(opened)
    assert not opened.button(key=f"open-{SILENT.network_id}").click().run().get("bidi_component")


def test_overview_links_each_rejection_to_its_lookup(store: Store) -> None:
    page = open_page(Application(store, (SIMULATED,), None, lambda: NOW))

    links = [link.proto.query_string for link in page.get("page_link")]
    assert f"tx={tx_hash(1)}" in links


def test_overview_flags_the_rejections_that_somebody_tracks(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)
    flag = 'aria-label="Tracked"'
    before = words_of(open_page(queries)).count(flag)

    queries.track([tx_hash(1), tx_hash(2)], NO_REMARKS, queries.context.unnamed())

    assert words_of(open_page(queries)).count(flag) == before + 1


def test_overview_charts_the_fee_that_is_judged(store: Store) -> None:
    words = words_of(open_page(Application(store, (FLAT,), None, lambda: NOW)))

    assert "So the medium suggested priority fee decides" in words
    assert "<dt>Priority fee</dt>" in words
    assert "Priority fee, last 1 h" in words
    assert "Base fee, last 1 h" not in words


def test_newest_rejection_has_the_age_by_which_it_is_sorted(empty_store: Store) -> None:
    late = a_record(timestamp=NOW - timedelta(minutes=12, seconds=1))
    ahead = a_record(tx_hash=tx_hash(2), timestamp=NOW + timedelta(minutes=2))
    with empty_store.write() as connection:
        save_record(connection, SIMULATED.network_id, late, NOW - timedelta(seconds=58))
        save_record(connection, SIMULATED.network_id, ahead, NOW - timedelta(seconds=5))

    words = words_of(open_page(Application(empty_store, (SIMULATED,), None, lambda: NOW)))

    said = re.findall(r">(\d+ s ago)</time|> dated ([^<]+)<", words)
    assert [one or other for one, other in said] == [
        *("5 s ago", "2 min later", "58 s ago", "11 min earlier"),
    ]


def test_transaction_that_was_rejected_again_takes_one_line(empty_store: Store) -> None:
    with empty_store.write() as connection:
        for minutes, stage in enumerate(WIRE_STAGES):
            at = NOW - timedelta(minutes=minutes)
            record = a_record(timestamp=at, tx_rejection_stage=stage)
            save_record(connection, SIMULATED.network_id, record, at)

    page = open_page(Application(empty_store, (SIMULATED,), None, lambda: NOW))

    links = [link.proto.query_string for link in page.get("page_link")]
    assert len([each for each in links if each.startswith("tx=")]) == 1
    assert "3 times" in words_of(page)


def test_price_of_a_transfer_is_shown_in_the_coin_and_in_money(store: Store) -> None:
    price = CoinPrice(3_000_000_000, "USD")
    profile = replace(SIMULATED, coin="DEV", coin_price=price)

    words = words_of(open_page(Application(store, (profile,), None, lambda: NOW)))

    assert re.search(r"transfer \d+ µDEV, \d\.\d\d USD", words)


def test_network_of_which_a_source_fails_says_so_first_and_on_the_wall(store: Store) -> None:
    queries = Application(store, (SIMULATED, SILENT, FLAT), None, lambda: NOW)
    rows = words_of(visit("overview", queries)).split('<div class="lw-net')[2:]
    wall = words_of(visit("overview", queries, wall="1"))

    assert ["Failing" in each for each in rows] == [True, False, False]
    assert re.search(r'title="Not answered: the gas API', rows[0])
    assert wall.count('class="lw-wall-tile is-failing needs-busy is-old"') == 1
    assert wall.count("Failing") == 1


def test_failure_does_not_hide_that_a_network_is_busy(store: Store) -> None:
    failure = Failure(FailureKind.UNAVAILABLE, "no answer")
    with store.write() as connection:
        failed = ((Operation.BASE_FEE_HISTORY, failure),)
        save_gas(connection, GasObservation(SIMULATED.network_id, NOW, failures=failed))

    words = words_of(open_page(Application(store, (SIMULATED,), None, lambda: NOW)))

    badges = re.findall(r"</span> ([A-Z][a-z]+)</span>", words.partition("lw-verdict")[0])
    assert badges[-3:] == ["Failing", "Busy", "Simulated"]


def test_filter_shows_only_the_networks_that_fail(store: Store) -> None:
    queries = Application(store, (SIMULATED, SILENT, FLAT), None, lambda: NOW)
    labels = [
        [
            button.label
            for button in visit("overview", queries, show=kind).button
            if button.label.startswith("Open")
        ]
        for kind in ("All", "Failing", "Stale", "Busy")
    ]

    assert labels[0][0] == "Open the chart of Linea"  # the worst first
    assert [len(each) for each in labels] == [3, 1, 1, 2]
    assert labels[1] == ["Open the chart of Linea"]


def test_name_of_a_network_is_inert_in_the_button_of_its_row(store: Store) -> None:
    named = replace(SIMULATED, name="**bold** [x](https://outside.invalid) $y$")

    page = open_page(Application(store, (named, SILENT), None, lambda: NOW))

    [label] = [each.label for each in page.button if "bold" in each.label]
    assert label.endswith(r"\*\*bold\*\* \[x\]\(https\:\/\/outside\.invalid\) \$y\$")


def test_last_look_is_kept_until_somebody_says_seen(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)
    before = str(int((NOW - timedelta(minutes=8)).timestamp()))

    page = visit("overview", queries, seen=before)
    asked = words_of(page)
    seen = page.button(key="seen-now").click().run()

    assert "Since 11:52:00 UTC, when you last looked: 2 new rejections." in asked
    assert "Since 12:00:00 UTC, when you last looked: 1 new rejection." in words_of(seen)
    assert seen.query_params["seen"] == str(int(NOW.timestamp()))


@pytest.mark.parametrize("written", ["-5", "1e9", "99999999999", "<b>"])
def test_wrong_last_look_in_the_address_is_none(store: Store, written: str) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    assert "Since 12:00:00 UTC, when you last" in words_of(visit("overview", queries, seen=written))


def test_wall_shows_every_network_and_only_how_to_leave(store: Store) -> None:
    queries = Application(store, (SIMULATED, SILENT, FLAT), None, lambda: NOW)

    page = visit("overview", queries, wall="1")

    words = words_of(page)
    assert [words.count(f"<h2>{each.name}</h2>") for each in queries.networks] == [1, 1, 1]
    assert words.index("<h2>Linea</h2>") < words.index("<h2>Devnet</h2>")
    assert "stale, 6 min ago" in words
    assert re.search(r'<h1 class="lw-wall-bad">3 need attention</h1>.*Monitoring stopped', words)
    assert "not asked" not in words
    assert [each.label for each in page.button] == ["Leave"]


def test_tile_of_the_wall_names_its_network_once(store: Store) -> None:
    row = NetworkRow(
        Application(store, (SIMULATED,), None, lambda: NOW).network_statuses()[0], UsualNow(), NOW
    )
    busy = Attention("Devnet busy:", "", Remedy.INCIDENT, SIMULATED)
    unwatched = Attention("Devnet not watched:", "", Remedy.INCIDENT, SIMULATED)

    assert "Devnet busy" not in tile(row, busy)
    assert "</span> Not watched</p>" in tile(row, unwatched)


def test_network_without_an_exclusion_endpoint_does_not_claim_a_source(empty_store: Store) -> None:
    profile = replace(SIMULATED, has_exclusion=False)
    queries = Application(empty_store, (profile,), None, lambda: NOW)

    for page in ("overview", "rejections"):
        words = words_of(visit(page, queries))

        assert "No exclusion endpoint is configured." in words
        assert "Source: reporting nodes." not in words
        assert "rack a transaction" not in words


def test_pages_name_the_sources_of_the_chosen_network_alone(store: Store) -> None:
    queries = Application(store, (SIMULATED, SILENT), None, lambda: NOW)

    for page in ("overview", "rejections"):
        assert "Source: reporting nodes." in words_of(visit(page, queries, network="Devnet"))
        assert "Sources: tracked transactions" in words_of(visit(page, queries))


def test_wall_knows_each_critical_incident_and_trouble_by_an_id_that_stays() -> None:
    one, other, third = an_id(1), an_id(2), an_id(3)

    def ids_of(*needed: Attention) -> list[str]:
        return [each["id"] for each in critical(needed)]

    def of(*ids: UUID) -> Attention:
        headline = f"Devnet: {len(ids)} rejections unassigned:"
        severity = Severity.CRITICAL
        return Attention(headline, "", Remedy.INCIDENT, SIMULATED, ids, severity=severity)

    stopped, dying, full, fuller = (
        Attention(headline, "", remedy, severity=Severity.CRITICAL)
        for headline, remedy in (
            ("Monitoring stopped: the worker is not running.", Remedy.WORKER),
            ("The role serve keeps dying.", Remedy.WORKER),
            ("Low disk space: 9.0 MB free on the disk of the store.", Remedy.STORAGE),
            ("Low disk space: 8.0 MB free on the disk of the store.", Remedy.STORAGE),
        )
    )

    assert ids_of(of(one, other)) == [*ids_of(of(one)), *ids_of(of(other))]
    assert set(ids_of(of(one, other, third))) - set(ids_of(of(one, other))) == {str(third)}
    assert ids_of(stopped) != ids_of(dying)
    assert ids_of(full) == ids_of(fuller)


@pytest.mark.parametrize(
    ("tiles", "widest", "lines"),
    [
        (0, None, []),
        (1, None, [1]),
        (3, None, [3]),
        (4, None, [2, 2]),
        (12, None, [4, 4, 4]),
        (7, 7, [7]),
        (9, 7, [4, 5]),
        (40, None, [8, 8, 8, 8, 8]),
    ],
)
def test_wall_splits_its_tiles_into_lines_of_one_length(
    tiles: int, widest: int | None, lines: list[int]
) -> None:
    assert [len(each) for each in split(range(tiles), widest)] == lines


def test_simulated_data_is_announced_once_and_marked_always(store: Store) -> None:
    page = open_page(Application(store, (SIMULATED,), None, lambda: NOW))
    again = words_of(page.run())

    assert "Simulated data.</strong>" not in again
    assert "Simulated data</span>" in again


def test_overview_before_the_first_poll_says_what_it_waits_for(empty_store: Store) -> None:
    words = words_of(open_page(Application(empty_store, (QUIET,), None, lambda: NOW)))

    assert "Unknown" in words
    assert "the first answer brings it" in words
    assert "No base fee seen in the last 1 h" in words
    assert "No rejection seen yet" in words
    assert "Simulated data." not in words


def test_network_that_never_answered_says_once_what_failed(empty_store: Store) -> None:
    failure = Failure(FailureKind.UNAVAILABLE, "The gas endpoint gave no answer within 5 s.")
    failures = ((Operation.SUGGESTED_GAS_FEES, failure),)
    asked_at = NOW - timedelta(minutes=1)
    with empty_store.write() as connection:
        save_gas(connection, GasObservation(QUIET.network_id, asked_at, failures=failures))

    queries = Application(empty_store, (QUIET,), None, lambda: NOW)
    words = words_of(visit_in(None, "overview", queries, {"attention-all": True}))

    assert "Quiet: gas API down 1 min, since 11:59:00 UTC." in words
    assert "has been seen yet: no answer since 11:59:00 UTC (1 min ago)." in words
    assert words.count("The gas endpoint gave no answer within 5 s.") == 1


def test_page_without_a_store_says_what_to_look_at(store: Store, tmp_path: Path) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)
    (tmp_path / "linewatch.sqlite").write_bytes(b"this is no database" * 300)
    for leftover in tmp_path.glob("linewatch.sqlite-*"):
        leftover.unlink()

    assert "The store cannot be read." in words_of(open_page(queries))


def test_warning_and_what_is_critical_have_their_own_signs(store: Store) -> None:
    queries = Application(store, (SIMULATED, SILENT, FLAT), None, lambda: NOW)
    page = visit("overview", queries)
    [line] = [each for each in page.expander if "attention" in each.label]
    words = words_of(visit_in(None, "overview", queries, {"attention-all": True}))

    many = r"\*\*3 need attention\*\*"
    assert re.match(rf"{many} · :color\[▲ Critical:\]\S* Monitoring stopped", line.label)
    assert re.search(r'lw-sign bad".*?Critical:</span> <strong>Monitoring stopped', words)
    assert re.search(r'lw-sign busy".*?Warning:</span> <strong>Linea: gas API down', words)
