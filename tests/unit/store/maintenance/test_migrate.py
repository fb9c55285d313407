"""A store is created and brought to this version's schema, and no other is opened."""

from __future__ import annotations

import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from alembic.script import ScriptDirectory
from sqlalchemy import create_engine, text

from dashboard.errors import ForeignStore, SchemaMismatch, StoreError, StoreUnavailable
from dashboard.store.engine.engine import Store, check_installation, installation_id, open_store
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.schema import REVISION, REVISIONS, metadata
from tests.builders import an_id
from tests.released_stores import make_released, schema_of

VERSIONS = Path(migrate.__code__.co_filename).parents[1] / "migrations"


def test_upgraded_store_has_the_schema_of_a_new_one(empty_url: str, store: Store) -> None:
    engine = create_engine(empty_url)
    with engine.begin() as connection:
        make_released(connection, REVISIONS[0])
    migrate(empty_url)

    with engine.connect() as upgraded, store.read() as new:
        assert schema_of(upgraded) == schema_of(new)
    engine.dispose()


def test_every_released_schema_has_its_migration() -> None:
    history = ScriptDirectory(str(VERSIONS)).walk_revisions()

    assert tuple(each.revision for each in history)[::-1] == REVISIONS


def test_migrating_twice_changes_nothing(url: str, store: Store) -> None:
    with store.read() as connection:
        before = installation_id(connection)

    assert migrate(url) == REVISION
    with store.read() as connection:
        assert installation_id(connection) == before


@pytest.mark.parametrize("name", ["first", "second", "third", "fourth"])
def test_processes_that_migrate_at_once_agree(tmp_path: Path, name: str) -> None:
    url = f"sqlite:///{tmp_path}/{name}.db"
    together = threading.Barrier(8)

    def race(_: int) -> str:
        together.wait()
        return migrate(url)

    with ThreadPoolExecutor(8) as threads:
        assert list(threads.map(race, range(8))) == [REVISION] * 8


def test_missing_folder_is_made_for_its_owner_only(tmp_path: Path) -> None:
    folder = tmp_path / "state"

    migrate(f"sqlite:///{folder}/linewatch.db")

    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def test_new_file_is_open_to_its_owner_only_with_all_that_lies_beside_it(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/store.sqlite"
    migrate(url)
    with open_store(url) as store, store.write() as connection:
        connection.execute(text("UPDATE installation SET last_token = 7"))
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}

    assert set(modes) == {f"store.sqlite{end}" for end in ("", "-wal", "-shm")}
    assert set(modes.values()) == {0o600}


def test_file_that_is_there_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    path.touch()
    path.chmod(0o640)

    migrate(f"sqlite:///{path}")

    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_folder_that_cannot_be_made_is_named_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").touch()

    with pytest.raises(StoreUnavailable, match=r"file/state .* LINEWATCH_HOME"):
        migrate(f"sqlite:///{tmp_path}/file/state/linewatch.db")


def test_store_that_does_not_exist_is_not_created_by_opening_it(tmp_path: Path) -> None:
    with pytest.raises(SchemaMismatch, match="run `linewatch migrate`"):
        open_store(f"sqlite:///{tmp_path}/linewatch.db")

    assert list(tmp_path.iterdir()) == []


def test_store_without_schema_asks_for_migration(tmp_path: Path) -> None:
    (tmp_path / "linewatch.db").touch()

    with pytest.raises(SchemaMismatch, match="no schema yet: run `linewatch migrate`"):
        open_store(f"sqlite:///{tmp_path}/linewatch.db")


def test_file_of_another_program_is_left_alone(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/photos.db"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE TABLE photos (name TEXT)"))
    engine.dispose()

    with pytest.raises(StoreError, match="tables of another program"):
        migrate(url)


def test_migration_that_fails_half_way_leaves_nothing_behind(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/linewatch.db"
    engine = create_engine(url)
    with engine.begin() as connection:
        connection.execute(text("CREATE VIEW notifications AS SELECT 1"))

    with pytest.raises(StoreError, match="notifications"):
        migrate(url)

    with engine.begin() as connection:
        assert connection.scalars(text("SELECT name FROM sqlite_master")).all() == ["notifications"]
    engine.dispose()


def test_store_of_another_installation_is_refused(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/linewatch.db"
    migrate(url, an_id(1))

    with open_store(url) as store:
        check_installation(store, an_id(1))
        with pytest.raises(ForeignStore, match=str(an_id(1))):
            check_installation(store, an_id(2))


def test_busy_spells_of_release_0_1_0_are_those_that_were_concluded(empty_url: str) -> None:
    engine = create_engine(empty_url)
    with engine.begin() as connection:
        make_released(connection, "0.1.0")
        subject = "subject, kind, network_id"
        of_network = "'busyness:59144:', 'busyness', 59144"
        connection.execute(
            text(
                f"INSERT INTO transitions (transition_id, {subject}, after, at, opened_at) "  # noqa: S608 - words of ours
                f"VALUES ('{an_id(1).hex}', {of_network}, 'calm', 1000000, 400000)"
            )
        )
        connection.execute(
            text(
                f"INSERT INTO conditions ({subject}, state, since) "  # noqa: S608 - words of ours
                f"VALUES ({of_network}, 'busy', 2000000)"
            )
        )
        for series in (4, 5):
            numbers = ", ".join(map(str, (59144, series, 1, *[0] * 5)))
            rolled_up = f"{numbers}, x'00', {', '.join('0' * 6)}, x'00'"
            columns = ", ".join(each.name for each in metadata.tables["fee_rollups"].columns)
            octets = rolled_up if "sqlite" in empty_url else rolled_up.replace("x'", "'\\x")
            connection.execute(text(f"INSERT INTO fee_rollups ({columns}) VALUES ({octets})"))  # noqa: S608 - words of ours
    migrate(empty_url)

    with engine.connect() as connection:
        rows = connection.execute(text("SELECT * FROM busy_spells ORDER BY begins_at")).all()
        kept = connection.scalars(text("SELECT series FROM fee_rollups")).all()
    engine.dispose()
    assert [tuple(row) for row in rows] == [
        (59144, 340000, 700000, True),
        (59144, 1940000, None, True),
    ]
    assert kept == [4]


MOVES: dict[str | None, str | None] = {
    f"source {an_id(1)} a new place": None,
    f"target {an_id(1)} an old place": "copy of an old place",
    "a place that begins with source": "a place that begins with source",
    None: None,
}
"""What a move left in the mark of a store, and what becomes of it."""


def test_move_that_was_killed_in_release_0_1_0_begins_again(empty_url: str) -> None:
    engine = create_engine(empty_url)
    with engine.begin() as connection:
        make_released(connection, "0.1.0")
        columns = "installation_id, last_token, moved_to"
        for number, left in enumerate(MOVES):
            connection.execute(
                text(f"INSERT INTO installation ({columns}) VALUES (:id, :number, :left)"),  # noqa: S608 - words of ours
                {"id": an_id(number).hex, "number": number, "left": left},
            )

    migrate(empty_url)

    with engine.connect() as connection:
        query = text("SELECT moved_to FROM installation ORDER BY last_token")
        assert connection.scalars(query).all() == list(MOVES.values())
    engine.dispose()


HELD: dict[str, str] = {
    "maintenance window 3 by Ada: new node": "window-0",
    "quiet hours of the rule night": "",
    "": "",
}
"""What held a notification in release 0.1.0, and what the worker is told of it."""


def test_what_a_window_held_in_release_0_1_0_is_checked_at_the_start(empty_url: str) -> None:
    engine = create_engine(empty_url)
    with engine.begin() as connection:
        make_released(connection, "0.1.0")
        one = {"id": an_id(1).hex}
        connection.execute(
            text(
                "INSERT INTO transitions (transition_id, subject, kind, network_id, after, at) "
                "VALUES (:id, 'busyness:1:', 'busyness', 1, 'busy', 1)"
            ),
            one,
        )
        for number, held_for in enumerate(HELD):
            connection.execute(
                text(
                    "INSERT INTO notifications (notification_id, transition_id, position, channel, "
                    "address, message_id, created_at, release_at, state, attempts, outcome, "
                    "held_for) VALUES (:mine, :id, :at, 'mail', 'a@b', :name, 1, 2, 'pending', 0, "
                    "'', :held)"
                ),
                one | {"mine": an_id(number).hex, "name": held_for, "at": number, "held": held_for},
            )

    migrate(empty_url)

    with engine.connect() as connection:
        query = text("SELECT held_by FROM notifications ORDER BY position")
        assert connection.scalars(query).all() == list(HELD.values())
    engine.dispose()
