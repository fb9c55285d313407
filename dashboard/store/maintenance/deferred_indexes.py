"""Indexes that are made when all rows are there, which takes a fraction of adding row by row."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, NamedTuple

from sqlalchemy import Connection, Table

_MEMORY: Final = "SET LOCAL maintenance_work_mem = '128MB'"
"""What PostgreSQL may sort an index in: twice what it has by itself."""

_SQLITE: Final = """
SELECT 'DROP INDEX "' || name || '"', sql FROM sqlite_master
WHERE type = 'index' AND sql IS NOT NULL AND tbl_name IN (SELECT value FROM json_each(?))
"""

# Whatever refers to a key stands in its way, also from other tables, so references go first and
# come last.
_POSTGRESQL: Final = """
SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
       format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s',
              conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint
WHERE contype = 'f' AND (conrelid::regclass = ANY(%(tables)s::regclass[])
                         OR confrelid::regclass = ANY(%(tables)s::regclass[]))
UNION ALL
SELECT format('DROP INDEX %%s', indexrelid::regclass), pg_get_indexdef(indexrelid)
FROM pg_index
WHERE indrelid::regclass = ANY(%(tables)s::regclass[])
  AND NOT EXISTS (SELECT FROM pg_constraint WHERE conindid = indexrelid)
UNION ALL
SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname),
       format('ALTER TABLE %%s ADD CONSTRAINT %%I %%s',
              conrelid::regclass, conname, pg_get_constraintdef(oid))
FROM pg_constraint
WHERE contype IN ('p', 'u') AND conrelid::regclass = ANY(%(tables)s::regclass[])
"""


class _IndexStatements(NamedTuple):
    """How an index, or what rests on one, goes and comes."""

    drop: str
    make: str


@contextmanager
def indexes_made_last(connection: Connection, tables: Sequence[Table]) -> Iterator[None]:
    """Let the tables, which are empty, do without indexes and references; make them afterwards.

    The transaction is undone where rows came that they forbid. SQLite keeps those of unique keys.
    """
    made = _of_tables(connection, [table.name for table in tables]) if tables else []
    for each in made:
        connection.exec_driver_sql(each.drop)
    yield
    for each in reversed(made):
        connection.exec_driver_sql(each.make)


def _of_tables(connection: Connection, names: Sequence[str]) -> list[_IndexStatements]:
    """Return all of it in the order in which it can go."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(_MEMORY)
        found = connection.exec_driver_sql(_POSTGRESQL, {"tables": list(names)})
    else:
        found = connection.exec_driver_sql(_SQLITE, (json.dumps(names),))
    return [_IndexStatements(*row) for row in found]
