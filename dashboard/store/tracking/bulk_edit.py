"""Changes of many tracked transactions at once, in the transaction of the caller."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from sqlalchemy import Connection, Row, bindparam, select, update

from dashboard.domain.quantity import TxHash
from dashboard.domain.tracking.paste import Remarks, own_tags, written_tags
from dashboard.store.engine.batching import portions
from dashboard.store.schema import tracked_hashes
from dashboard.store.tracking.transactions import (
    bounded_tags,
    count_labels,
    edit_tracked,
    index_tags,
    untrack,
)


@dataclass(frozen=True, slots=True)
class BulkChange:
    """What is to be said of many transactions; None leaves a text as it is, "" empties it.

    A tag that stands with # in the label or the note comes and goes with that text.
    """

    label: str | None = None
    note: str | None = None
    case_id: str | None = None
    owner: str | None = None
    with_tags: frozenset[str] = frozenset()
    without_tags: frozenset[str] = frozenset()

    def of(self, before: Remarks) -> Remarks:
        """Return the remarks after the edit; tags without those of the label and the note."""
        own = own_tags(before.tags, before.label, before.note)
        return replace(
            before,
            label=before.label if self.label is None else self.label,
            note=before.note if self.note is None else self.note,
            case_id=before.case_id if self.case_id is None else self.case_id,
            owner=before.owner if self.owner is None else self.owner,
            tags=written_tags((own | self.with_tags) - self.without_tags),
        )


@dataclass(frozen=True, slots=True)
class ChangedRemarks:
    """What was said of a transaction before a change, and after it."""

    tx_hash: TxHash
    before: Remarks
    after: Remarks


def change_all(
    connection: Connection, hashes: Sequence[TxHash], change: BulkChange
) -> list[ChangedRemarks]:
    """Change the tracked ones of the hashes; return those that changed.

    InputError if one of them would have more than `MOST_TAGS`; then nothing is changed.
    """
    changed: list[tuple[Row[Any], Remarks]] = []
    for some in portions(sorted(hashes)):
        query = select(tracked_hashes).where(tracked_hashes.c.tx_hash.in_(some))
        for row in connection.execute(query):
            before = _remarks(row)
            said = change.of(before)
            after = replace(said, tags=bounded_tags(row.tx_hash, said))
            if after != before:
                changed.append((row, after))
    if not changed:
        return []
    of_row = update(tracked_hashes).where(tracked_hashes.c.tracked_id == bindparam("of_row"))
    rows = [asdict(after) | {"of_row": row.tracked_id} for row, after in changed]
    connection.execute(of_row, rows)
    count_labels(
        connection, (after.label for _, after in changed), (row.label for row, _ in changed)
    )
    index_tags(connection, [row.tx_hash for row, after in changed if row.tags != after.tags])
    return [ChangedRemarks(row.tx_hash, _remarks(row), after) for row, after in changed]


def take_back(connection: Connection, changed: Sequence[ChangedRemarks]) -> list[TxHash]:
    """Restore earlier remarks, except of hashes that people changed since or no longer track.

    Return the restored ones.
    """
    by_hash = {each.tx_hash: each for each in changed}
    same: list[ChangedRemarks] = []
    for some in portions(sorted(by_hash)):
        query = select(tracked_hashes).where(tracked_hashes.c.tx_hash.in_(some))
        now = {row.tx_hash: _remarks(row) for row in connection.execute(query)}
        same += [by_hash[each] for each, said in now.items() if said == by_hash[each].after]
    return [each.tx_hash for each in same if edit_tracked(connection, each.tx_hash, each.before)]


def untrack_all(connection: Connection, hashes: Sequence[TxHash]) -> int:
    """Stop tracking hashes; return how many of them were tracked."""
    return sum(untrack(connection, each) for each in hashes)


def _remarks(row: Row[Any]) -> Remarks:
    return Remarks(row.attempted_at, row.label, row.note, row.case_id, row.owner, row.tags)
