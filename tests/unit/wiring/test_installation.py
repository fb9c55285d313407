"""A state folder belongs to one installation, whose store it takes and no other."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from uuid import UUID

import pytest

from dashboard.errors import ForeignStore, InputError, SettingsError
from dashboard.settings import Settings, load_settings
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.monitoring.upkeep import last_upkeep
from dashboard.wiring.maintenance import back_up_store, join_installation, restore_store
from dashboard.wiring.store import migrate_store, open_checked_store, own_id
from tests.builders import an_id
from tests.postgresql import migrated_database


def settings_of(home: Path, url: str = "") -> Settings:
    """Return the settings of an installation with this state folder."""
    return load_settings({"LINEWATCH_HOME": str(home), "LINEWATCH_STORE_URL": url})


def test_whoever_makes_a_store_belongs_to_its_installation(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home")

    migrate_store(settings)

    assert own_id(settings) is not None
    open_checked_store(settings).close()


def test_store_of_a_state_folder_without_a_note_is_taken_for_its_own(tmp_path: Path) -> None:
    migrate(f"sqlite:///{tmp_path}/linewatch.sqlite", an_id(5))
    settings = settings_of(tmp_path)

    open_checked_store(settings).close()

    assert own_id(settings) == an_id(5)


def test_second_installation_on_the_same_file_is_refused(tmp_path: Path) -> None:
    first = settings_of(tmp_path / "first")
    migrate_store(first)
    shared = f"sqlite:///{tmp_path}/first/linewatch.sqlite"
    migrate_store(settings_of(tmp_path / "second"))

    for home, remedy in (("second", "join --force"), ("third", "run `linewatch join`")):
        settings = settings_of(tmp_path / home, shared)
        with pytest.raises(ForeignStore, match=f"belongs to the installation .* {remedy}"):
            open_checked_store(settings)
        with pytest.raises(ForeignStore):
            migrate_store(settings)


def test_store_that_is_only_named_below_the_state_folder_is_somebody_elses(tmp_path: Path) -> None:
    migrate_store(settings_of(tmp_path / "first"))
    (tmp_path / "second").mkdir()
    around = f"sqlite:///{tmp_path}/second/../first/linewatch.sqlite"

    with pytest.raises(ForeignStore, match="run `linewatch join`"):
        open_checked_store(settings_of(tmp_path / "second", around))


@pytest.mark.parametrize("name", ["a?b #c", "p%41q 100%", "a&b=c;d", "a@b:häuser"])
def test_store_lies_in_the_state_folder_whatever_that_is_called(tmp_path: Path, name: str) -> None:
    settings = settings_of(tmp_path / name)

    migrate_store(settings)
    back_up_store(settings, tmp_path / f"copy of {name}", keep=None, overwrites=False)
    restore_store(settings, tmp_path / f"copy of {name}", is_forced=False)

    assert [each.name for each in tmp_path.iterdir() if each.is_dir()] == [name]
    assert (tmp_path / name / "linewatch.sqlite").is_file()
    open_checked_store(settings).close()


def test_machine_without_an_installation_joins_the_one_on_its_server(tmp_path: Path) -> None:
    with migrated_database() as url:
        settings = settings_of(tmp_path, url)
        open_checked_store(settings).close()
        joined = own_id(settings)
        open_checked_store(settings).close()

    assert joined is not None


def test_second_installation_on_the_same_server_is_refused(tmp_path: Path) -> None:
    migrate_store(settings_of(tmp_path))
    with migrated_database() as url:
        settings = settings_of(tmp_path, url)

        with pytest.raises(ForeignStore, match="give each installation a store of its own"):
            open_checked_store(settings)

        join_installation(settings, leaves_another=True)
        open_checked_store(settings).close()


def test_joining_leaves_another_installation_only_by_force(tmp_path: Path) -> None:
    migrate_store(settings_of(tmp_path / "first"))
    migrate_store(settings_of(tmp_path / "second"))
    both = settings_of(tmp_path / "second", f"sqlite:///{tmp_path}/first/linewatch.sqlite")

    with pytest.raises(ForeignStore, match="with --force that folder leaves the one"):
        join_installation(both, leaves_another=False)

    found = join_installation(both, leaves_another=True)
    assert own_id(both) == UUID(found) == own_id(settings_of(tmp_path / "first"))


def test_unreadable_note_is_told_with_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "installation").write_text("a diary")

    with pytest.raises(SettingsError, match="delete it, then run `linewatch join`"):
        own_id(settings_of(tmp_path))


def test_machine_that_lost_everything_becomes_the_installation_of_its_backup(
    tmp_path: Path,
) -> None:
    old, new = settings_of(tmp_path / "old"), settings_of(tmp_path / "new")
    migrate_store(old)
    backup = back_up_store(old, tmp_path / "b.sqlite", keep=None, overwrites=False).path

    restore_store(new, backup, is_forced=False)

    assert own_id(new) == own_id(old)
    open_checked_store(new).close()


def test_folder_keeps_only_the_last_backups_and_all_other_files(tmp_path: Path) -> None:
    settings = settings_of(tmp_path / "home")
    migrate_store(settings)
    folder = tmp_path / "backups"
    folder.mkdir()
    (folder / "linewatch-20250101T000000Z.sqlite").touch()
    (folder / "linewatch-diary.sqlite").touch()

    made = back_up_store(settings, folder, keep=1, overwrites=False)

    assert {each.name for each in folder.iterdir()} == {made.path.name, "linewatch-diary.sqlite"}
    with closing(open_checked_store(settings)) as store, store.read() as connection:
        assert last_upkeep(connection).backed_up_at is not None
    with pytest.raises(InputError, match="is not one: make it"):
        back_up_store(settings, folder / "missing", keep=1, overwrites=False)


@pytest.mark.parametrize("keep", [1, 2])
def test_folder_keeps_the_backup_just_made_beside_those_of_a_clock_that_was_ahead(
    tmp_path: Path, keep: int
) -> None:
    settings = settings_of(tmp_path / "home")
    migrate_store(settings)
    folder = tmp_path / "backups"
    folder.mkdir()
    for year in (2025, 2198, 2199):
        (folder / f"linewatch-{year}0101T000000Z.sqlite").touch()

    made = back_up_store(settings, folder, keep=keep, overwrites=False)

    last = [folder / "linewatch-20250101T000000Z.sqlite", made.path][-keep:]
    assert sorted(folder.iterdir()) == last
