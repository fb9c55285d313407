"""A store is backed up while a worker writes and mails, lost, and restored from the backup."""

from __future__ import annotations

from contextlib import nullcontext
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from dashboard.domain.alerts.notification import NotificationState
from dashboard.domain.people.access import Actor
from dashboard.store.alerts.held_after_restore import count_held, release_held
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.backup import back_up
from dashboard.store.maintenance.restore import restore
from tests.databases import new_store
from tests.faults.delivery_promises import StoredDeliveries, check_whole, stored_deliveries
from tests.faults.rows import Chance, Row, playing
from tests.faults.worker_process import WorkerSite, worker_site_on
from tests.waiting import eventually, pause

_TRACKED: Final = 12


def _drill(home: Path, chance: Chance) -> None:
    """Drill on SQLite and PostgreSQL in turn."""
    database = "postgresql" if chance.number % 2 else "sqlite"
    with new_store(database, home) as url:
        with worker_site_on(home, url) as site:
            safe = _lose_the_store(site, home, chance)
        restore(url, home / "backup.sqlite", Actor("operator", datetime.now(UTC)), home)
        with open_store(url) as store:
            check_whole(store)
            kept = {str(each.tx_hash) for each in stored_deliveries(store).rejections}
        lost = safe - kept
        assert not lost, f"{len(lost)} rejections that were stored before the backup are lost"
        with worker_site_on(home, url, site.mailing) as again:
            _see_again(again, site)


def _lose_the_store(site: WorkerSite, home: Path, chance: Chance) -> set[str]:
    """Back up while a worker works, and kill it; return what was stored before the backup."""
    tracked = site.track(chance, _TRACKED)
    process = site.start()
    for tx_hash in tracked[: chance.randrange(1, _TRACKED)]:
        site.reject_tracked(tx_hash, chance)
        pause(chance.uniform(0, 0.1))
    eventually(lambda: bool(site.found().rejections), what="a rejection that is stored")
    safe = {str(each.tx_hash) for each in site.found().rejections}
    back_up(site.store, home / "backup.sqlite")
    for tx_hash in tracked[len(site.records) :]:
        site.reject_tracked(tx_hash, chance)
    pause(chance.uniform(0, 0.3))
    process.kill()
    return safe


def _see_again(site: WorkerSite, lost: WorkerSite) -> None:
    """Let a worker ask upstream again: nobody is mailed, and nothing is lost."""
    mailed = list(site.post.taken)
    for record in lost.records:
        site.hosted.reject(record)
    process = site.start()

    def is_known() -> bool:
        assert not process.ended.is_set(), f"the worker ended: {process.last_lines()}"
        found = site.found()
        is_expanded = all(is_done for _, is_done in found.outbox)
        return len(found.rejections) == len(lost.records) and is_expanded

    eventually(is_known, what="an end of the work")
    pause(0.5)  # time to deliver
    assert process.terminate() == 0, process.last_lines()
    assert site.post.taken == mailed, "somebody was mailed after the restore"
    _check_nothing_is_lost(site.store, site.found(), lost)


def _check_nothing_is_lost(store: Store, found: StoredDeliveries, lost: WorkerSite) -> None:
    """See that each rejection was told, or is held, and that what is held can be sent."""
    known = {tx_hash for each in found.messages for tx_hash in found.told[each.message_id]}
    missing = {str(each.tx_hash) for each in lost.records} - known
    assert not missing, f"of {len(missing)} rejections nobody is or was told"
    states = {each.state for each in found.messages}
    assert states <= {NotificationState.SENT, NotificationState.HELD}, states
    with store.write() as connection:
        held = count_held(connection)
        assert release_held(connection, datetime.now(UTC)) == held
    assert not {each.state for each in stored_deliveries(store).messages} & {NotificationState.HELD}


RESTORE_DRILL = Row(
    name="restore-drill",
    promise=(
        "a store is backed up while a worker writes and mails, the worker is killed, and the "
        "backup is restored, on both databases: nothing from before the backup is lost, no mail "
        "since then is sent again, what may have been sent is held"
    ),
    short=1,
    full=200,
    stage=playing(nullcontext, _drill),
)
