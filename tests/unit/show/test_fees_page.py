"""The page Fees in each of its states, and the network chooser of every page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from uuid import uuid4

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.application.application import Application
from dashboard.application.time_ranges import TIME_RANGES
from dashboard.domain.fees.gas import FeeSeries, GasObservation
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.tracking.transaction_cost import CoinPrice
from dashboard.show.charts.fee_chart import drawing_of
from dashboard.store.alerts.incidents import insert_incident
from dashboard.store.engine.engine import Store
from dashboard.store.fees.import_history import import_fee_years
from dashboard.store.fees.save import save_gas
from dashboard.store.schema.columns import milliseconds_of
from tests.browser.seeded_store import SILENT, SIMULATED
from tests.builders import GWEI, a_suggestion, an_incident, suggested_gas_fees
from tests.unit.show.page_runs import visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
FLAT = replace(SILENT, network_id=NetworkId(8), name="Flat")


def see_flat(store: Store, *priority_fees: int) -> Application:
    """See a base fee of 7 wei with these medium priority fees, the last one now."""
    with store.write() as connection:
        for number, fee in enumerate(reversed(priority_fees)):
            at = NOW - number * timedelta(seconds=20)
            medium = a_suggestion(fee, fee + 7)
            fees = suggested_gas_fees(estimated_base_fee=Wei(7), medium=medium)
            level = Wei(7)
            seen = GasObservation(
                FLAT.network_id, at, fees, base_fee_percentile=level, busy_threshold=level
            )
            save_gas(connection, seen)
    return Application(store, (FLAT,), None, lambda: NOW)


def chart_count(page: AppTest) -> int:
    """Return how many charts a page shows."""
    return len(page.get("bidi_component"))


def test_page_says_what_to_pay_and_no_wait_that_is_only_configured(queries: Application) -> None:
    words = words_of(visit("fees", queries, network="Devnet"))

    assert "Maximum cost" in words
    assert "0.1 gwei of it priority fee" in words
    assert "wait" not in words
    assert "Base fee trend: up; priority fees: level." in words
    assert "Recent blocks" not in words


def test_page_says_what_the_chart_shows(queries: Application) -> None:
    words = words_of(visit("fees", queries, network="Devnet"))

    assert "Base fee, last 1 h" in words
    assert re.search(
        r"Busy for \d+% of the time that was watched \(92% of this range\), in \d spells\.", words
    )
    assert "1 gap (hatched): 5 min from 20 Nov 11:30 UTC." in words


def test_page_says_of_how_many_blocks_its_extremes_are(queries: Application, store: Store) -> None:
    fast = replace(SIMULATED, block_time=SIMULATED.gas_period / 2)

    assert "The share of blocks seen is not known" in words_of(
        visit("fees", queries, network="Devnet")
    )
    words = words_of(visit("fees", Application(store, (fast,), None, lambda: NOW)))
    assert re.search(r"\d+% of the blocks were seen; the others may lie above or below.", words)


def test_page_says_where_its_chart_begins_later_than_it_was_asked(queries: Application) -> None:
    words = words_of(visit("fees", queries, network="Linea", range="1 h"))

    shown = words.partition('<details class="lw-more"')[0]
    assert "No fee was seen before 20 Nov 2026 11:39 UTC (hatched)." in shown


def test_stale_fees_are_said_to_be_stale(queries: Application) -> None:
    words = words_of(visit("fees", queries, network="Linea"))

    assert "Linea stale." in words
    assert "Stale: suggested 6 min ago." in words
    assert words.count("lw-table-old") == 1


def test_several_networks_stand_side_by_side_until_one_is_chosen(queries: Application) -> None:
    several, one = visit("fees", queries), visit("fees", queries, network="Linea")

    assert chart_count(several) == 1
    assert "Fees vs. usual, last 1 h" in words_of(several)
    assert "For Devnet, Linea, it is the median of this time." in words_of(several)
    assert words_of(several).count("lw-compare is-stale") == 1
    assert "When is it cheaper?" in words_of(one)


def compared(page: AppTest) -> list[str]:
    """Return the names of the networks in the order of their rows."""
    return [each.label for each in page.button if str(each.key).startswith("choose-")]


def test_networks_are_sorted_by_the_column_that_is_pressed(
    queries: Application, store: Store
) -> None:
    see_a_month(store)
    page = visit("fees", queries)
    assert compared(page) == ["Devnet", "Linea"]  # nothing is usual on Linea yet: it comes last

    page.button(key="sort-state").click().run()
    assert compared(page) == ["Linea", "Devnet"]
    assert page.query_params["sort"] == "state"

    page.button(key="sort-state").click().run()
    assert compared(page) == ["Devnet", "Linea"]
    assert page.query_params["sort"] == "-state"
    for name in ("network", "fee", "transfer", "cheapest"):
        assert sorted(compared(visit("fees", queries, sort=name))) == ["Devnet", "Linea"]
    assert compared(visit("fees", queries, sort="nothing")) == ["Devnet", "Linea"]


def drawn_lines(page: AppTest) -> list[str]:
    """Return the names of the lines of the first chart of a page."""
    sent = json.loads(page.get("bidi_component")[0].proto.bytes)
    return [each["name"] for each in sent["figure"]["data"] if each["name"][0].isupper()]


def test_networks_to_draw_are_chosen_in_the_list_and_in_the_address(queries: Application) -> None:
    page = visit("fees", queries)
    assert drawn_lines(page) == ["Devnet", "Linea"]

    lines = page.button_group(key="lines-drawn")
    lines.unselect(str(SIMULATED.network_id)).run()

    assert drawn_lines(page) == ["Linea"]
    assert page.query_params["beside"] == str(SILENT.network_id)
    page.button_group(key="lines-drawn").unselect(str(SILENT.network_id)).run()
    assert "No network is chosen" in words_of(page)
    assert "beside" not in page.query_params
    linked = visit("fees", queries, beside=str(SIMULATED.network_id))
    assert drawn_lines(linked) == ["Devnet"]


def test_line_of_a_network_looks_the_same_whoever_else_is_drawn(queries: Application) -> None:
    both, one = visit("fees", queries), visit("fees", queries, beside=str(SILENT.network_id))

    looks = [
        json.loads(each.get("bidi_component")[0].proto.bytes)["figure"]["data"][-1]["line"]
        for each in (both, one)
    ]
    assert looks[0] == looks[1]


def test_side_by_side_has_a_table_too(queries: Application) -> None:
    page = visit("fees", queries, **{"as": "Table"})

    assert chart_count(page) == 0
    assert set(page.dataframe[0].value["Network"]) == {"Devnet", "Linea"}


def test_too_little_history_is_said_and_not_made_up(queries: Application) -> None:
    page = visit("fees", queries, network="Devnet")
    words = words_of(page)

    assert "Not enough history for a week yet" in words
    assert "once three days of every hour are known" in words
    assert chart_count(page) == 1


def see_a_month(store: Store, network_id: NetworkId = SIMULATED.network_id) -> None:
    """See a month of hours of a network that are cheap from 03:00 to 06:00 UTC."""
    hours = [NOW - timedelta(hours=each) for each in range(24 * 30, 2, -1)]
    with store.write() as connection:
        import_fee_years(
            connection,
            network_id,
            FeeSeries.ESTIMATED_BASE_FEE,
            np.array([milliseconds_of(at) for at in hours]),
            np.array([(10 if at.hour in {3, 4, 5} else 20) * GWEI for at in hours]),
        )


def test_page_says_when_it_is_cheaper(queries: Application, store: Store) -> None:
    see_a_month(store)

    page = visit("fees", queries, network="Devnet")
    words = words_of(page)

    assert chart_count(page) == 2
    assert "Usually below 10 gwei from 03:00 to 06:00 UTC (next in 15 h)" in words
    assert "higher than at this hour on " in words
    assert "of the 7 days before" in words


def test_fee_that_is_stale_is_not_compared_as_that_of_now(
    queries: Application, store: Store
) -> None:
    see_a_month(store, SILENT.network_id)

    words = words_of(visit("fees", queries, network="Linea"))

    assert "Usually below 10 gwei" in words
    assert "The fee now" not in words


def test_week_has_a_table_too(queries: Application, store: Store) -> None:
    see_a_month(store)

    page = visit("fees", queries, network="Devnet", **{"as": "Table"})

    fees, week = (each.value for each in page.dataframe)
    assert chart_count(page) == 0
    assert "Mean, gwei" in fees.columns
    assert week["Hour"].tolist()[:2] == ["00:00", "01:00"]
    assert week["Mon, gwei"].tolist()[2:4] == [20, 10]


def test_chart_counts_the_incidents_of_its_network(queries: Application, store: Store) -> None:
    with store.write() as connection:
        for network_id in (SIMULATED.network_id, SILENT.network_id):
            incident = an_incident(
                incident_id=uuid4(),
                opened_at=NOW - timedelta(minutes=9),
                group=(("network", str(network_id)),),
            )
            insert_incident(connection, incident)

    (status, _) = queries.network_statuses()
    view = queries.fees.view(status, TIME_RANGES[1])

    assert view is not None
    assert drawing_of(view).words.endswith("Incidents meanwhile: 1.")


def test_page_says_what_usual_actions_cost(store: Store) -> None:
    priced = replace(SIMULATED, coin="POL", coin_price=CoinPrice(3_000_000, "USD"))

    words = words_of(visit("fees", Application(store, (priced,), None, lambda: NOW)))

    assert "Transfer of the coin <small" in words
    assert re.search(r"\d+ µPOL <small>0\.00\d+ USD</small>", words)


def test_time_in_the_address_is_shown_in_finer_steps(queries: Application) -> None:
    address = {"from": "2026-11-20T11:40:00Z", "to": "2026-11-20T11:45:00Z"}

    page = visit("fees", queries, network="Devnet", **address)

    assert "Base fee, 20 Nov 2026 11:40:00 to 20 Nov 2026 11:45:00 UTC" in words_of(page)
    page.button(key="unzoom").click().run()
    assert "Base fee, last 1 h" in words_of(page)
    assert "from" not in page.query_params


@pytest.mark.parametrize(
    "edges", [("soon", "2026-11-20T11:45:00Z"), ("2026-11-20T11:45:00Z", "2026-11-20T11:45:01Z")]
)
def test_time_that_cannot_be_drawn_is_said_to_be_ignored(
    queries: Application, edges: tuple[str, str]
) -> None:
    page = visit("fees", queries, network="Devnet", **{"from": edges[0], "to": edges[1]})

    assert "Part of the address was ignored" in words_of(page)
    assert "Base fee, last 1 h" in words_of(page)


def test_unknown_network_in_the_address_shows_every_network(queries: Application) -> None:
    page = visit("fees", queries, network="Nowhere")

    assert not page.exception
    assert "Fees vs. usual" in words_of(page)


def test_networks_of_the_same_name_are_told_apart_by_id(store: Store) -> None:
    twin = replace(SILENT, network_id=NetworkId(5))
    page = visit("fees", Application(store, (SILENT, twin), None, lambda: NOW))

    assert page.selectbox[0].options == ["All networks", "Linea (59144)", "Linea (5)"]


def test_single_network_leaves_nothing_to_choose(store: Store) -> None:
    page = visit("fees", Application(store, (SIMULATED,), None, lambda: NOW))

    assert len(page.selectbox) == 0
    assert chart_count(page) == 1


def test_length_with_nothing_in_it_says_where_to_look(store: Store) -> None:
    later = Application(store, (SILENT,), None, lambda: NOW + timedelta(hours=5))

    words = words_of(visit("fees", later, range="10 min"))

    assert "No base fee seen in the last 10 min" in words
    assert "look at Health" in words


def test_flat_chain_is_told_by_its_priority_fee(store: Store) -> None:
    queries = see_flat(store, *[GWEI] * 30, 3 * GWEI)

    words = words_of(visit("fees", queries))

    assert "The base fee never moves here: 7 wei." in words
    assert "3 gwei is above 1 gwei, the 90th percentile of its last 24 h." in words
    assert "Priority fee, last 1 h" in words
    assert "Flat is busy." in words
    assert "Flat fee" in words
    assert "The busy time is not known: the network was not watched." in words


def test_flat_chain_that_is_calm_is_called_calm(store: Store) -> None:
    queries = see_flat(store, *[GWEI] * 30)

    words = words_of(visit("fees", queries))

    assert "1 gwei is not above 1 gwei" in words
    assert "Flat is calm." in words


def test_network_without_a_gas_source_says_so(store: Store) -> None:
    mute = replace(SILENT, has_gas=False)

    words = words_of(visit("fees", Application(store, (mute,), None, lambda: NOW)))

    assert "No gas API and no node is configured" in words
