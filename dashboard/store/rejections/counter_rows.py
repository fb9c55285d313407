"""Rows of tallies: which of them a rejection counts in, and all of them made of rejections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
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
    type_coerce,
)

from dashboard.store.engine.upsert import add_up
from dashboard.store.rejections.counter_levels import LENGTHS, Level
from dashboard.store.schema import rejection_modules, rejection_tallies, rejections
from dashboard.store.schema.columns import milliseconds_of, moment_of

OTHERS: Final = "*"
"""Stands for modules that are not tallied by name; no module is called so."""

Key: TypeAlias = tuple[Any, ...]
"""The values of a table's primary key, the beginning of the step in milliseconds."""

_SHARED: Final = tuple(column.name for column in rejection_tallies.primary_key)


def keys_of(row: Mapping[str, Any], named: set[str]) -> Iterator[Key]:
    """Yield the keys of the tallies that count a row of `rejections`; `named` have a name there."""
    module = row["module"]
    called = "" if module is None else module if module in named else OTHERS
    arrived = milliseconds_of(row["first_seen_at"])
    stage, kind = row["tx_rejection_stage"], row["reason_kind"]
    for level in Level:
        yield level, level.beginning(arrived), stage, kind, called, row["network_id"]


def add_counts(connection: Connection, table: Table, counts: Mapping[Key, int]) -> None:
    """Add counts to the tallies with these keys."""
    add_up(connection, table, [_row(table, key, many) for key, many in counts.items()])


def take_counts(connection: Connection, table: Table, counts: Mapping[Key, int]) -> None:
    """Take counts from the tallies with these keys; what counts nothing any more goes."""
    if not counts:
        return
    taken = [_row(table, key, -many) for key, many in counts.items()]
    add_up(connection, table, taken)
    names = [column.name for column in table.primary_key]
    of_key = (table.c[name] == bindparam(f"of_{name}") for name in names)
    empty = delete(table).where(table.c.many == 0, *of_key)
    connection.execute(empty, [{f"of_{name}": row[name] for name in names} for row in taken])


def make_of_rejections(connection: Connection, table: Table, *which: ColumnElement[bool]) -> None:
    """Insert the tallies of all rejections that are meant, which have none yet.

    Where the table tells senders apart, `which` speaks of them alone.
    """
    column = rejections.c
    own = [column.sender] if "sender" in table.c else []
    names = [*(each.name for each in own), *_SHARED, "many"]
    hours = _hours(own, which)
    connection.execute(insert(table).from_select(names, hours))
    made = [table.c.sender.in_(select(column.sender).where(*which))] if own and which else []
    for level in (Level.DAY, Level.WEEK, Level.FOUR_WEEKS, Level.EVER):
        coarser = _from_finer(table, level, made)
        connection.execute(insert(table).from_select(names, coarser))


def counted_anew(table: Table, level: Level, *which: ColumnElement[bool]) -> Select[Any]:
    """Select the tallies of a level as what they are made of says, with all columns in their order.

    That is `rejections` for hours, else the tallies of the next finer level; `which` speaks of it.
    """
    own = [rejections.c.sender] if "sender" in table.c else []
    return _hours(own, which) if level is Level.HOUR else _from_finer(table, level, which)


def _row(table: Table, key: Key, many: int) -> dict[str, Any]:
    row = dict(zip((column.name for column in table.primary_key), key, strict=True))
    return row | {"begins_at": moment_of(row["begins_at"]), "many": many}


def _hours(own: Sequence[ColumnElement[Any]], which: Sequence[ColumnElement[bool]]) -> Select[Any]:
    column, name = rejections.c, rejection_modules.c.module
    arrived = type_coerce(column.first_seen_at, BigInteger)
    module = case((column.module.is_(None), ""), else_=func.coalesce(name, OTHERS))
    keys = (
        *own,
        (arrived - arrived % LENGTHS[Level.HOUR]).label("began"),
        column.tx_rejection_stage,
        column.reason_kind,
        module.label("called"),
        column.network_id,
    )
    counted = select(*keys, func.count().label("many")).where(*which)
    joined = counted.join_from(rejections, rejection_modules, name == column.module, isouter=True)
    return _of_level(Level.HOUR, len(own), joined.group_by(*keys))


def _from_finer(table: Table, level: Level, made: Sequence[ColumnElement[bool]]) -> Select[Any]:
    column = table.c
    begins = type_coerce(column.begins_at, BigInteger)
    first = begins - begins % LENGTHS[level] if level in LENGTHS else begins * 0
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
    finer = counted.where(column.level == Level(level + 1), *made)
    return _of_level(level, len(own), finer.group_by(*keys))


def _of_level(level: Level, own: int, groups: Select[Any]) -> Select[Any]:
    columns = list(groups.subquery().c)
    return select(*columns[:own], literal(int(level), Integer), *columns[own:])
