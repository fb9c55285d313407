"""Tags and labels of tracked transactions, kept so that both are found and counted quickly."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from sqlalchemy import Connection, delete, insert, select

from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.paste import tags_in
from dashboard.store.engine.batching import portions
from dashboard.store.engine.upsert import upsert_sums
from dashboard.store.schema import tracked_hashes, tracked_labels, tracked_tags


def index_tags(connection: Connection, hashes: Sequence[TxHash]) -> None:
    """Let hashes be found by their tags of now."""
    column = tracked_hashes.c
    for some in portions(sorted(hashes)):
        query = select(column.tracked_id, column.tags).where(column.tx_hash.in_(some))
        tagged = connection.execute(query).all()
        before = tracked_tags.c.tracked_id.in_([row.tracked_id for row in tagged])
        connection.execute(delete(tracked_tags).where(before))
        rows = [
            {"tag": tag, "tracked_id": row.tracked_id}
            for row in tagged
            for tag in tags_in(row.tags)
        ]
        if rows:
            connection.execute(insert(tracked_tags), rows)


def count_labels(
    connection: Connection, come: Iterable[str] = (), gone: Iterable[str] = ()
) -> None:
    """Update how many hashes have each label."""
    counts = Counter(come)
    counts.subtract(gone)
    changed = {label: many for label, many in counts.items() if label and many}
    rows = [{"label": label, "many": many} for label, many in changed.items()]
    upsert_sums(connection, tracked_labels, rows)
    if any(many < 0 for many in changed.values()):
        connection.execute(delete(tracked_labels).where(tracked_labels.c.many == 0))
