"""Tallies are kept: each rejection is counted in when it is inserted, and out when it is deleted.

That is six rows for a rejection, and five more of a sender with many, in the transaction that
writes it; many that arrive together share them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from sqlalchemy import Connection, delete, func, insert, select

from dashboard.store.rejections.counter_rows import (
    add_counts,
    keys_of,
    make_of_rejections,
    take_counts,
)
from dashboard.store.rejections.sender_counters import (
    count_senders_in,
    count_senders_out,
    rebuild_senders,
)
from dashboard.store.schema import rejection_modules, rejection_tallies, rejections

MOST_MODULES: Final = 1000
"""Modules that are tallied by name. A name once tallied stays; what is beyond goes under `OTHERS`:
a node that makes names up must not make as many tallies as it makes rejections."""


def count_in(
    connection: Connection, rows: Sequence[Mapping[str, Any]], most_modules: int = MOST_MODULES
) -> None:
    """Count rows of `rejections` that this transaction has inserted."""
    named = _admitted(connection, [row["module"] for row in rows], most_modules)
    counts = Counter(key for row in rows for key in keys_of(row, named))
    add_counts(connection, rejection_tallies, counts)
    count_senders_in(connection, rows, named)


def count_out(connection: Connection, rejection_ids: Sequence[int]) -> None:
    """Take rejections out of the tallies; to be called before this transaction deletes them."""
    column = rejections.c
    query = select(
        column.network_id,
        column.tx_rejection_stage,
        column.reason_kind,
        column.module,
        column.sender,
        column.first_seen_at,
    ).where(column.rejection_id.in_(rejection_ids))
    rows = [row._asdict() for row in connection.execute(query)]
    named = _known(connection, {row["module"] for row in rows})
    counts = Counter(key for row in rows for key in keys_of(row, named))
    take_counts(connection, rejection_tallies, counts)
    count_senders_out(connection, rows, named)


def rebuild_tallies(connection: Connection, most_modules: int = MOST_MODULES) -> None:
    """Count every rejection anew, for who wrote past `count_in`; takes seconds for a million."""
    connection.execute(delete(rejection_tallies))
    connection.execute(delete(rejection_modules))
    module, many = rejections.c.module, func.count()
    commonest = select(module).where(module.is_not(None)).group_by(module).order_by(many.desc())
    names = insert(rejection_modules).from_select(["module"], commonest.limit(most_modules))
    connection.execute(names)
    make_of_rejections(connection, rejection_tallies)
    rebuild_senders(connection)


def is_tallied_by_name(connection: Connection, module: str) -> bool:
    """Whether all rejections that name this module are tallied under its name."""
    return bool(_known(connection, {module}))


def _admitted(connection: Connection, modules: Sequence[str | None], most: int) -> set[str]:
    """Return those of the modules that are tallied by name, after taking new ones up."""
    wanted = [module for module in dict.fromkeys(modules) if module is not None]
    known = _known(connection, wanted)
    new = [module for module in wanted if module not in known]
    if not new:
        return known
    count = connection.scalar(select(func.count()).select_from(rejection_modules)) or 0
    taken_up = new[: max(0, most - count)]
    if taken_up:
        connection.execute(insert(rejection_modules), [{"module": each} for each in taken_up])
    return {*known, *taken_up}


def _known(connection: Connection, modules: Iterable[str | None]) -> set[str]:
    wanted = [module for module in modules if module is not None]
    if not wanted:
        return set()
    column = rejection_modules.c.module
    return set(connection.scalars(select(column).where(column.in_(wanted))))
