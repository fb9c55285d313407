"""A store is upgraded by the release after this one, and refused where that cannot be done."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import Connection, text

from dashboard.domain.people.access import Actor
from dashboard.errors import SchemaMismatch
from dashboard.poll.lease import Lease, LeaseLost
from dashboard.store.engine.database import database_at
from dashboard.store.engine.engine import open_store
from dashboard.store.engine.leases import WORKER_LEASE
from dashboard.store.maintenance.backup import back_up, open_backup
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.maintenance.move import move
from dashboard.store.maintenance.restore import restore
from dashboard.store.maintenance.verify import count_rows, verify
from dashboard.store.schema import REVISION, REVISIONS
from tests.builders import A_MOMENT
from tests.databases import set_schema
from tests.installation import command, new_installation
from tests.next_release import NEXT_REVISION, make_next_release
from tests.processes import finished
from tests.unit.store.filled_store import live

BEFORE_RELEASE = ("0001", "0023")
A_LONG_TIME = timedelta(hours=1)


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the next release."""
    return make_next_release(tmp_path_factory.mktemp("next") / "release")


def run(release: Path, home: Path, url: str, *arguments: str) -> str:
    """Run a command of a release and return what it prints."""
    variables = new_installation(home, LINEWATCH_STORE_URL=url).environment()
    done = finished(command(*arguments), cwd=release, env=variables)
    assert done.returncode == 0, done.stderr
    return done.stdout


def fill(url: str) -> dict[str, int]:
    """Let something of every kind happen; return how many rows each table has then."""
    live(url)
    with open_store(url) as store, store.read() as connection:
        return count_rows(connection)


def schemas_named(connection: Connection) -> list[object]:
    """Return what the audit log says about migrations."""
    query = text("SELECT details FROM audit_log WHERE action = 'migrate'")
    details = connection.scalars(query).all()
    return [json.loads(each) if isinstance(each, str) else each for each in details]


def test_next_release_upgrades_a_store_and_this_one_neither_opens_it_nor_works_on_it_then(
    url: str, release: Path, tmp_path: Path, database: str
) -> None:
    before = fill(url)
    with open_store(url) as store:
        lease = Lease(store, WORKER_LEASE, "worker 1", A_LONG_TIME, timedelta)
        term = lease.acquire()
        assert term is not None

        said = run(release, tmp_path / "home", url, "migrate")

        with pytest.raises(LeaseLost), store.write() as connection:
            term.check(connection)
        with pytest.raises(SchemaMismatch, match=rf"{NEXT_REVISION}, .*{REVISION}: upgrade Line"):
            lease.acquire()
    with database_at(url).exclusive() as connection:
        assert list(verify(connection)) == []
        assert count_rows(connection) == before | {"audit_log": before["audit_log"] + 1}
        assert schemas_named(connection) == [{"from": REVISION, "to": NEXT_REVISION}]
    if database == "sqlite":
        copy = tmp_path / f"linewatch.db.schema-{REVISION}"
        assert str(copy) in said
        with open_backup(copy) as connection:
            assert count_rows(connection) == before
    for use in (open_store, migrate):
        with pytest.raises(SchemaMismatch, match=rf"{NEXT_REVISION}, .*{REVISION}: upgrade Line"):
            use(url)


@pytest.mark.parametrize("database", ["sqlite", pytest.param("postgresql", marks=pytest.mark.full)])
def test_next_release_restores_a_backup_of_this_one_which_goes_back_to_it_in_the_same_way(
    url: str, release: Path, tmp_path: Path
) -> None:
    before = fill(url)
    with open_store(url) as store:
        backup = back_up(store, tmp_path / "backup.sqlite").path

    run(release, tmp_path / "home", url, "restore", str(backup))

    with database_at(url).exclusive() as connection:
        assert list(verify(connection)) == []
        assert count_rows(connection)["rejections"] == before["rejections"]

    restore(url, backup, Actor("ann", A_MOMENT), tmp_path)

    with open_store(url) as store, store.read() as connection:
        assert list(verify(connection)) == []
        assert count_rows(connection) == before | {"audit_log": before["audit_log"] + 1}


def test_store_of_an_older_release_is_neither_used_nor_moved_before_it_is_upgraded(
    url: str, tmp_path: Path
) -> None:
    set_schema(url, REVISIONS[0])

    with pytest.raises(SchemaMismatch, match=f"schema {REVISIONS[0]}, .*: run `linewatch migrate`"):
        open_store(url)
    with pytest.raises(SchemaMismatch, match=f"schema {REVISIONS[0]}: run `linewatch migrate`"):
        move(url, f"sqlite:///{tmp_path}/target.sqlite", Actor("ann", A_MOMENT))


@pytest.mark.parametrize("revision", BEFORE_RELEASE)
def test_schema_from_before_the_first_release_is_refused_with_the_remedy(
    url: str, revision: str
) -> None:
    set_schema(url, revision)

    for use in (open_store, migrate):
        with pytest.raises(
            SchemaMismatch,
            match=rf"schema {revision}, .* older than the first release \({REVISIONS[0]}\) .* "
            "put it aside, and run `linewatch migrate` for a new one",
        ):
            use(url)


@pytest.mark.parametrize("database", ["sqlite"])
@pytest.mark.parametrize("revision", [*BEFORE_RELEASE, NEXT_REVISION])
def test_backup_of_an_unknown_schema_is_refused(backup: Path, revision: str) -> None:
    set_schema(f"sqlite:///{backup}", revision)

    with (
        pytest.raises(SchemaMismatch, match=rf"backup\.sqlite has schema {revision}, "),
        open_backup(backup),
    ):
        pass
