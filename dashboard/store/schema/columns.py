"""What all tables share: metadata, predictable names, exact column types, records."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from enum import Enum
from functools import cache
from inspect import signature
from types import UnionType
from typing import Any, Final, TypeVar, get_args, get_type_hints

from sqlalchemy import (
    BigInteger,
    Column,
    ColumnElement,
    Connection,
    Dialect,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Row,
    RowMapping,
    Table,
    Text,
    event,
)
from sqlalchemy.types import TypeDecorator, TypeEngine

from dashboard.domain.quantity import Address, TxHash

T = TypeVar("T")

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECOND: Final = timedelta(milliseconds=1)
_UNSTORABLE: Final = re.compile("[\\\\\0\ud800-\udfff]")
_ESCAPED: Final = re.compile(r"\\u([0-9a-f]{4})")
_CONDITION: Final = "where"


class Exact(TypeDecorator[T]):
    """A domain value in a form of the database; null stays null."""

    impl: TypeEngine[Any] | type[TypeEngine[Any]] = BigInteger
    cache_ok: bool | None = True

    def __init__(
        self, storage: TypeEngine[Any], write: Callable[[T], Any], read: Callable[[Any], T]
    ) -> None:
        """Keep values as `storage`; `write` and `read` turn one form into the other."""
        super().__init__()
        self.impl = self.storage = storage
        self.write = write
        self.read = read

    def process_bind_param(self, value: T | None, dialect: Dialect) -> Any:  # noqa: ANN401, ARG002 - what the driver takes; named by SQLAlchemy
        return None if value is None else self.write(value)

    def process_result_value(self, value: Any, dialect: Dialect) -> T | None:  # noqa: ANN401, ARG002 - what the driver gives; named by SQLAlchemy
        return None if value is None else self.read(value)


def milliseconds_of(moment: datetime) -> int:
    """Return whole milliseconds since the epoch, rounded down.

    Refuses a naive datetime: nobody knows which moment it means.
    """
    if moment.utcoffset() is None:
        msg = f"{moment!r} has no time zone and cannot be stored"
        raise ValueError(msg)
    return (moment - _EPOCH) // _MILLISECOND


def moment_of(milliseconds: int) -> datetime:
    """Return the moment in UTC."""
    return _EPOCH + milliseconds * _MILLISECOND


def escape(text: str) -> str:
    r"""Escape what databases cannot store, and the backslash that marks it, as ``\u0000``.

    PostgreSQL stores no U+0000, and neither database lone surrogates.
    """
    return _UNSTORABLE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def unescape(text: str) -> str:
    """Return the text exactly as it was before `escape`."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text)


Moment: Final = Exact(BigInteger(), milliseconds_of, moment_of)
"""An aware datetime, to the millisecond."""

Duration: Final = Exact(
    BigInteger(), lambda length: length // _MILLISECOND, lambda count: count * _MILLISECOND
)
"""A duration, to the millisecond."""

Hash: Final = Exact(LargeBinary(TxHash.LENGTH), bytes, TxHash)
Account: Final = Exact(LargeBinary(Address.LENGTH), bytes, Address)

Unsigned: Final = Exact(
    LargeBinary(8),
    lambda number: number.to_bytes(8, "big"),
    lambda octets: int.from_bytes(octets, "big"),
)
"""A 64-bit unsigned number as bytes that sort like it; nonces go up to 2^64 - 2."""

ForeignText: Final = Exact(Text(), escape, unescape)
"""Text from outside, exactly as sent."""

Digest: Final = LargeBinary(32)
Network: Final = BigInteger()
WeiAmount: Final = BigInteger()

RowId: Final = BigInteger().with_variant(Integer(), "sqlite")
"""A number given by the database; SQLite only numbers a column whose type is called INTEGER."""


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def table(name: str, *items: Any, **options: Any) -> Table:  # noqa: ANN401 - as SQLAlchemy's Table takes them
    """Add a table to those of the store."""
    return Table(name, metadata, *items, **options)


def partial_index(
    name: str, *columns: ColumnElement[Any], where: ColumnElement[bool], unique: bool = False
) -> Index:
    """Index those rows of a table that meet a condition.

    The condition waits until the table is created: the option for PostgreSQL makes SQLAlchemy
    import all that it has about PostgreSQL, which takes a twentieth of the time of a command.
    """
    return Index(name, *columns, unique=unique, info={_CONDITION: where})


@event.listens_for(metadata, "before_create")
def _state_conditions(target: MetaData, connection: Connection, **_: object) -> None:
    """Give indexes their condition, in the option of the database that creates them."""
    for each in target.tables.values():
        for index in each.indexes:
            if _CONDITION in index.info:
                index.dialect_kwargs[f"{connection.dialect.name}_where"] = index.info[_CONDITION]


def needed(name: str, kind: Any, *more: Any, **options: Any) -> Column[Any]:  # noqa: ANN401 - as SQLAlchemy's Column takes them
    """Return a column that always has a value."""
    return Column(name, kind, *more, nullable=False, **options)


def key(name: str, kind: Any, *more: Any, **options: Any) -> Column[Any]:  # noqa: ANN401 - as SQLAlchemy's Column takes them
    """Return a column of the primary key."""
    return Column(name, kind, *more, primary_key=True, **options)


@cache
def _shared(
    kind: Callable[..., Any], of: Table
) -> tuple[tuple[str, Column[Any], type[Enum] | None], ...]:
    """Return the fields of a record that are columns of a table; for words, with their parser."""
    hints = get_type_hints(kind)
    names = [name for name in signature(kind).parameters if name in of.c]
    return tuple((name, of.c[name], _enumeration_in(hints[name])) for name in names)


def _enumeration_in(hint: Any) -> type[Enum] | None:  # noqa: ANN401 - a type as typing writes it has no type of its own
    kinds = get_args(hint) if isinstance(hint, UnionType) else (hint,)
    return next((each for each in kinds if isinstance(each, type) and issubclass(each, Enum)), None)


def read_as(
    kind: Callable[..., T],
    row: Row[*tuple[Any, ...]] | RowMapping,
    of: Table,
    **beside: Any,  # noqa: ANN401 - any fields
) -> T:
    """Read a record: each field is the column of its name, or is given in `beside`."""
    held = row if isinstance(row, RowMapping) else row._mapping  # noqa: SLF001 - the public name of a row's columns
    for name, column, enumeration in _shared(kind, of):
        if name not in beside:
            value = held[column]
            beside[name] = enumeration(value) if enumeration and value is not None else value
    return kind(**beside)


def columns_of(of: Table, record: Any, **beside: Any) -> dict[str, Any]:  # noqa: ANN401 - any record, any columns
    """Return a row for a table: the fields of a record that are its columns, and `beside`.

    A number that the database gives is left out.
    """
    shared = _shared(record.__class__, of)
    said = {
        name: getattr(record, name)
        for name, column, _ in shared
        if not (column.primary_key and column.type is RowId)
    }
    return said | beside
