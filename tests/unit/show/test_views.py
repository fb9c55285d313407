"""Pages in each of their states, run by Streamlit without a browser."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.domain.observation import Failure, FailureKind, GasObservation, Operation
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.show import desk as desks
from dashboard.show.desk import Desk
from dashboard.show.networks import NetworkCard
from dashboard.store.engine import Store, open_store
from dashboard.store.migrate import migrate
from dashboard.store.observations import save_gas
from dashboard.store.rejections import save_polled
from tests.browser.seeded_store import FLAT, SILENT, SIMULATED, seed, tx_hash
from tests.builders import a_hash, a_record

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
SCRIPT = Path(desks.__file__).with_name("main.py")
QUIET = NetworkCard(
    NetworkId(7),
    "Quiet",
    is_simulated=False,
    gas_period=timedelta(seconds=4),
    threshold_period=timedelta(minutes=1),
)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with seed(tmp_path, NOW) as seeded:
        yield seeded


@pytest.fixture
def empty_store(tmp_path: Path) -> Iterator[Store]:
    url = f"sqlite:///{tmp_path / 'empty.sqlite'}"
    migrate(url)
    with open_store(url) as opened:
        yield opened


def open_page(desk: Desk, *hashes: str) -> AppTest:
    """Run the script as a visitor of Overview or, with hashes in the address, of Lookup."""
    desks.register(desk)
    page = AppTest.from_file(str(SCRIPT), default_timeout=20)
    if hashes:
        page.query_params["tx"] = list(hashes)
    return page.run()


def words_of(page: AppTest) -> str:
    """Return all the markup and code of a page that went well."""
    assert not page.exception
    return "\n".join(element.proto.body for element in page.get("html")) + "\n".join(
        block.value for block in page.code
    )


def test_overview_says_first_which_network_needs_a_look(store: Store) -> None:
    page = open_page(Desk(store, (SIMULATED, SILENT), None, lambda: NOW))

    words = words_of(page)
    assert "Stale: Linea. Busy: Devnet. As of 2026-11-20 12:00:00 UTC." in words
    assert "stale, 6 min ago" in words
    assert "Simulated data." in words


def test_script_of_all_pages_shows_none_of_its_own_remarks(store: Store) -> None:
    page = open_page(Desk(store, (SIMULATED,), None, lambda: NOW))

    assert [each.value for each in page.markdown] == []


def test_overview_shows_a_chart_for_each_network_that_has_fees(store: Store) -> None:
    page = open_page(Desk(store, (SIMULATED, SILENT), None, lambda: NOW))

    assert len(page.get("plotly_chart")) == 2


def test_overview_links_each_rejection_to_its_lookup(store: Store) -> None:
    page = open_page(Desk(store, (SIMULATED,), None, lambda: NOW))

    links = [link.proto.query_string for link in page.get("page_link")]
    assert f"tx={tx_hash(1)}" in links


def test_overview_flags_the_rejections_that_somebody_tracks(store: Store) -> None:
    desk = Desk(store, (SIMULATED,), None, lambda: NOW)
    before = words_of(open_page(desk)).count("Tracked")

    desk.track([tx_hash(1), tx_hash(2)], "", None)

    assert words_of(open_page(desk)).count("Tracked") > before


def test_overview_charts_the_fee_that_is_judged(store: Store) -> None:
    words = words_of(open_page(Desk(store, (FLAT,), None, lambda: NOW)))

    assert "So the medium suggested priority fee tells" in words
    assert "Medium priority fee, last 1 h" in words
    assert "Base fee, last 1 h" not in words


def test_newest_rejection_has_the_age_by_which_it_is_sorted(empty_store: Store) -> None:
    late = a_record(timestamp=NOW - timedelta(minutes=12, seconds=1))
    ahead = a_record(tx_hash=tx_hash(2), timestamp=NOW + timedelta(minutes=2))
    with empty_store.write() as connection:
        save_polled(connection, SIMULATED.network_id, late, NOW - timedelta(seconds=58))
        save_polled(connection, SIMULATED.network_id, ahead, NOW - timedelta(seconds=5))

    words = words_of(open_page(Desk(empty_store, (SIMULATED,), None, lambda: NOW)))

    said = re.findall(r"\d+ s ago|dated [^<]+", words)
    assert said == ["dated 2 min later", "5 s ago", "dated 11 min earlier", "58 s ago"]


def test_overview_without_networks_says_how_to_add_one(empty_store: Store) -> None:
    page = open_page(Desk(empty_store, (), None, lambda: NOW))

    assert "No network is configured" in words_of(page)


def test_overview_before_the_first_poll_says_what_it_waits_for(empty_store: Store) -> None:
    words = words_of(open_page(Desk(empty_store, (QUIET,), None, lambda: NOW)))

    assert "Not known yet: Quiet." in words
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

    words = words_of(open_page(Desk(empty_store, (QUIET,), None, lambda: NOW)))

    assert "No answer from: Quiet." in words
    assert "not seen yet: no answer since 11:59:00 UTC (1 min ago)." in words
    assert words.count("The gas endpoint gave no answer within 5 s.") == 1


def test_page_without_a_store_says_what_to_look_at(store: Store, tmp_path: Path) -> None:
    desk = Desk(store, (SIMULATED,), None, lambda: NOW)
    (tmp_path / "linewatch.sqlite").write_bytes(b"this is no database" * 300)
    for leftover in tmp_path.glob("linewatch.sqlite-*"):
        leftover.unlink()

    assert "The store cannot be read." in words_of(open_page(desk))


def test_address_with_a_hash_leads_to_its_lookup(store: Store) -> None:
    words = words_of(open_page(Desk(store, (SIMULATED,), None, lambda: NOW), str(tx_hash(2))))

    assert "2,402 lines in the prover module HUB" in words
    assert "Transaction line count for module HUB=2402 is above the limit 70" in words


def test_lookup_of_several_hashes_counts_their_verdicts(store: Store) -> None:
    page = open_page(Desk(store, (SIMULATED,), None, lambda: NOW), str(tx_hash(2)), str(tx_hash(9)))

    assert "2 transactions: 1 rejected; 1 no rejection on record." in words_of(page)


def test_lookup_names_a_hash_that_is_none(store: Store) -> None:
    page = open_page(Desk(store, (SIMULATED,), None, lambda: NOW), "0x1234")

    assert "has 4 hexadecimal digits; a transaction hash has 64" in words_of(page)


def test_lookup_asks_at_once_about_what_was_never_asked(store: Store) -> None:
    asked: list[TxHash] = []
    page = open_page(Desk(store, (SIMULATED,), recorder(asked), lambda: NOW), str(tx_hash(2)))

    page.text_area(key="paste_text").input(f"{tx_hash(2)}, {tx_hash(80)}")
    page.button[0].click().run()

    assert asked == [tx_hash(80)]
    assert page.query_params["tx"] == [str(tx_hash(2)), str(tx_hash(80))]


def test_link_to_a_hash_that_was_never_asked_asks_once(store: Store) -> None:
    asked: list[TxHash] = []
    desk = Desk(store, (SIMULATED,), recorder(asked), lambda: NOW)

    page = open_page(desk, str(tx_hash(2)), str(tx_hash(80))).run()

    assert asked == [tx_hash(80)]
    assert "Asked about 1 transaction just now: 0 answered." in words_of(page)


def test_live_question_without_an_answer_says_so(store: Store) -> None:
    asked: list[TxHash] = []
    page = open_page(Desk(store, (SIMULATED,), recorder(asked), lambda: NOW), str(tx_hash(2)))

    page.button(key="ask").click().run()

    assert asked == [tx_hash(2)]
    assert "Asked about 1 transaction just now: 0 answered." in words_of(page)


def test_lookup_of_more_than_an_address_holds_has_a_link(store: Store) -> None:
    asked: list[TxHash] = []
    desk = Desk(store, (SIMULATED,), recorder(asked), lambda: NOW)
    hashes = [a_hash(number) for number in range(1, 1271)]

    page = look_up(desk, "\n".join(map(str, hashes)))
    lookup_id = page.query_params["list"]

    assert asked == hashes
    assert "stands for all 1,270 transactions" in words_of(page)
    assert "1,270 transactions: 1,270 not checked yet." in words_of(reopened(desk, lookup_id))


def test_link_that_is_not_kept_any_more_says_so(store: Store) -> None:
    desk = Desk(store, (SIMULATED,), None, lambda: NOW)

    assert "This link leads to nothing." in words_of(reopened(desk, "0" * 32))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" \n ", "Nothing to look up."),
        ("\n".join(f"{number:064x}" for number in range(10_001)), "holds 10,001 transaction"),
        ("x" * 4_000_001, "has 4,000,001 characters"),
    ],
)
def test_lookup_of_nothing_or_too_much_says_so(store: Store, text: str, said: str) -> None:
    desk = Desk(store, (SIMULATED,), None, lambda: NOW)

    page = look_up(desk, text)

    assert said in words_of(page)
    assert "tx" not in page.query_params


def test_track_button_tracks_what_was_looked_up(store: Store) -> None:
    desk = Desk(store, (SIMULATED,), None, lambda: NOW)
    page = open_page(desk, str(tx_hash(80)))

    page.text_input[0].input("Case 9")
    next(button for button in page.button if button.label == "Track").click().run()

    assert "1 newly tracked." in words_of(page)
    assert desk.dossiers([tx_hash(80)])[0].is_tracked


def recorder(asked: list[TxHash]) -> Callable[[tuple[TxHash, ...], NetworkId | None], None]:
    """Return a live question that only writes down what it was asked."""
    return lambda hashes, _: asked.extend(hashes)


def look_up(desk: Desk, text: str) -> AppTest:
    """Paste a text on the page Lookup and press the button."""
    page = open_page(desk, str(tx_hash(2)))
    page.text_area(key="paste_text").input(text)
    return page.button[0].click().run()


def reopened(desk: Desk, lookup_id: str) -> AppTest:
    """Follow the link to a saved look-up."""
    desks.register(desk)
    script = "from dashboard.show.views import lookup\nlookup.page()"
    page = AppTest.from_string(script, default_timeout=20)
    page.query_params["list"] = lookup_id
    return page.run()
