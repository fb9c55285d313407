"""The page Tracked: adding, finding, verdicts, and what it says of lines it cannot use."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from streamlit.testing.v1 import AppTest

from dashboard.application.application import Application
from dashboard.domain.people.access import Actor
from dashboard.domain.tracking.track_file import (
    TrackRequest,
    read_track_file,
    write_track_csv,
    write_track_json,
)
from dashboard.domain.tracking.verdict import Need
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.groups import BulkChange
from dashboard.store.tracking.search import TrackedFilter
from dashboard.store.tracking.transactions import track
from tests.browser.seeded_store import HOSTILE, SILENT, SIMULATED, tx_hash
from tests.builders import a_hash, an_address
from tests.one_by_one import newest_tracked
from tests.unit.show.page_runs import visit, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
ADA = Actor("Ada", NOW)


def give(page: AppTest, text: str) -> AppTest:
    """Paste a list and press Track."""
    page.text_area(key="track_text").input(text)
    return next(button for button in page.button if button.label == "Track").click().run()


def test_page_says_how_many_need_a_look(queries: Application) -> None:
    words = words_of(visit("tracked", queries))

    assert "2 transactions: 1 rejected.</p>" in words
    assert 'title="2026-11-20 12:00:00 UTC" class="lw-updated"' in words
    assert "2,402 lines in the prover module HUB" in words
    assert "<span>HUB over limit</span>" in words
    assert ">Owner<" not in words  # no column is empty
    assert "No rejection on record" in words
    assert "Case 1742" in words


def test_empty_page_says_how_to_begin(empty_store: Store) -> None:
    words = words_of(visit("tracked", Application(empty_store, (SIMULATED,), None, lambda: NOW)))

    assert "Nothing is tracked yet" in words
    assert "Paste a transaction hash, or choose a CSV or JSON file." in words


def test_pasted_hashes_are_tracked_with_a_report_of_each_line(queries: Application) -> None:
    page = visit("tracked", queries, network="Devnet")

    give(page, f"{tx_hash(50)}\n{tx_hash(2)}\n0x12\n{tx_hash(50)}")

    words = words_of(page)
    assert "newly tracked.</strong> Rejections appear here; the rules say who is notified" in words
    assert "1 tracked already." in words
    assert "has 2 hexadecimal digits" in words
    assert "is on an earlier line too" in words
    assert queries.summaries([tx_hash(50)])[0].is_tracked


def test_hostile_line_is_told_and_inert(queries: Application) -> None:
    words = words_of(give(visit("tracked", queries), HOSTILE.replace("\r\n", " ")))

    assert "holds no transaction hash" in words
    assert "<script" not in words


def test_paste_takes_label_and_time_for_all(store: Store, queries: Application) -> None:
    page = visit("tracked", queries)
    page.text_input[0].input("Case 9")
    give(page, f"{tx_hash(51)} {tx_hash(52)}")

    with store.read() as connection:
        labels = {each.tx_hash: each.remarks.label for each in newest_tracked(connection, 10)}
    assert labels[tx_hash(51)] == labels[tx_hash(52)] == "Case 9"


def test_list_without_hashes_is_refused(queries: Application) -> None:
    assert "Nothing to track." in words_of(give(visit("tracked", queries), " \n"))


def test_chosen_network_is_the_only_one_watched(store: Store, queries: Application) -> None:
    give(visit("tracked", queries, network="Devnet"), str(tx_hash(53)))

    with store.read() as connection:
        newest = newest_tracked(connection, 10)
    (entry,) = [each for each in newest if each.tx_hash == tx_hash(53)]
    assert entry.network_ids == (SIMULATED.network_id,)


def listed(page: AppTest) -> list[str]:
    """Return the hashes of the rows, by the boxes that choose them."""
    keys = [str(box.key) for box in page.checkbox]
    return [key.rpartition("-")[2] for key in keys if key.startswith("choose-")]


@pytest.mark.parametrize(
    ("address", "shown", "hidden"),
    [
        ({"record": "Rejected"}, tx_hash(2), tx_hash(9)),
        ({"record": "No record"}, tx_hash(9), tx_hash(2)),
        ({"tracked_search": str(tx_hash(9))}, tx_hash(9), tx_hash(2)),
        ({"tracked_search": "0x09090909…090909"}, tx_hash(9), tx_hash(2)),
        ({"tracked_search": "09090909"}, tx_hash(9), tx_hash(2)),
        ({"tracked_search": f"https://explorer.example/tx/{tx_hash(9)}"}, tx_hash(9), tx_hash(2)),
        ({"tracked_search": "prover module HUB"}, tx_hash(2), tx_hash(9)),
        ({"tracked_search": "0x" + "02" * 20}, tx_hash(2), tx_hash(9)),
        ({"tracked_search": "DEVNET"}, tx_hash(9), tx_hash(10)),
        ({"tag": "#Late"}, tx_hash(9), tx_hash(2)),
    ],
)
def test_filters_of_the_address_are_kept(
    queries: Application, address: dict[str, str], shown: object, hidden: object
) -> None:
    queries.tracked.change([tx_hash(9)], BulkChange(with_tags=frozenset({"late", "a"})), ADA)
    page = visit("tracked", queries, **address)

    assert str(shown) in listed(page)
    assert str(hidden) not in listed(page)


def test_filters_that_fit_nothing_say_so(queries: Application) -> None:
    queries.tracked.change([tx_hash(9)], BulkChange(with_tags=frozenset({"late", "a"})), ADA)

    for address in ({"record": "No answer"}, {"tag": "late a"}, {"tag": "<b>"}):
        assert "No transaction matches these filters" in words_of(
            visit("tracked", queries, **address)
        )


def test_many_have_pages(store: Store, queries: Application) -> None:
    with store.write() as connection:
        for number in range(40):
            request = TrackRequest(a_hash(number), (SIMULATED.network_id,))
            track(connection, request, NOW - timedelta(days=1))

    page = with_name(visit("tracked", queries))
    first = listed(page)
    assert len(first) == 20
    press(page, "choose-all").checkbox(key="choose-all-that-fit").check().run()
    [each for each in page.text_input if each.label == "Owner"][-1].input("Grace")
    assert "42 transactions are changed" in words_of(press(page, "FormSubmitter:edit_many-"))
    second = listed(page.button(key="older").click().run())
    third = listed(page.button(key="older").click().run())
    assert len({*first, *second, *third}) == len([*first, *second, *third]) == 42  # each once
    assert listed(page.button(key="newer").click().run()) == second
    page.button(key="older").click().run()
    assert len(listed(page.button(key="latest").click().run())) == 20


def test_transaction_is_corrected_and_stopped(queries: Application) -> None:
    assert queries.tracked.edit(tx_hash(9), {"label": "Case 1", "note": "Second try"}, ADA)
    assert queries.tracked.edit(tx_hash(9), {"owner": "Bob"}, ADA)
    assert queries.tracked.stop([tx_hash(2)], ADA) == 1
    assert queries.tracked.stop([tx_hash(2)], ADA) == 0

    words = words_of(visit("tracked", queries))
    assert "1 transaction: none rejected" in words
    assert "Case 1" in words
    assert "Second try" in words


def test_file_of_the_wrong_form_is_named(queries: Application) -> None:
    page = visit("tracked", queries)

    next(
        button
        for button in page.button
        if button.label == "Track" and button.form_id == ("track_file")
    ).click().run()

    assert "No file was chosen." in words_of(page)


def test_list_without_a_usable_line_tracks_nothing_and_says_so(queries: Application) -> None:
    words = words_of(give(visit("tracked", queries), "0x12\nhello"))

    assert "Nothing was tracked." in words
    assert "mailed" not in words


def test_list_of_what_is_tracked_already_says_so(queries: Application) -> None:
    words = words_of(give(visit("tracked", queries, network="Devnet"), str(tx_hash(9))))

    assert "Nothing new:</strong> it was tracked already." in words


@pytest.mark.parametrize(
    ("octets", "said"),
    [
        (b"", "The file is empty."),
        ("Zürich".encode("cp1252"), "save it as “CSV UTF-8”"),
        (f"hash,when\n{tx_hash(61)},x".encode("utf-16"), "“when”. Known are tx_hash"),
        (f"hash,time\n{tx_hash(61)},05/06/2026 9:00".encode(), "has two meanings"),
    ],
)
def test_file_is_read_as_far_as_it_can_be(queries: Application, octets: bytes, said: str) -> None:
    page = visit("tracked", queries)

    page.file_uploader[0].set_value(("list.csv", octets, "text/csv"))
    words = words_of(page.button(key="FormSubmitter:track_file-Track").click().run())

    assert said in words
    assert queries.summaries([tx_hash(61)])[0].is_tracked == (
        b"h\0a" in octets or b"hash" in octets
    )


def watch_sender(page: AppTest, address: str, label: str = "") -> str:
    """Fill the form for senders, press Watch, and return what the page says."""
    page.text_input(key="sender_address").input(address)
    page.text_input(key="sender_label").input(label)
    button = next(button for button in page.button if button.label == "Watch")
    return words_of(button.click().run())


def test_sender_is_watched_and_taken_away_again(queries: Application) -> None:
    page = visit("tracked", queries)

    assert "is watched now" in watch_sender(page, f" {an_address(7)} ", "<b>bot</b>")
    assert "was watched already" in watch_sender(page, str(an_address(7)))
    assert "&lt;b&gt;bot&lt;/b&gt;" in words_of(page.run())
    page.button(key=f"unwatch-{an_address(7)}").click().run()
    assert not page.exception
    assert queries.senders.watched() == ()


def test_address_that_is_none_is_told(queries: Application) -> None:
    words = watch_sender(visit("tracked", queries), "0x12")

    assert "Nobody was added." in words
    assert queries.senders.watched() == ()


def test_senders_are_not_offered_where_only_hashes_can_be_asked(store: Store) -> None:
    page = visit("tracked", Application(store, (SILENT,), None, lambda: NOW))

    assert [each.label for each in page.button if each.label == "Watch"] == []


def with_name(page: AppTest) -> AppTest:
    """Say who acts."""
    page.text_input(key="who_acts-0").input("Ada")
    return page


def press(page: AppTest, key: str) -> AppTest:
    """Press the button whose key begins so."""
    button = next(each for each in page.button if each.key and each.key.startswith(key))
    return button.click().run()


def test_what_needs_somebody_is_first_and_leads_to_all_of_it(queries: Application) -> None:
    page = visit("tracked", queries)
    assert listed(page) == [str(tx_hash(2)), str(tx_hash(9))]
    assert words_of(page).count("is-needed") == 1
    assert queries.tracked.needs(None) == {Need.REJECTED: 1, Need.UNANSWERED: 0, Need.ENDING: 0}

    press(page, "need-REJECTED")
    assert listed(page) == [str(tx_hash(2))]
    assert "is-needed" not in words_of(page)
    press(page, "chip-Needs attention")
    assert len(listed(page)) == 2


def test_all_without_an_answer_for_ten_minutes_are_marked(
    store: Store, queries: Application
) -> None:
    with store.write() as connection:
        for number in range(60, 68):
            age = timedelta(minutes=11 if number < 67 else 9)
            track(connection, TrackRequest(tx_hash(number), (SIMULATED.network_id,)), NOW - age)

    words = words_of(visit("tracked", queries))

    assert queries.tracked.needs(None)[Need.UNANSWERED] == 7
    assert words.count("is-needed") == 8  # seven, and the rejected one


def test_chosen_transactions_are_changed_at_once(store: Store, queries: Application) -> None:
    page = with_name(visit("tracked", queries))
    press(page, "choose-all")
    fields = {each.label: each for each in page.text_input}
    fields["Owner"].input("Grace")
    fields["Add tags"].input("vip #Late")
    press(page, "FormSubmitter:edit_many-")

    assert "2 transactions are changed" in words_of(page)
    with store.read() as connection:
        found = newest_tracked(connection, 9)
        entry = next(iter(audit_entries(connection, AuditFilter(), 9)))
    assert {(each.remarks.owner, each.remarks.tags, each.remarks.label) for each in found} == {
        ("Grace", "#late #vip", "Case 1742")
    }
    assert (entry.actor, entry.subject) == ("Ada", "2 transactions")
    assert entry.details["owner"] == "Grace"


def test_all_that_fit_a_filter_are_changed_and_nobody_else(
    store: Store, queries: Application
) -> None:
    page = with_name(visit("tracked", queries, record="Rejected"))
    [each for each in page.text_input if each.label == "Case id"][-1].input("17")
    press(page, "FormSubmitter:edit_many-")

    with store.read() as connection:
        found = {each.tx_hash: each.remarks.case_id for each in newest_tracked(connection, 9)}
    assert found == {tx_hash(2): "17", tx_hash(9): ""}


def test_nobody_changes_anything_without_a_name(queries: Application) -> None:
    page = visit("tracked", queries, record="Rejected")

    assert "Fill in “Your name” first" in words_of(press(page, "stop-tracking"))
    assert queries.tracked.counts(None).total == 2


def test_one_chosen_transaction_is_edited_in_full_and_another_stopped(
    store: Store, queries: Application
) -> None:
    page = with_name(visit("tracked", queries))
    page.checkbox(key=f"choose-0-{tx_hash(9)}").check().run()
    tags = [each for each in page.text_input if each.label == "Tags"]
    tags[-1].input("a!b")
    assert "is not a tag" in words_of(press(page, f"FormSubmitter:edit-{tx_hash(9)}-Save"))
    tags = [each for each in page.text_input if each.label == "Tags"]
    tags[-1].input("own")
    press(page, f"FormSubmitter:edit-{tx_hash(9)}-Save")
    with store.read() as connection:
        found = {each.tx_hash: each.remarks.tags for each in newest_tracked(connection, 9)}
    assert found == {tx_hash(2): "", tx_hash(9): "#own"}

    page.checkbox(key=f"choose-1-{tx_hash(2)}").check().run()
    press(page, "stop-tracking")
    assert listed(page) == [str(tx_hash(9))]
    assert not [each for each in page.button if "stop-tracking" in str(each.key)]  # a second click


def test_filter_is_saved_for_everybody_applied_and_removed(queries: Application) -> None:
    page = with_name(visit("tracked", queries, record="Rejected", label="Case 1742"))
    next(each for each in page.text_input if "seen by everybody" in each.label).input("Mine *x*")
    press(page, "FormSubmitter:save_filter-Save")
    (saved,) = queries.tracked.saved_filters()
    assert dict(saved.parameters) == {"record": "Rejected", "label": "Case 1742"}
    assert (saved.name, saved.saved_by) == ("Mine *x*", "Ada")

    other = with_name(visit("tracked", queries))
    press(other, "saved-0")
    assert listed(other) == [str(tx_hash(2))]
    press(other, "FormSubmitter:remove_filter-Remove")
    assert queries.tracked.saved_filters() == ()


def test_groups_say_that_they_count_more_than_the_filters_and_the_network(
    queries: Application,
) -> None:
    said = "These are counts of all networks, without the filters."

    assert said not in words_of(visit("tracked", queries, group="Case id"))
    assert said in words_of(visit("tracked", queries, group="Case id", network="Devnet"))
    assert said in words_of(visit("tracked", queries, group="Case id", record="Rejected"))


def test_groups_lead_to_their_transactions(queries: Application) -> None:
    queries.tracked.change([tx_hash(9)], BulkChange(case_id="<b>9</b>"), ADA)
    page = visit("tracked", queries, group="Case id")
    assert listed(page) == []

    press(page, "group-CASE_ID-0")
    assert listed(page) == [str(tx_hash(9))]


def test_files_are_tracked_again_without_loss(queries: Application, empty_store: Store) -> None:
    change = BulkChange("=1+1", "<b>", "'17", "Ada", frozenset({"vip"}))
    queries.tracked.change([tx_hash(2), tx_hash(9)], change, ADA)
    files = [
        write([each.filed for each in queries.tracked.export(TrackedFilter(), 9)])
        for write in (write_track_csv, write_track_json)
    ]

    for text in files:
        other = Application(empty_store, (SIMULATED, SILENT), None, lambda: NOW)
        read = read_track_file(text, NOW)
        assert [each.remark for each in read.transactions] == ["", ""]
        other.tracked.track(read.transactions, (SILENT.network_id,), other.context.unnamed())
        again = other.tracked.export(TrackedFilter(), 9)
        before = queries.tracked.export(TrackedFilter(), 9)
        assert {each.filed for each in again} == {each.filed for each in before}
        other.tracked.stop([each.tx_hash for each in again], ADA)
