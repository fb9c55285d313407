"""Maintenance of the store of an installation: back up, verify, restore, move, join."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from msgspec import Struct

from dashboard.domain.people.access import Action, Actor, Detail
from dashboard.errors import ForeignStore, InputError, StoreError
from dashboard.settings import Settings
from dashboard.settings.check_addresses import unsafe_store
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts import held_after_restore
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, installation_id, open_store
from dashboard.store.maintenance.backup import back_up, delete_oldest, open_backup, path_in
from dashboard.store.maintenance.findings import Finding
from dashboard.store.maintenance.move import Moved, move
from dashboard.store.maintenance.rebuild import Progress, Rebuilt, no_report, rebuild
from dashboard.store.maintenance.restore import Restored, restore
from dashboard.store.maintenance.verify import count_rows, verify
from dashboard.store.monitoring.upkeep import note_backup
from dashboard.wiring.clock import utc_now
from dashboard.wiring.store import belong_to, open_checked_store, os_user, own_id, store_url


class BackupResult(Struct, frozen=True):
    """A backup that was made, and those that were deleted for it.

    `audit_failure` says why the audit log does not name it; empty if it does.
    """

    path: Path
    size: int
    rows: dict[str, int]
    deleted: tuple[Path, ...]
    audit_failure: str = ""


class VerificationResult(Struct, frozen=True):
    """The result for a store or backup: what is wrong, or the rows of each table if nothing is."""

    name: str
    findings: Sequence[Finding]
    rows: dict[str, int]


def back_up_store(
    settings: Settings, path: Path, *, keep: int | None, overwrites: bool
) -> BackupResult:
    """Back up the store into a file, or under a generated name into an existing folder.

    Of a folder's backups with such names, only the last `keep` stay.
    """
    by = _actor()
    is_folder = path.is_dir()
    if keep is not None and not is_folder:
        raise InputError(f"--keep counts the backups of a folder, and {path} is not one: make it")
    target = path_in(path, by.at) if is_folder else path
    with closing(open_checked_store(settings)) as store:
        made = back_up(store, target, overwrites=overwrites)
        details: dict[str, Detail] = {"file": str(made.path), "bytes": made.size}
        trouble = _note_backup(store, by, details)
    with open_backup(made.path) as connection:
        rows = count_rows(connection)
    deleted = () if keep is None else delete_oldest(path, keep, made.path)
    return BackupResult(made.path, made.size, rows, deleted, trouble)


def _note_backup(store: Store, by: Actor, details: dict[str, Detail]) -> str:
    """Log it in the audit log; return why that is not possible, as on a full disk."""
    try:
        with store.write() as connection:
            note_action(connection, by, Action.BACKUP, "store", details)
            note_backup(connection, by.at)
    except StoreError as error:
        return str(error)
    return ""


def verify_store(
    settings: Settings, path: Path | None, *, report: Progress = no_report
) -> VerificationResult:
    """Verify the running store, or the backup at `path`; `report` gets what comes next."""
    if path is not None:
        with open_backup(path) as connection:
            return _verified(f"The backup {path}", connection, report)
    with closing(open_checked_store(settings)) as store, store.read() as connection:
        return _verified(store.name, connection, report)


def rebuild_store(settings: Settings, report: Progress = no_report) -> Rebuilt:
    """Rebuild derived data that is wrong."""
    with closing(open_checked_store(settings)) as store:
        return rebuild(store, _actor(), report)


def restore_store(settings: Settings, path: Path, *, is_forced: bool) -> Restored:
    """Put a backup in the store's place; the state folder belongs to its installation then.

    If forced, also one of another installation, and in place of a store that was moved away.
    """
    own = own_id(settings)
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
    expected, url = None if is_forced else own, store_url(settings)
    restored = restore(url, path, _actor(), settings.home, expected, comes_back=is_forced)
    belong_to(settings, restored.installation_id)
    return restored


def release_held(settings: Settings, *, drops: bool) -> int:
    """Send what a restore holds, or mark it dead; return how many notifications that were."""
    by = _actor()
    with closing(open_checked_store(settings)) as store, store.write() as connection:
        many = (
            held_after_restore.discard_held(connection)
            if drops
            else held_after_restore.release_held(connection, by.at)
        )
        details = {"notifications": many, "sent": not drops}
        note_action(connection, by, Action.RELEASE, "held notifications", details)
    return many


def count_held(settings: Settings) -> int:
    """Count the notifications that a restore holds."""
    with closing(open_checked_store(settings)) as store, store.read() as connection:
        return held_after_restore.count_held(connection)


def move_store(settings: Settings, target: str) -> Moved:
    """Move the store to another database; the settings have to name that afterwards.

    InputError if they would refuse it.
    """
    try:
        complaint = unsafe_store(settings.store, target)
    except StoreError as error:
        raise InputError(str(error).replace("store.url", "--to")) from error
    if complaint is not None:
        raise InputError(f"The new address {complaint}")
    return move(store_url(settings), target, _actor(), own_id(settings))


def join_installation(settings: Settings, *, leaves_another: bool) -> str:
    """Make the state folder belong to the installation of the store in the settings."""
    by, own = _actor(), own_id(settings)
    with closing(open_store(store_url(settings))) as store, store.write() as connection:
        found = installation_id(connection)
        if own not in {None, found} and not leaves_another:
            raise ForeignStore(
                f"{store.name} belongs to the installation {found}, and {settings.home} to {own}: "
                "with --force that folder leaves the one for the other"
            )
        if own != found:
            home = {"home": str(settings.home)}
            note_action(connection, by, Action.JOIN, "installation", home)
    if not belong_to(settings, found):
        raise InputError(f"{settings.home} takes no file: let this user write it")
    return str(found)


def _verified(name: str, connection: Connection, report: Progress) -> VerificationResult:
    findings = tuple(verify(connection, report=report))
    return VerificationResult(name, findings, {} if findings else count_rows(connection))


def _actor() -> Actor:
    return Actor(os_user(), utc_now())
