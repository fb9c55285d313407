"""Indexes go while many rows come, and are all there again afterwards."""

from __future__ import annotations

import pytest
from sqlalchemy import inspect

from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.copy import copy_store, indexes_made_last
from dashboard.store.schema import metadata, rejections
from tests.databases import DATABASES, new_store
from tests.unit.store.filled_store import content_of, live_in

_POSTGRESQL = """
SELECT 'index', pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class ON oid = indrelid
WHERE relnamespace = current_schema()::regnamespace
UNION ALL
SELECT 'constraint', conrelid::regclass || conname || pg_get_constraintdef(oid) FROM pg_constraint
WHERE connamespace = current_schema()::regnamespace
"""
_SQLITE = "SELECT name, sql FROM sqlite_master WHERE tbl_name != 'sqlite_stat1'"


def rules_of(connection: Connection) -> set[tuple[object, ...]]:
    """Return every index and constraint, in the words of the database."""
    is_postgresql = connection.dialect.name == "postgresql"
    query = _POSTGRESQL if is_postgresql else _SQLITE
    return {tuple(row) for row in connection.exec_driver_sql(query)}


def test_indexes_are_all_there_afterwards(store: Store) -> None:
    with store.write() as connection:
        before = rules_of(connection)
        with indexes_made_last(connection, metadata.sorted_tables):
            between = rules_of(connection)
        after = rules_of(connection)

    assert after == before
    assert len(before) - len(between) > 20


@pytest.mark.parametrize("other", DATABASES)
def test_copy_with_indexes_made_last_is_as_it_was(
    store: Store, other: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    live_in(store)
    with new_store(other, tmp_path_factory.mktemp("other")) as url, open_store(url) as target:
        with store.read() as source, target.write() as connection:
            before = rules_of(connection)
            copied = copy_store(source, connection, large=2)
            assert rules_of(connection) == before
            names = {index["name"] for index in inspect(connection).get_indexes(rejections.name)}
        assert content_of(target) == content_of(store)

    assert copied["rejections"] == 7
    assert names > {"ix_rejections_unparsed"}
