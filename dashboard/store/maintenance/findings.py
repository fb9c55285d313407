"""What verifying finds and what helps; first of all, values that no page can show.

Reading such a value fails, so values are checked before anything that is derived from them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from functools import cache
from itertools import islice
from typing import Any, Final, NamedTuple

from sqlalchemy import (
    JSON,
    URL,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    Connection,
    Float,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    Uuid,
    and_,
    case,
    func,
    or_,
    select,
    type_coerce,
)
from sqlalchemy.types import TypeEngine

from dashboard.domain.quantity import Address, TxHash
from dashboard.store.schema import fee_rollups, metadata
from dashboard.store.schema.columns import Account, Exact, Hash, Moment, milliseconds_of

RESTORE: Final = "restore a backup from before: `linewatch restore FILE`"
REBUILD: Final = (
    "run `linewatch rebuild`, which computes it again from the data that it is derived from"
)

_LISTED: Final = 10


class Finding(NamedTuple):
    """Something that is wrong, and what helps.

    `is_rebuildable`: it is derived from other data in the store.
    """

    what: str
    remedy: str
    is_rebuildable: bool = False


def rebuildable(what: str) -> Finding:
    return Finding(what, REBUILD, is_rebuildable=True)


def first_of(found: Iterable[Finding], more: str) -> Iterator[Finding]:
    """Yield the first findings one by one, then how many `more` there are."""
    rest = iter(found)
    yield from islice(rest, _LISTED)
    left = {True: 0, False: 0}
    for each in rest:
        left[each.is_rebuildable] += 1
    for is_rebuildable, many in left.items():
        if many:
            what = f"{more}: {many:,} more"
            yield rebuildable(what) if is_rebuildable else Finding(what, RESTORE)


_FIRST: Final = milliseconds_of(datetime(1, 1, 1, tzinfo=UTC))
_AFTER_LAST: Final = milliseconds_of(datetime(9999, 12, 31, tzinfo=UTC))
_LENGTHS: Final[dict[TypeEngine[Any], int]] = {Hash: TxHash.LENGTH, Account: Address.LENGTH}
_KEPT_AS: Final[tuple[tuple[type[Any] | tuple[type[Any], ...], tuple[str, ...]], ...]] = (
    ((Integer, Boolean), ("integer",)),
    (Float, ("real", "integer")),
    (LargeBinary, ("blob",)),
    ((String, Uuid, JSON), ("text",)),
)
"""The results of SQLite's typeof for the values of a column."""


def unreadable_values(connection: Connection) -> Iterator[tuple[Table, Finding]]:
    """Yield the columns with unreadable values, with their table; PostgreSQL allows few."""
    for table in metadata.sorted_tables:
        for name, many in _wrong_in(connection, table).items():
            what = f"values of {table.name}.{name} without the form of that column: {many:,}"
            yield table, Finding(what, RESTORE)


def _wrong_in(connection: Connection, table: Table) -> dict[str, int]:
    """Return how many values are wrong in each column that has any, in one pass."""
    names, counts = _count_of_wrong(table, connection.engine.url.drivername)
    if not names:
        return {}
    row = connection.exec_driver_sql(counts).one()
    return {name: many for name, many in zip(names, row, strict=True) if many}


@cache
def _count_of_wrong(table: Table, driver: str) -> tuple[tuple[str, ...], str]:
    """Return which columns can have a wrong value, and the query that counts them.

    The query is built once: that takes far longer than answering it for a small table.
    """
    form = URL.create(driver).get_dialect()()
    found = {each.name: list(_faults(each, form.name)) for each in table.columns}
    wrong = {
        name: and_(table.c[name].is_not(None), or_(*faults))
        for name, faults in found.items()
        if faults
    }
    counts = (func.count(case((each, 1))) for each in wrong.values())
    query = select(*counts).select_from(table)
    return tuple(wrong), str(query.compile(dialect=form, compile_kwargs={"literal_binds": True}))


def _faults(column: Column[Any], dialect: str) -> Iterator[ColumnElement[bool]]:
    kind = column.type
    plain = kind.storage if isinstance(kind, Exact) else kind
    if dialect == "sqlite":
        forms = next(forms for kinds, forms in _KEPT_AS if isinstance(plain, kinds))
        yield func.typeof(column, type_=Text()).not_in(forms)
        if isinstance(plain, JSON):
            yield func.json_valid(column, type_=Integer()) == 0
        if isinstance(plain, Uuid):
            yield type_coerce(column, Text).op("GLOB")("*[^0-9a-f]*")
            yield func.length(column, type_=Integer()) != 32  # noqa: PLR2004 - its hexadecimal digits
    if kind is Moment or (column.table is fee_rollups and column.name.endswith("_at")):
        at = type_coerce(column, BigInteger)
        yield or_(at < _FIRST, at >= _AFTER_LAST)
    if kind in _LENGTHS:
        yield func.length(column, type_=Integer()) != _LENGTHS[kind]
