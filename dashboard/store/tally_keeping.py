"""Tallies are kept: each rejection is counted in when it is inserted, and out when it is deleted.

That is five rows for a rejection, in the transaction that writes it; many that arrive together
share them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from sqlalchemy import (
    BigInteger,
    Connection,
    Integer,
    Select,
    bindparam,
    case,
    delete,
    func,
    insert,
    literal,
    select,
    type_coerce,
)

from dashboard.store.columns import milliseconds_of, moment_of
from dashboard.store.schema import rejection_modules, rejection_tallies, rejections
from dashboard.store.tally_levels import LENGTHS, Level
from dashboard.store.upsert import add_up

MOST_MODULES: Final = 1000
"""Modules that are tallied by name. A name once tallied stays; what is beyond goes under `OTHERS`:
a node that makes names up must not make as many tallies as it makes rejections."""

OTHERS: Final = "*"
"""Stands for modules that are not tallied by name; no module is called so."""

_Key: TypeAlias = tuple[int, int, str, str, str, int]
_NAMES: Final = tuple(column.name for column in rejection_tallies.primary_key)


def count_in(
    connection: Connection, rows: Sequence[Mapping[str, Any]], most_modules: int = MOST_MODULES
) -> None:
    """Count rows of `rejections` that this transaction inserts."""
    named = _admitted(connection, [row["module"] for row in rows], most_modules)
    counts = Counter(key for row in rows for key in _keys(row, named))
    add_up(connection, rejection_tallies, [_row(key, many) for key, many in counts.items()])


def count_out(connection: Connection, rejection_ids: Sequence[int]) -> None:
    """Take rejections out of the tallies; to be called before this transaction deletes them."""
    column = rejections.c
    query = select(
        column.network_id,
        column.tx_rejection_stage,
        column.reason_kind,
        column.module,
        column.first_seen_at,
    ).where(column.rejection_id.in_(rejection_ids))
    rows = [row._asdict() for row in connection.execute(query)]
    named = _known(connection, {row["module"] for row in rows})
    counts = Counter(key for row in rows for key in _keys(row, named))
    if counts:
        taken = [_row(key, -many) for key, many in counts.items()]
        add_up(connection, rejection_tallies, taken)
        connection.execute(_without_any(), [_bound(each) for each in taken])


def rebuild_tallies(connection: Connection, most_modules: int = MOST_MODULES) -> None:
    """Count every rejection anew, for who wrote past `count_in`; takes seconds for a million."""
    connection.execute(delete(rejection_tallies))
    connection.execute(delete(rejection_modules))
    module, many = rejections.c.module, func.count()
    commonest = select(module).where(module.is_not(None)).group_by(module).order_by(many.desc())
    names = insert(rejection_modules).from_select(["module"], commonest.limit(most_modules))
    connection.execute(names)
    columns = [*_NAMES, "many"]
    connection.execute(insert(rejection_tallies).from_select(columns, _hours()))
    for level in (Level.DAY, Level.WEEK, Level.FOUR_WEEKS, Level.EVER):
        connection.execute(insert(rejection_tallies).from_select(columns, _from_finer(level)))


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


def _keys(row: Mapping[str, Any], named: set[str]) -> list[_Key]:
    module = row["module"]
    called = "" if module is None else module if module in named else OTHERS
    arrived = milliseconds_of(row["first_seen_at"])
    stage, kind = row["tx_rejection_stage"], row["reason_kind"]
    return [
        (level, level.beginning(arrived), stage, kind, called, row["network_id"]) for level in Level
    ]


def _row(key: _Key, many: int) -> dict[str, Any]:
    row = dict(zip(_NAMES, key, strict=True))
    return row | {"begins_at": moment_of(key[1]), "many": many}


def _without_any() -> Any:  # noqa: ANN401 - a statement
    """Return the statement that deletes a tally that counts nothing any more."""
    of_key = (rejection_tallies.c[name] == bindparam(f"of_{name}") for name in _NAMES)
    return delete(rejection_tallies).where(rejection_tallies.c.many == 0, *of_key)


def _bound(row: Mapping[str, Any]) -> dict[str, Any]:
    return {f"of_{name}": row[name] for name in _NAMES}


def _hours() -> Select[Any]:
    column, name = rejections.c, rejection_modules.c.module
    arrived = type_coerce(column.first_seen_at, BigInteger)
    module = case((column.module.is_(None), ""), else_=func.coalesce(name, OTHERS))
    keys = (
        (arrived - arrived % LENGTHS[Level.HOUR]).label("began"),
        column.tx_rejection_stage,
        column.reason_kind,
        module.label("called"),
        column.network_id,
    )
    counted = select(*keys, func.count().label("many"))
    joined = counted.join_from(rejections, rejection_modules, name == column.module, isouter=True)
    groups = joined.group_by(*keys).subquery()
    return select(literal(int(Level.HOUR), Integer), *groups.c)


def _from_finer(level: Level) -> Select[Any]:
    column = rejection_tallies.c
    begins = type_coerce(column.begins_at, BigInteger)
    first = begins - begins % LENGTHS[level] if level in LENGTHS else begins * 0
    keys = (
        first.label("began"),
        column.tx_rejection_stage,
        column.reason_kind,
        column.module,
        column.network_id,
    )
    counted = select(*keys, func.sum(column.many).label("many"))
    groups = counted.where(column.level == Level(level + 1)).group_by(*keys).subquery()
    return select(literal(int(level), Integer), *groups.c)
