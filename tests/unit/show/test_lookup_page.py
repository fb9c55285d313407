"""The page Lookup: what is pasted, linked or typed, and what is asked of the network."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.application import application
from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.application.lookup import MOST_FOUND
from dashboard.domain.health.observation import Cost, ExclusionAnswer, Spent
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import StatusClaim
from dashboard.domain.tracking.hashes_in_text import read_lookup
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import StoreUnavailable
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import AnswersNotSaved, UnsavedAnswers, record_lookup
from dashboard.store.tracking.transactions import track
from tests.browser.seeded_store import SIMULATED, tx_hash
from tests.builders import DISPUTE, a_disputed_answer, a_hash, a_record
from tests.saved_record import save_record
from tests.unit.show.page_runs import open_page, run_script, visit, visit_in, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def test_address_with_a_hash_leads_to_its_lookup(store: Store) -> None:
    words = words_of(
        open_page(Application(store, (SIMULATED,), None, lambda: NOW), str(tx_hash(2)))
    )

    assert "2,402 lines in the prover module HUB" in words
    assert "Transaction line count for module HUB=2402 is above the limit 70" in words


def test_answer_tells_what_endpoints_report_and_holds_a_long_status_whole(store: Store) -> None:
    status = f"SEE https://evil.example/{'x' * 60}"
    claim = ExclusionAnswer(a_hash(78), claim=StatusClaim(status), endpoint="second")
    with store.write() as connection:
        record_lookup(connection, SIMULATED.network_id, NOW, [a_disputed_answer(a_hash(77)), claim])
        save_record(connection, SIMULATED.network_id, a_record(tx_hash=a_hash(77)), NOW)
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    disputed, claimed = (words_of(open_page(queries, str(a_hash(each)))) for each in (77, 78))

    plain = re.sub("</?span[^>]*>", "", disputed)
    assert plain.count(DISPUTE) == 3  # the answer, its facts, the text to pass on
    assert "reported the status “SEE https[:]//evil[.]example/xxxxxxxxxxxxxxx…” since" in claimed
    assert status in claimed


def test_lookup_names_a_hash_that_is_none(store: Store) -> None:
    page = open_page(Application(store, (SIMULATED,), None, lambda: NOW), "0x1234")

    assert "has 4 hexadecimal digits; a transaction hash has 64" in words_of(page)


def test_greeting_around_a_hash_is_named_and_no_mistake(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    words = words_of(submit(open_page(queries, str(tx_hash(9))), f"Hi team,\n{tx_hash(2)}", ""))

    assert "1 line holds no transaction: “Hi team,”" in words
    assert 'role="alert"' not in words


def test_lookup_asks_at_once_about_what_was_never_asked(store: Store) -> None:
    asked: list[TxHash] = []
    page = open_page(
        Application(store, (SIMULATED,), recorder(asked), lambda: NOW), str(tx_hash(2))
    )

    submit(page, f"{tx_hash(9)}, {tx_hash(80)}")

    assert asked == [tx_hash(2), tx_hash(80)]
    assert page.query_params["tx"] == [str(tx_hash(9)), str(tx_hash(80))]


def test_link_asks_at_once_about_what_has_no_fresh_answer_and_only_once(store: Store) -> None:
    asked: list[TxHash] = []
    queries = Application(store, (SIMULATED,), recorder(asked), lambda: NOW)

    page = open_page(queries, *map(str, (tx_hash(2), tx_hash(4), tx_hash(9), tx_hash(80)))).run()

    assert asked == [tx_hash(2), tx_hash(80)]  # 4 is settled, 9 was answered a moment ago
    assert "Asked about 2 transactions at 12:00:00 UTC: 0 answered." in words_of(page)


def test_live_question_without_an_answer_says_so(store: Store) -> None:
    asked: list[TxHash] = []
    page = open_page(
        Application(store, (SIMULATED,), recorder(asked), lambda: NOW), str(tx_hash(2))
    )

    page.button(key="ask").click().run()

    assert asked == [tx_hash(2), tx_hash(2)]
    assert "Asked about 1 transaction at 12:00:00 UTC: 0 answered." in words_of(page)


def test_lookup_shows_what_was_answered_and_could_not_be_stored(store: Store) -> None:
    rejected, unreported = (tx_hash(80), tx_hash(81)), tx_hash(82)
    answers = [ExclusionAnswer(each, a_record(tx_hash=each)) for each in rejected]
    full = StoreUnavailable("The store cannot be used now: its disk is full")
    told = [*answers, ExclusionAnswer(unreported)]

    def look_up(hashes: tuple[TxHash, ...], _: NetworkId | None) -> None:
        assert hashes == (*rejected, unreported)
        raise AnswersNotSaved([UnsavedAnswers(SIMULATED.network_id, NOW, told, full)])

    queries = Application(store, (SIMULATED,), look_up, lambda: NOW)
    page = open_page(queries, *map(str, (*rejected, unreported)))

    for words in (words_of(page), words_of(page.run())):
        assert "3 transactions: 2 rejected; 1 no rejection on record." in words
        assert "Asked about 3 transactions at 12:00:00 UTC: 3 answered." in words
        assert words.count("The answers could not be stored.") == 1
        assert "its disk is full." in words


def test_lookup_of_more_than_an_address_holds_has_a_link(store: Store) -> None:
    asked: list[TxHash] = []
    queries = Application(store, (SIMULATED,), recorder(asked), lambda: NOW)
    hashes = [a_hash(number) for number in range(1, 1271)]

    page = look_up(queries, "\n".join(map(str, hashes)))
    lookup_id = page.query_params["list"]

    assert asked[1:] == hashes
    assert "1,270 transactions: 1,270 not checked yet." in words_of(opened(queries, list=lookup_id))


def test_question_that_ends_midway_counts_only_what_was_asked(store: Store) -> None:
    asked: list[TxHash] = []

    def look_up(hashes: tuple[TxHash, ...], _: NetworkId | None) -> None:
        if asked:
            raise StoreUnavailable("the disk is gone")
        asked.extend(hashes)

    queries = Application(store, (SIMULATED,), look_up, lambda: NOW)
    page = submit(opened(queries), "\n".join(str(a_hash(number)) for number in range(1, 502)))

    assert "The answers could not be stored." in words_of(page)
    assert "Asked about 500 transactions at 12:00:00 UTC: 0 answered." in words_of(page.run())


def test_link_to_many_asks_nobody_until_a_press_and_says_what_that_costs(store: Store) -> None:
    asked: list[TxHash] = []
    charged = replace(SIMULATED, cost=Cost({"": Spent(1, 80)}))
    queries = Application(store, (charged,), recorder(asked), lambda: NOW)
    unknown = [a_hash(number) for number in range(1, 61)]
    hashes = [tx_hash(2), *unknown, tx_hash(9)]

    by_list = opened(queries, list=queries.lookups.save(hashes, Actor("Ada", NOW)))
    by_search = opened(queries, find=" ".join(map(str, hashes)))

    assert asked == []
    for page in (by_list, by_search):
        assert page.button(key="ask").label == "Ask about 60 transactions"
        assert "Asking costs 4,800 credits: for each transaction 80 on Devnet." in words_of(page)
    by_list.button(key="ask").click().run()
    assert asked == unknown


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("0x02020202…020202", [2]),
        ("02020202", [2]),
        (f"0x02020202…020202\n{tx_hash(9)}", [9, 2]),
        ("case 17", [2, 9]),
        ("2,402 lines", [2]),
        ("0x" + "03" * 20, [3]),
    ],
)
def test_lookup_takes_what_pages_show(store: Store, text: str, found: list[int]) -> None:
    page = look_up(Application(store, (SIMULATED,), None, lambda: NOW), text)

    shown = page.query_params["tx"]
    assert (shown if isinstance(shown, list) else [shown]) == [str(tx_hash(each)) for each in found]


def test_lookup_names_what_nothing_is_found_of(store: Store) -> None:
    page = look_up(Application(store, (SIMULATED,), None, lambda: NOW), f"{tx_hash(9)}\n0xffff…00")

    assert "is part of a hash, and no known transaction has it" in words_of(page)


@pytest.mark.parametrize("sought", ["9999", "case 9999", "0x5d1f", "0x" + "12" * 20])
def test_search_without_a_result_is_not_told_to_be_a_hash(store: Store, sought: str) -> None:
    words = words_of(look_up(Application(store, (SIMULATED,), None, lambda: NOW), sought))

    assert f"{sought}</code> matches no known transaction; to ask" in words


def test_link_of_too_much_says_so(store: Store) -> None:
    page = open_page(Application(store, (SIMULATED,), None, lambda: NOW), "0x1." * 100_001)

    assert "the text has more than 100,000 hashes and other pieces" in words_of(page)


def test_link_that_is_not_kept_any_more_says_so(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    assert "This link has expired or is incomplete." in words_of(opened(queries, list="0" * 32))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (" \n ", "Nothing to look up."),
        ("\n".join(f"{number:064x}" for number in range(10_001)), "holds 10,001 transaction"),
        ("x" * 4_000_001, "has 4,000,001 characters"),
    ],
)
def test_lookup_of_nothing_or_too_much_says_so(store: Store, text: str, said: str) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    page = look_up(queries, text)

    assert said in words_of(page)
    assert "tx" not in page.query_params


def test_track_button_tracks_what_was_looked_up(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)
    page = opened(queries, tx=str(tx_hash(80)), case_id="ZD-9")

    next(each for each in page.text_input if each.label.startswith("Label")).input("Ada")
    next(button for button in page.button if button.label == "Track").click().run()

    assert "1 newly tracked." in words_of(page)
    assert queries.summaries([tx_hash(80)])[0].case_id == "ZD-9"
    rows = words_of(look_up(queries, f"{tx_hash(80)}\n{tx_hash(81)}"))
    assert rows.count("<small>Ada, case ZD-9</small>") == rows.count('title="Tracked"') == 1


def test_answer_stands_first_in_both_voices_with_the_case(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    page = submit(open_page(queries, str(tx_hash(9))), str(tx_hash(2)), "1742")
    customer = page.code[-1].value
    engineer = page.segmented_control(key="voice").set_value("Engineer").run().code[-1].value

    assert page.query_params["case_id"] == "1742"
    assert customer.startswith(f"Case: 1742\nTransaction: {tx_hash(2)}\n\nDevnet (simulated")
    assert (
        "Why it was rejected: It needs more proving work than one block may hold: 2,402 lines"
        in customer
    )
    assert "1. Split the work" in customer
    assert "eth_getTransactionCount" not in customer
    assert "Module HUB: 2,402 lines needed, 70 allowed, 34.31 times the limit" in engineer


def test_fields_are_empty_for_the_next_customer_unless_nothing_was_found(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    page = submit(open_page(queries, str(tx_hash(9))), f"Hello,\n{tx_hash(2)}", "1742")
    assert (page.text_area(key="paste_text").value, page.text_input(key="case_id_text").value) == (
        "",
        "",
    )

    assert submit(page, "0x12").text_area(key="paste_text").value == "0x12"


def test_rows_are_filtered_by_verdict_and_open_in_place(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)
    page = open_page(queries, *(str(tx_hash(number)) for number in (2, 4, 9, 80)))

    page.segmented_control(key="verdict").set_value("rejected").run()
    page.button(key=f"open-{tx_hash(2)}").click().run()

    assert [each.key for each in page.button if str(each.key).startswith("open-")] == [
        f"open-{tx_hash(2)}"
    ]
    assert page.query_params["open"] == str(tx_hash(2))
    assert "34.31× the limit" in words_of(page)
    assert f"Transaction: {tx_hash(2)}" in page.code[-1].value


@pytest.mark.parametrize(("typed", "found"), [("zd-17", [85]), ("1742", [86]), ("ZD", [85])])
def test_case_id_leads_to_its_transaction(store: Store, typed: str, found: list[int]) -> None:
    with store.write() as connection:
        for number, case_id in ((85, "ZD-1742"), (86, "1742")):
            wish = TrackRequest(tx_hash(number), (SIMULATED.network_id,), Remarks(case_id=case_id))
            track(connection, wish, NOW)
    queries = Application(store, (SIMULATED,), None, lambda: NOW)

    paste = queries.lookups.find(read_lookup(typed))

    assert paste.hashes == tuple(tx_hash(number) for number in found)


def test_label_of_more_transactions_than_are_found_says_so(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)
    hashes = [tx_hash(number) for number in range(100, 101 + MOST_FOUND)]
    queries.track(hashes[1:], Remarks(label="payroll"), queries.context.unnamed())
    whole = queries.lookups.find(read_lookup("payroll"))
    queries.track(hashes[:1], Remarks(label="payroll"), queries.context.unnamed())

    words = words_of(visit("lookup", queries, find="payroll"))

    assert (len(whole.hashes), whole.left_out) == (MOST_FOUND, "")
    assert "refers to more transactions than these" in words
    assert f"{MOST_FOUND} transactions: " in words


def test_search_in_the_header_leads_from_every_page_to_the_answer(store: Store) -> None:
    page = open_page(Application(store, (SIMULATED,), None, lambda: NOW))

    page.text_input(key="search_text").input("case 1742")
    found = page.button(key="search_go").click().run()

    assert found.query_params["tx"] == [str(tx_hash(2)), str(tx_hash(9))]
    assert "find" not in found.query_params
    assert "2 transactions: 1 rejected; 1 no rejection on record." in words_of(found)


def recorder(asked: list[TxHash]) -> Callable[[tuple[TxHash, ...], NetworkId | None], None]:
    """Return a live question that only writes down what it was asked."""
    return lambda hashes, _: asked.extend(hashes)


def look_up(queries: Application, text: str) -> AppTest:
    """Paste a text on the page Lookup and press the button."""
    return submit(open_page(queries, str(tx_hash(2))), text)


def submit(page: AppTest, text: str, case_id: str = "") -> AppTest:
    """Fill the fields in and press the button."""
    page.text_area(key="paste_text").input(text)
    page.text_input(key="case_id_text").input(case_id)
    return next(each for each in page.button if each.label == "Look up").click().run()


def opened(queries: Application, **address: str) -> AppTest:
    """Follow a link to the page Lookup."""
    application.register(queries)
    script = "from dashboard.show.views import lookup\nlookup.page()"
    return run_script(script, **address)


def test_one_transaction_is_shared_by_a_link_that_is_taken_back(store: Store) -> None:
    settings = PageSettings(public_url="https://watch.example")
    queries = Application(store, (SIMULATED,), None, lambda: NOW, settings=settings)
    page = open_page(queries, str(tx_hash(2)))

    page.button(key="share").click().run()
    [link] = queries.sharing.all(tx_hash(2))

    assert "https://watch.example/case/" in words_of(page)
    page.button(key=f"unshare-{link.link_id}").click().run()
    assert queries.sharing.all() == []
    assert "https://watch.example/case/" not in words_of(page)


def test_nothing_is_shared_if_nobody_said_where_the_pages_are(store: Store) -> None:
    page = open_page(Application(store, (SIMULATED,), None, lambda: NOW), str(tx_hash(2)))

    assert "public_url" in " ".join(each.value for each in page.markdown)


def test_what_was_rejected_is_silenced_by_its_label_on_its_network(store: Store) -> None:
    queries = Application(store, (SIMULATED,), None, lambda: NOW)
    queries.track([tx_hash(1)], Remarks(label="payroll"), Actor("Ada", NOW))
    key = str(tx_hash(1))
    known = {f"silencing-{key}": True, f"watching-{key}": True, "name_of_who_acts": "Ada"}

    page = visit_in(None, "lookup", queries, known, tx=key)
    what = page.radio(key=f"silence-what-{key}")
    page = what.set_value(len(what.options) - 1).run()
    words = words_of(page.button(key=f"silence-{key}-8 h").click().run())

    assert what.options[0].startswith("module ")
    assert "“label payroll on Devnet” is silenced until 20:00:00 UTC" in words
    [silence] = queries.silences.stored().unfinished
    assert queries.silences.scope_of(silence) == "label=payroll, network=Devnet"
    assert page.radio(key=f"watch-what-{key}").options == what.options
