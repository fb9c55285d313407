"""How revisions define columns and tables without null.

A released revision never changes, and so this module does not either.
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

big = sa.BigInteger()
small = sa.SmallInteger()
integer = sa.Integer()
flag = sa.Boolean()
text = sa.Text()
word_10, word_16, word_20 = map(sa.String, (10, 16, 20))
word_40, word_64, word_200 = map(sa.String, (40, 64, 200))
uuid = sa.Uuid()
json = sa.JSON(none_as_null=True)
hash_32 = sa.LargeBinary(32)
octets = sa.LargeBinary()
row_id = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def key(**kinds: sa.types.TypeEngine[Any]) -> list[sa.Column[Any]]:
    """Return columns of the primary key."""
    return [sa.Column(name, kind, primary_key=True) for name, kind in kinds.items()]


def needed(**kinds: sa.types.TypeEngine[Any]) -> list[sa.Column[Any]]:
    """Return columns that always have a value."""
    return [sa.Column(name, kind, nullable=False) for name, kind in kinds.items()]


def preset(name: str, kind: sa.types.TypeEngine[Any], value: Any) -> sa.Column[Any]:  # noqa: ANN401 - a text or a word of SQL
    """Return a column with a default value."""
    return sa.Column(name, kind, nullable=False, server_default=value)


def optional(**kinds: sa.types.TypeEngine[Any]) -> list[sa.Column[Any]]:
    """Return columns that may be null."""
    return [sa.Column(name, kind) for name, kind in kinds.items()]


def add_index(
    table: str, *columns: str, name: str = "", where: str = "", unique: bool = False
) -> None:
    """Index a table, or those of its rows that meet a condition."""
    of_columns = f"ix_{table}_{'_'.join(columns)}"
    some = sa.text(where) if where else None
    op.create_index(
        name or of_columns,
        table,
        columns,
        unique=unique,
        sqlite_where=some,
        postgresql_where=some,
    )
