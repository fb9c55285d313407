"""The audit log of a PostgreSQL store that is taken from Linewatch's own user."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from datetime import timedelta

import psycopg
import pytest
from psycopg import sql

from dashboard.domain.people.access import Action, Actor
from dashboard.errors import StoreError
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.maintenance.purge import apply_retention
from dashboard.store.maintenance.verify import unguarded_log
from dashboard.wiring.clock import utc_now
from tests.one_by_one import audited
from tests.postgresql import empty_database
from tests.processes import PROJECT

USER = "linewatch_product"
FOLDER = PROJECT / "deploy" / "postgresql"
DISABLE = "ALTER TABLE audit_log DISABLE TRIGGER ALL"
ATTACKS = (
    DISABLE,
    "UPDATE audit_log SET actor = 'nobody'",
    "DELETE FROM audit_log",
    "TRUNCATE audit_log",
    "DROP TABLE audit_log",
    "ALTER TABLE audit_log RENAME TO elsewhere",
    "DROP TRIGGER audit_log_unchanged ON audit_log",
    (
        "CREATE TRIGGER quiet BEFORE INSERT ON audit_log FOR EACH ROW "
        "EXECUTE FUNCTION audit_log_refuses()"
    ),
    (
        "CREATE OR REPLACE FUNCTION audit_log_refuses() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN RETURN OLD; END'"
    ),
    "DROP FUNCTION audit_log_refuses() CASCADE",
    "DROP SCHEMA public CASCADE",
    "SET ROLE linewatch_audit",
    "SET session_replication_role = replica",
    # What the trigger asks is answered by something that was put before it.
    (
        "CREATE TEMPORARY TABLE installation (audit_log_kept_since bigint); "
        "INSERT INTO pg_temp.installation VALUES (9000000000000000); DELETE FROM audit_log"
    ),
    (
        "CREATE SCHEMA mine; CREATE FUNCTION mine.clock_timestamp() RETURNS timestamptz "
        "LANGUAGE sql AS 'SELECT timestamptz ''2999-01-01'''; "
        "SET search_path = mine, public, pg_catalog; "
        "ALTER TABLE installation DISABLE TRIGGER ALL; "
        "UPDATE installation SET audit_log_kept_since = 9000000000000000; DELETE FROM audit_log"
    ),
)


@pytest.fixture
def database() -> Iterator[str]:
    """Yield a database as most people make one: it belongs to the user in store.url."""
    with empty_database() as url:
        with psycopg.connect(url, autocommit=True) as connection:
            if not connection.execute("SELECT FROM pg_roles WHERE rolname = %s", [USER]).rowcount:
                connection.execute(sql.SQL("CREATE ROLE {} LOGIN").format(sql.Identifier(USER)))
            owned = sql.SQL("ALTER DATABASE {} OWNER TO {}; GRANT ALL ON SCHEMA public TO {}")
            name, user = sql.Identifier(connection.info.dbname), sql.Identifier(USER)
            connection.execute(owned.format(name, user, user))
        yield url


@pytest.fixture
def store(database: str) -> Iterator[Store]:
    """Open a new store as Linewatch does."""
    own = as_product(database)
    migrate(own)
    with open_store(own) as opened:
        note(opened, timedelta(days=40))
        note(opened, timedelta())
        yield opened


def as_product(url: str) -> str:
    """Return the address with Linewatch's own user in it."""
    return url.replace("//postgres:", f"//{USER}:").replace("//postgres@", f"//{USER}@")


def note(store: Store, age: timedelta) -> None:
    with store.write() as connection:
        by = Actor("ann", utc_now() - age)
        note_action(connection, by, Action.TRACK, f"{age.days} days ago")


def run_file(url: str, name: str, kept: str = "") -> None:
    """Run a file of `deploy`, its first lines edited as they tell an operator to."""
    text = (FOLDER / name).read_text("utf-8")
    edited = text.replace("'linewatch';", f"'{USER}';").replace("kept = '';", f"kept = '{kept}';")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(edited.encode())


def is_refused(url: str, statements: str) -> bool:
    """Try something as Linewatch's user; return whether the database refused it."""
    try:
        with psycopg.connect(as_product(url)) as connection:
            connection.execute(statements.encode())
            connection.rollback()
    except psycopg.Error:
        return True
    return False


def subjects(store: Store) -> list[str]:
    return [each.subject for each in audited(store)]


@pytest.mark.parametrize("kept", ["", "30 days"])
def test_own_user_of_linewatch_adds_to_a_protected_log_and_does_nothing_else(
    database: str, store: Store, kept: str
) -> None:
    is_open_before = not is_refused(database, DISABLE)
    for _ in range(2):
        run_file(database, "protect-audit-log.sql", kept)

    got_through = [each for each in ATTACKS if not is_refused(database, each)]
    note(store, timedelta())

    assert is_open_before
    assert got_through == []
    assert subjects(store) == ["0 days ago", "0 days ago", "40 days ago"]
    with store.read() as connection:
        assert list(unguarded_log(connection)) == []


def test_retention_deletes_from_a_protected_log_what_is_old_enough(
    database: str, store: Store
) -> None:
    run_file(database, "protect-audit-log.sql", "30 days")
    deque(apply_retention(store, {"audit_log": utc_now() - timedelta(days=35)}), maxlen=0)
    kept = subjects(store)

    with pytest.raises(StoreError):
        deque(apply_retention(store, {"audit_log": utc_now() + timedelta(days=1)}), maxlen=0)

    assert kept == ["audit log", "0 days ago"]
    assert subjects(store) == kept


def test_log_that_was_given_back_can_be_set_aside_by_a_restore(database: str, store: Store) -> None:
    aside = "CREATE SCHEMA aside; ALTER TABLE audit_log SET SCHEMA aside"
    run_file(database, "protect-audit-log.sql")
    is_kept_in_place = is_refused(database, aside)
    run_file(database, "give-audit-log-back.sql")

    assert is_kept_in_place
    assert not is_refused(database, aside)
    assert subjects(store) == ["0 days ago", "40 days ago"]
