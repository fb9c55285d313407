"""What is tracked, as people look after it: corrected, and not watched any more."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import (
    Connection,
    delete,
    select,
    update,
)

from dashboard.domain.quantity import TxHash
from dashboard.store.schema import tracked_hashes
from dashboard.store.tracking.cohorts import grow, watch_anew
from dashboard.store.tracking.labels import count_labels
from dashboard.store.tracking.unwatched import leave_behind


@dataclass(frozen=True, slots=True)
class Remarks:
    """What people may correct of a tracked transaction."""

    attempted_at: datetime | None
    label: str
    note: str


def amend(connection: Connection, tx_hash: TxHash, remarks: Remarks) -> bool:
    """Write other remarks; False where the hash is not tracked any more.

    Another time of the attempt is another schedule: the hash gets a cohort of its own, which the
    poller takes up, also where it was done with the hash.
    """
    of_hash = tracked_hashes.c.tx_hash == tx_hash
    before = connection.execute(select(tracked_hashes).where(of_hash)).one_or_none()
    if before is None:
        return False
    changed = {
        "attempted_at": remarks.attempted_at,
        "label": remarks.label,
        "note": remarks.note,
    }
    connection.execute(update(tracked_hashes).where(of_hash).values(**changed))
    count_labels(connection, [remarks.label], [before.label])
    if before.attempted_at != remarks.attempted_at:
        watch_anew(connection, tx_hash, remarks.attempted_at)
    return True


def untrack(connection: Connection, tx_hash: TxHash) -> bool:
    """Watch a hash on no network any more; False where nobody did.

    What was seen of it and what was told stays.
    """
    leaving = delete(tracked_hashes).where(tracked_hashes.c.tx_hash == tx_hash)
    left = leaving.returning(*tracked_hashes.c["cohort_id", "label"])
    row = connection.execute(left).one_or_none()
    if row is None:
        return False
    leave_behind(connection, tx_hash, row.cohort_id)
    grow(connection, row.cohort_id, -1)
    count_labels(connection, gone=[row.label])
    return True
