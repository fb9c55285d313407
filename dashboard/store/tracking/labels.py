"""Labels of what is tracked: few, so that words are looked for in them and not in every hash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from sqlalchemy import Connection, delete

from dashboard.store.engine.upsert import add_up
from dashboard.store.schema import tracked_labels


def count_labels(
    connection: Connection, come: Iterable[str] = (), gone: Iterable[str] = ()
) -> None:
    """Count hashes that get a label, and those that lose it."""
    counts = Counter(come)
    counts.subtract(gone)
    changed = {label: many for label, many in counts.items() if label and many}
    rows = [{"label": label, "many": many} for label, many in changed.items()]
    add_up(connection, tracked_labels, rows)
    if any(many < 0 for many in changed.values()):
        connection.execute(delete(tracked_labels).where(tracked_labels.c.many == 0))
