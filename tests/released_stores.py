"""Stores as an earlier release left them, made of the statements of its time."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from sqlalchemy import Connection

from dashboard.store.maintenance.migrate import upgrade_to

_FOLDER: Final = Path(__file__).parent / "released"
_BEHIND_EACH: Final = ";;\n"


def make_released(connection: Connection, schema: str) -> None:
    """Create the tables of a released schema in an empty database."""
    statements = (_FOLDER / f"0.1.0.{connection.dialect.name}.sql").read_text(encoding="utf-8")
    for statement in statements.split(_BEHIND_EACH):
        if statement := statement.strip():
            connection.exec_driver_sql(statement)
    upgrade_to(connection, schema)


_OF_SQLITE: Final = """
SELECT t.name, c.name || ' ' || c.type || ' ' || c."notnull" || ' ' || c.pk,
    coalesce(c.dflt_value, '')
FROM sqlite_schema t, pragma_table_info(t.name) c
WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%'
UNION ALL SELECT t.name, f."table" || ' ' || f."from", f."to"
FROM sqlite_schema t, pragma_foreign_key_list(t.name) f
UNION ALL SELECT name, sql LIKE '%AUTOINCREMENT%', sql LIKE '%WITHOUT ROWID%'
FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'
UNION ALL SELECT tbl_name, type,
    coalesce(sql, (SELECT group_concat(i.name) FROM pragma_index_info(s.name) i))
FROM sqlite_schema s WHERE type <> 'table'
"""
_OF_POSTGRESQL: Final = """
SELECT table_name, column_name, concat_ws(' ', data_type, character_maximum_length, is_nullable,
    column_default)
FROM information_schema.columns WHERE table_schema = current_schema()
UNION ALL SELECT indrelid::regclass::text, 'index', pg_get_indexdef(indexrelid)
FROM pg_index JOIN pg_class ON oid = indrelid
WHERE relnamespace = current_schema()::regnamespace
UNION ALL SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid)
FROM pg_constraint WHERE connamespace = current_schema()::regnamespace
UNION ALL SELECT tgrelid::regclass::text, 'trigger', pg_get_triggerdef(oid)
FROM pg_trigger WHERE NOT tgisinternal
UNION ALL SELECT '', 'function', pg_get_functiondef(oid)
FROM pg_proc WHERE pronamespace = current_schema()::regnamespace
"""


def schema_of(connection: Connection) -> set[tuple[object, ...]]:
    """Return every column, index, reference and trigger, in the words of the database."""
    is_postgresql = connection.dialect.name == "postgresql"
    found = connection.exec_driver_sql(_OF_POSTGRESQL if is_postgresql else _OF_SQLITE)
    return {tuple(row) for row in found}
