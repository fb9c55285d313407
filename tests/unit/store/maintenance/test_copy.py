"""Indexes go while many rows come, and are all there again afterwards."""

from __future__ import annotations

import pytest
from sqlalchemy import inspect

from dashboard.store.engine.engine import Store, open_store
from dashboard.store.maintenance.copy import copy_store, indexes_made_last
from dashboard.store.schema import metadata, rejections
from tests.databases import DATABASES, new_store
from tests.released_stores import schema_of
from tests.unit.store.filled_store import content_of, live_in


def test_indexes_are_all_there_afterwards(store: Store) -> None:
    with store.write() as connection:
        before = schema_of(connection)
        with indexes_made_last(connection, metadata.sorted_tables):
            between = schema_of(connection)
        after = schema_of(connection)

    assert after == before
    assert len(before) - len(between) > 20


@pytest.mark.parametrize("other", DATABASES)
def test_copy_with_indexes_made_last_is_as_it_was(
    store: Store, other: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    live_in(store)
    with new_store(other, tmp_path_factory.mktemp("other")) as url, open_store(url) as target:
        with store.read() as source, target.write() as connection:
            before = schema_of(connection)
            copied = copy_store(source, connection, large=2)
            assert schema_of(connection) == before
            names = {index["name"] for index in inspect(connection).get_indexes(rejections.name)}
        assert content_of(target) == content_of(store)

    assert copied["rejections"] == 7
    assert names > {"ix_rejections_unparsed"}
