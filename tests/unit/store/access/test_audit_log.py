"""The audit log: written with the act, and neither changed nor deleted by anybody."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from sqlalchemy import create_engine, text

from dashboard.domain.people.access import Action, Actor, AuditEntry, Detail, Role
from dashboard.domain.secret import Secret
from dashboard.errors import NotAllowed, StoreError
from dashboard.store.access.audit_log import (
    AuditFilter,
    allow_purge_before,
    audit_entries,
    count_entries,
    last_details,
    note_action,
)
from dashboard.store.alerts.notifications import link_key, make_link_key
from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.purge import apply_retention
from dashboard.store.maintenance.verify import unguarded_log
from tests.builders import A_MOMENT, seconds

BY_HAND = (
    "UPDATE audit_log SET actor = 'nobody'",
    "DELETE FROM audit_log",
    "DELETE FROM audit_log WHERE audit_id = 1",
)


def note(store: Store, number: int = 0, action: Action = Action.TRACK) -> None:
    """Write down one act, so many seconds after `A_MOMENT`."""
    with store.write() as connection:
        note_action(
            connection, Actor("ann", A_MOMENT + seconds(number)), action, f"subject {number}"
        )


def subjects(store: Store, wanted: AuditFilter | None = None) -> list[str]:
    """Return what was done to what, the latest first."""
    with store.read() as connection:
        return [each.subject for each in audit_entries(connection, wanted or AuditFilter())]


def by_hand(url: str, statement: str) -> None:
    """Do what somebody with a client of the database could do."""
    engine = create_engine(url.replace("postgresql:", "postgresql+psycopg:"))
    try:
        with engine.begin() as connection:
            connection.execute(text(statement))
    finally:
        engine.dispose()


def test_act_is_told_as_it_was_written_down(store: Store) -> None:
    hostile = "\x1b[31m\u202e\ud800 = \0"
    details: dict[str, Detail] = {
        "networks": [1, 2],
        "label": "a\\b",
        "rate": 0.5,
        "report": False,
        "methods": None,
    }
    with store.write() as connection:
        note_action(connection, Actor(hostile, A_MOMENT), Action.CREATE_KEY, hostile, details)

    with store.read() as connection:
        found = audit_entries(connection, AuditFilter())

    assert found == [AuditEntry(A_MOMENT, hostile, Action.CREATE_KEY, hostile, details)]


def test_act_that_failed_is_not_on_record(store: Store) -> None:
    def fail() -> None:
        with store.write() as connection:
            note_action(connection, Actor("ann", A_MOMENT), Action.TRACK, "it")
            raise StoreError("the act failed")

    with pytest.raises(StoreError):
        fail()

    assert subjects(store) == []


def test_acts_are_found_by_kind_and_time_the_latest_first(store: Store) -> None:
    for number in range(5):
        note(store, number, Action.EDIT_TRACKED if number == 2 else Action.TRACK)

    between = AuditFilter(since=A_MOMENT + seconds(1), until=A_MOMENT + seconds(3))
    assert subjects(store, between) == ["subject 3", "subject 2", "subject 1"]
    assert subjects(store, AuditFilter(Action.EDIT_TRACKED)) == ["subject 2"]


def test_log_goes_on_after_the_last_entry_that_was_shown(store: Store) -> None:
    for _ in range(3):
        note(store, 1)

    with store.read() as connection:
        last, *rest = audit_entries(connection, AuditFilter())
        found = audit_entries(connection, AuditFilter(), before=(last.at, last.audit_id))
    assert [each.audit_id for each in found] == [each.audit_id for each in rest] == [2, 1]


def test_acts_are_found_by_who_from_where_and_words(store: Store) -> None:
    ada = Actor("Ada", A_MOMENT, origin="192.0.2.1")
    bob = Actor("bob (token)", A_MOMENT + seconds(1), origin="2001:db8::1")
    with store.write() as connection:
        note_action(connection, ada, Action.CHANGE_ROLE, "Eve 100%", {"to": "viewer"})
        note_action(connection, bob, Action.TRACK, "a_b")

    for wanted, found in (
        (AuditFilter(actor="ADA"), ["Eve 100%"]),
        (AuditFilter(actor="(token)"), ["a_b"]),
        (AuditFilter(origin="2001:DB8"), ["a_b"]),
        (AuditFilter(words="0% VIEWER change-role"), ["Eve 100%"]),
        (AuditFilter(words="a_b"), ["a_b"]),
        (AuditFilter(words="a_b " * 5_000), ["a_b"]),
        (AuditFilter(words="_%"), []),
        (AuditFilter(words="viewer track"), []),
        (AuditFilter(Action.TRACK, actor="ada"), []),
    ):
        assert subjects(store, wanted) == found
        with store.read() as connection:
            assert count_entries(connection, wanted) == len(found)
    with store.read() as connection:
        second = audit_entries(connection, AuditFilter(), 1, 1)
    assert [each.subject for each in second] == ["Eve 100%"]


def test_last_act_of_a_kind_is_looked_for_among_the_latest(store: Store) -> None:
    with store.write() as connection:
        for at, told in ((A_MOMENT, "old"), (A_MOMENT + seconds(1), "new")):
            note_action(
                connection, Actor("worker", at), Action.CHANGE_RETENTION, "store", {"fees": told}
            )
        note_action(connection, Actor("ann", A_MOMENT + seconds(2)), Action.TRACK, "a hash")

    with store.read() as connection:
        assert last_details(connection, Action.CHANGE_RETENTION) == {"fees": "new"}
        assert last_details(connection, Action.TRACK) == {}
        assert last_details(connection, Action.CHANGE_RETENTION, among=1) is None


def test_log_is_neither_changed_nor_deleted_by_hand(store: Store, url: str) -> None:
    note(store)

    for statement in BY_HAND:
        with pytest.raises(Exception, match="the audit log only grows"):
            by_hand(url, statement)

    assert subjects(store) == ["subject 0"]


def test_row_cannot_be_replaced_on_sqlite(store: Store, url: str, database: str) -> None:
    note(store)
    words = "INSERT OR REPLACE" if database == "sqlite" else "INSERT"

    with pytest.raises(Exception, match=r"only grows|duplicate key"):
        by_hand(
            url,
            f"{words} INTO audit_log (audit_id, at, actor, action, subject) "
            "VALUES (1, 1, 'x', 'track', 'x')",
        )

    assert subjects(store) == ["subject 0"]


def test_log_cannot_be_emptied_on_postgresql(store: Store, url: str, database: str) -> None:
    note(store)
    statement = "TRUNCATE audit_log" if database == "postgresql" else "DELETE FROM audit_log"

    with pytest.raises(Exception, match="the audit log only grows"):
        by_hand(url, statement)


def test_housekeeping_forgets_what_was_let_go_and_that_is_on_record(store: Store) -> None:
    for number in range(4):
        note(store, number)

    for _ in range(2):
        deque(apply_retention(store, {"audit_log": A_MOMENT + seconds(2)}), maxlen=0)

    assert sorted(subjects(store)) == ["audit log", "subject 2", "subject 3"]
    with store.read() as connection:
        moment = int((A_MOMENT + seconds(2)).timestamp() * 1000)
        assert last_details(connection, Action.PURGE) == {"before": moment}


def test_purge_stays_on_record_whatever_the_installation_says(store: Store, url: str) -> None:
    note(store)
    by_hand(url, "UPDATE installation SET audit_log_kept_since = 9000000000000000")

    with pytest.raises(Exception, match="the audit log only grows"):
        by_hand(url, "DELETE FROM audit_log")
    by_hand(url, "DELETE FROM audit_log WHERE action <> 'purge'")

    assert subjects(store) == ["audit log"]


def test_trigger_that_is_gone_is_found(store: Store, url: str, database: str) -> None:
    on_postgresql = "ALTER TABLE audit_log DISABLE TRIGGER audit_log_unchanged"
    by_hand(url, on_postgresql if database == "postgresql" else "DROP TRIGGER audit_log_unchanged")

    with store.read() as connection:
        (finding,) = unguarded_log(connection)
    assert "the trigger audit_log_unchanged of the audit log is missing" in finding.what


def test_moment_before_which_the_log_may_go_never_goes_back(store: Store, url: str) -> None:
    with store.write() as connection:
        allow_purge_before(connection, A_MOMENT)
        assert not allow_purge_before(connection, A_MOMENT - timedelta(days=1))

    for back in ("NULL", "5"):
        with pytest.raises(Exception, match="never goes back"):
            by_hand(url, f"UPDATE installation SET audit_log_kept_since = {back}")  # noqa: S608 - two words of ours


@pytest.mark.parametrize("role", Role)
def test_act_is_refused_and_undone_where_the_role_does_not_allow_it(
    store: Store, role: Role
) -> None:
    done = []
    for number, action in enumerate(Action):
        by = Actor("ann", A_MOMENT + seconds(number), role)
        with suppress(NotAllowed), store.write() as connection:
            make_link_key(connection, bytes([number]) * 32)  # what the act changes
            note_action(connection, by, action, action.value)
            done.append(action)

    assert done == [each for each in Action if role.may(each)]
    assert subjects(store) == [each.value for each in reversed(done)]
    with store.read() as connection:
        assert link_key(connection) == bytes([list(Action).index(done[0])]) * 32


def test_secret_cannot_be_a_detail(store: Store) -> None:
    canary = Secret("canary-secret")

    details: Any = {"url": canary}  # what types would not allow

    with pytest.raises(TypeError), store.write() as connection:
        note_action(connection, Actor("ann", A_MOMENT), Action.TRACK, "it", details)

    assert subjects(store) == []
