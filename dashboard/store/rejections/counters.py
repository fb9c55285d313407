"""Counters of rejections, written in the transaction that inserts or deletes rejections.

That is six rows for a rejection, and five more of a sender with many; many that arrive together
share them. A sender with few rejections has no counters: its rejections are counted by index.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Connection,
    Integer,
    Select,
    Table,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    select,
    true,
    type_coerce,
    update,
)

from dashboard.domain.quantity import Address
from dashboard.store.engine.batching import portions
from dashboard.store.engine.upsert import upsert_sums
from dashboard.store.rejections.counter_steps import STEP_LENGTHS, CounterStep
from dashboard.store.schema import (
    rejection_counters,
    rejection_modules,
    rejection_senders,
    rejections,
    sender_counters,
)
from dashboard.store.schema.columns import milliseconds_of, moment_of

OTHERS: Final = "*"
"""Stands for modules without counters of their own; no module is called so."""

Key: TypeAlias = tuple[Any, ...]
"""The values of a table's primary key, the beginning of the step in milliseconds."""

_SHARED: Final = tuple(column.name for column in rejection_counters.primary_key)


def counter_keys(row: Mapping[str, Any], named: set[str]) -> Iterator[Key]:
    """Yield the keys of the counters of a row of `rejections`; `named` modules have their own."""
    module = row["module"]
    called = "" if module is None else module if module in named else OTHERS
    arrived = milliseconds_of(row["first_seen_at"])
    stage, kind = row["tx_rejection_stage"], row["reason_kind"]
    for level in CounterStep:
        yield level, level.beginning(arrived), stage, kind, called, row["network_id"]


def add_counts(connection: Connection, table: Table, counts: Mapping[Key, int]) -> None:
    """Add to the counters with these keys."""
    upsert_sums(connection, table, [_row(table, key, many) for key, many in counts.items()])


def subtract_counts(connection: Connection, table: Table, counts: Mapping[Key, int]) -> None:
    """Subtract from the counters with these keys, and delete those that reach zero."""
    if not counts:
        return
    taken = [_row(table, key, -many) for key, many in counts.items()]
    upsert_sums(connection, table, taken)
    names = [column.name for column in table.primary_key]
    of_key = (table.c[name] == bindparam(f"of_{name}") for name in names)
    empty = delete(table).where(table.c.many == 0, *of_key)
    connection.execute(empty, [{f"of_{name}": row[name] for name in names} for row in taken])


def build_counters(connection: Connection, table: Table, *which: ColumnElement[bool]) -> None:
    """Insert the counters of the rejections that fit `which`; there must be none of them yet.

    In the table of senders, `which` may only name senders.
    """
    column = rejections.c
    own = [column.sender] if "sender" in table.c else []
    names = [*(each.name for each in own), *_SHARED, "many"]
    hours = _hours(own, which)
    connection.execute(insert(table).from_select(names, hours))
    made = [table.c.sender.in_(select(column.sender).where(*which))] if own and which else []
    for level in (CounterStep.DAY, CounterStep.WEEK, CounterStep.FOUR_WEEKS, CounterStep.EVER):
        coarser = _from_finer(table, level, made)
        connection.execute(insert(table).from_select(names, coarser))


def recomputed_counters(
    table: Table, level: CounterStep, *which: ColumnElement[bool]
) -> Select[Any]:
    """Select the counters of a level as computed from their source, with all columns in order.

    The source is `rejections` for hours, else the counters of the next finer level; `which` is a
    condition on it.
    """
    own = [rejections.c.sender] if "sender" in table.c else []
    return _hours(own, which) if level is CounterStep.HOUR else _from_finer(table, level, which)


def _row(table: Table, key: Key, many: int) -> dict[str, Any]:
    row = dict(zip((column.name for column in table.primary_key), key, strict=True))
    return row | {"begins_at": moment_of(row["begins_at"]), "many": many}


def _hours(own: Sequence[ColumnElement[Any]], which: Sequence[ColumnElement[bool]]) -> Select[Any]:
    column, name = rejections.c, rejection_modules.c.module
    arrived = type_coerce(column.first_seen_at, BigInteger)
    module = case((column.module.is_(None), ""), else_=func.coalesce(name, OTHERS))
    keys = (
        *own,
        (arrived - arrived % STEP_LENGTHS[CounterStep.HOUR]).label("began"),
        column.tx_rejection_stage,
        column.reason_kind,
        module.label("called"),
        column.network_id,
    )
    counted = select(*keys, func.count().label("many")).where(*which)
    joined = counted.join_from(rejections, rejection_modules, name == column.module, isouter=True)
    return _of_level(CounterStep.HOUR, len(own), joined.group_by(*keys))


def _from_finer(
    table: Table, level: CounterStep, made: Sequence[ColumnElement[bool]]
) -> Select[Any]:
    column = table.c
    begins = type_coerce(column.begins_at, BigInteger)
    first = begins - begins % STEP_LENGTHS[level] if level in STEP_LENGTHS else begins * 0
    own = [column.sender] if "sender" in column else []
    keys = (
        *own,
        first.label("began"),
        column.tx_rejection_stage,
        column.reason_kind,
        column.module,
        column.network_id,
    )
    counted = select(*keys, func.sum(column.many).label("many"))
    finer = counted.where(column.level == CounterStep(level + 1), *made)
    return _of_level(level, len(own), finer.group_by(*keys))


def _of_level(level: CounterStep, own: int, groups: Select[Any]) -> Select[Any]:
    columns = list(groups.subquery().c)
    return select(*columns[:own], literal(int(level), Integer), *columns[own:])


MOST_MODULES: Final = 1000
"""Modules with counters of their own. Once a module has them, it keeps them; the rest is counted
as `OTHERS`: a node that makes names up must not create as many counters as rejections."""


def count_inserted(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Count rows of `rejections` that this transaction has inserted."""
    named = _add_module_names(connection, [row["module"] for row in rows])
    counts = Counter(key for row in rows for key in counter_keys(row, named))
    add_counts(connection, rejection_counters, counts)
    count_inserted_senders(connection, rows, named)


def count_deleted(connection: Connection, rejection_ids: Sequence[int]) -> None:
    """Subtract rejections, before this transaction deletes them."""
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
    named = _named_among(connection, {row["module"] for row in rows})
    counts = Counter(key for row in rows for key in counter_keys(row, named))
    subtract_counts(connection, rejection_counters, counts)
    count_deleted_senders(connection, rows, named)


def rebuild_counters(connection: Connection, most_modules: int = MOST_MODULES) -> None:
    """Count all rejections again, after inserts without `count_inserted`; seconds for a million."""
    connection.execute(delete(rejection_counters))
    connection.execute(delete(rejection_modules))
    module, many = rejections.c.module, func.count()
    commonest = select(module).where(module.is_not(None)).group_by(module).order_by(many.desc())
    names = insert(rejection_modules).from_select(["module"], commonest.limit(most_modules))
    connection.execute(names)
    build_counters(connection, rejection_counters)
    rebuild_senders(connection)


def is_counted_by_name(connection: Connection, module: str) -> bool:
    """Whether this module has counters of its own."""
    return bool(_named_among(connection, {module}))


def _add_module_names(connection: Connection, modules: Sequence[str | None]) -> set[str]:
    """Return those of the modules that have counters of their own, after adding new ones."""
    wanted = [module for module in dict.fromkeys(modules) if module is not None]
    known = _named_among(connection, wanted)
    new = [module for module in wanted if module not in known]
    if not new:
        return known
    count = connection.scalar(select(func.count()).select_from(rejection_modules)) or 0
    added = new[: max(0, MOST_MODULES - count)]
    if added:
        connection.execute(insert(rejection_modules), [{"module": each} for each in added])
    return {*known, *added}


def _named_among(connection: Connection, modules: Iterable[str | None]) -> set[str]:
    wanted = [module for module in modules if module is not None]
    if not wanted:
        return set()
    column = rejection_modules.c.module
    return set(connection.scalars(select(column).where(column.in_(wanted))))


MANY: Final = 500
"""Rejections from which on a sender has counters: fewer are counted by index in milliseconds."""

_Rows = Sequence[Mapping[str, Any]]


def count_inserted_senders(connection: Connection, rows: _Rows, named: set[str]) -> None:
    """Count rows of `rejections` that this transaction has inserted, by their senders."""
    counts = Counter(row["sender"] for row in rows)
    _add_to_senders(connection, counts)
    column = rejection_senders.c
    counted, new = set(), []
    for some in portions(sorted(counts)):
        many = select(column.sender, column.has_counters)
        many = many.where(column.sender.in_(some), column.many >= MANY)
        for sender, has_counters in connection.execute(many):
            if has_counters:
                counted.add(sender)
            else:
                new.append(sender)
    add_counts(connection, sender_counters, Counter(_sender_keys(rows, named, counted)))
    for some in portions(new):
        added = update(rejection_senders).where(column.sender.in_(some))
        connection.execute(added.values(has_counters=True))
        build_counters(connection, sender_counters, rejections.c.sender.in_(some))


def count_deleted_senders(connection: Connection, rows: _Rows, named: set[str]) -> None:
    """Subtract rows that this transaction is about to delete, by their senders."""
    counts = Counter(row["sender"] for row in rows)
    column = rejection_senders.c
    for some in portions(sorted(counts)):
        of_some = select(column.sender).where(column.sender.in_(some), column.has_counters)
        counted = set(connection.scalars(of_some))
        subtract_counts(connection, sender_counters, Counter(_sender_keys(rows, named, counted)))
        _add_to_senders(connection, {sender: -counts[sender] for sender in some})
        gone = column.sender.in_(some) & (column.many <= 0)
        connection.execute(delete(rejection_senders).where(gone))


def rebuild_senders(connection: Connection) -> None:
    """Count the rejections of all senders again."""
    connection.execute(delete(rejection_senders))
    connection.execute(delete(sender_counters))
    sender, many = rejections.c.sender, func.count()
    counted = select(sender, many, many >= MANY).group_by(sender)
    names = ["sender", "many", "has_counters"]
    connection.execute(insert(rejection_senders).from_select(names, counted))
    counted_senders = select(rejection_senders.c.sender).where(rejection_senders.c.has_counters)
    build_counters(connection, sender_counters, sender.in_(counted_senders))


def has_sender_counters(connection: Connection, sender: Address) -> bool:
    """Whether this sender has counters."""
    column = rejection_senders.c
    query = select(true()).where(column.sender == sender, column.has_counters)
    return connection.execute(query).first() is not None


def _sender_keys(rows: _Rows, named: set[str], senders: set[Address]) -> Iterator[Key]:
    for row in rows:
        if row["sender"] in senders:
            for key in counter_keys(row, named):
                yield row["sender"], *key


def _add_to_senders(connection: Connection, counts: Mapping[Address, int]) -> None:
    rows = [{"sender": sender, "many": many} for sender, many in counts.items()]
    upsert_sums(connection, rejection_senders, rows)
