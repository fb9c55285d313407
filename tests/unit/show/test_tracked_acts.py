"""What people change on the page Tracked: taken back, signed, and saved with its network."""

from __future__ import annotations

from dashboard.application.application import Application
from dashboard.domain.tracking.verdict import Need
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.store.engine.engine import Store
from dashboard.store.tracking.groups import BulkChange, untrack_all
from tests.browser.seeded_store import SIMULATED, tx_hash
from tests.one_by_one import audited, newest_tracked
from tests.unit.show.page_runs import visit, words_of
from tests.unit.show.test_tracked_page import ADA, give, listed, press, with_name


def test_change_of_many_is_taken_back_unless_part_of_it_was_changed_since(
    store: Store, queries: Application
) -> None:
    page = with_name(visit("tracked", queries))
    press(page, "choose-all")
    [each for each in page.text_input if each.label == "Owner"][-1].input("Grace")
    press(page, "FormSubmitter:edit_many-")
    queries.tracked.change([tx_hash(9)], BulkChange(owner="Bob"), ADA)
    assert "1 transaction was changed again since" in words_of(press(page, "undo"))
    queries.tracked.change([tx_hash(9)], BulkChange(owner="Grace"), ADA)
    press(page.run(), "undo")

    with store.read() as connection:
        found = {each.tx_hash: each.remarks.owner for each in newest_tracked(connection, 9)}
        entry = next(iter(audit_entries(connection, AuditFilter(), 9)))
    assert set(found.values()) == {""}
    assert (entry.actor, entry.details["undone"]) == ("Ada", True)


def test_change_of_one_is_taken_back(store: Store, queries: Application) -> None:
    page = with_name(visit("tracked", queries))
    page.checkbox(key=f"choose-0-{tx_hash(9)}").check().run()
    [each for each in page.text_input if each.label == "Owner"][-1].input("Grace")
    press(page, f"FormSubmitter:edit-{tx_hash(9)}-Save")
    press(page, "undo")

    with store.read() as connection:
        assert {each.remarks.owner for each in newest_tracked(connection, 9)} == {""}
    assert "Undone" in words_of(page)


def test_undo_is_not_lost_with_a_run_that_was_cut_short(queries: Application) -> None:
    page = with_name(visit("tracked", queries))
    page.checkbox(key=f"choose-0-{tx_hash(9)}").check().run()
    [each for each in page.text_input if each.label == "Owner"][-1].input("Grace")
    press(page, f"FormSubmitter:edit-{tx_hash(9)}-Save")

    page.session_state["undo_pressed"] = True  # as the callback of a press left it
    assert "Undone" in words_of(page.run())


def test_saved_filter_keeps_the_network(queries: Application) -> None:
    page = with_name(visit("tracked", queries, record="Rejected", network="Devnet"))
    next(each for each in page.text_input if "seen by everybody" in each.label).input("Mine")
    press(page, "FormSubmitter:save_filter-Save")
    (saved,) = queries.tracked.saved_filters()
    assert saved.parameters["network"] == str(SIMULATED.network_id)

    other = visit("tracked", queries)
    press(other, "saved-0")
    assert other.selectbox(key="network").value == "Devnet"
    assert listed(other) == [str(tx_hash(2))]


def test_who_tracks_is_in_the_audit_log(store: Store, queries: Application) -> None:
    give(with_name(visit("tracked", queries)), str(tx_hash(50)))

    entry = audited(store)[0]
    assert (entry.actor, entry.action) == ("Ada", "track")


def test_choice_of_many_has_new_boxes_which_a_late_refresh_of_the_browser_does_not_know(
    queries: Application,
) -> None:
    page = visit("tracked", queries)
    before = {box.key for box in page.checkbox}
    page.checkbox(key=f"choose-0-{tx_hash(9)}").check().run()
    press(page, "choose-all")

    assert all(box.value and box.key not in before for box in page.checkbox)
    press(page.run(), "choose-all")
    assert not any(box.value for box in page.checkbox)


def test_counts_follow_each_write_of_the_pages(store: Store, queries: Application) -> None:
    before, needed = queries.tracked.counts(None), queries.tracked.needs(None)
    with store.write() as connection:
        untrack_all(connection, [tx_hash(2)])

    assert (before.total, needed[Need.REJECTED]) == (2, 1)
    assert queries.tracked.counts(None).total == 1
    assert queries.tracked.needs(None)[Need.REJECTED] == 0
