"""A store of the 18th schema knows labels, senders of many, and records of every network."""

from __future__ import annotations

from typing import Any

from alembic import command
from sqlalchemy import Connection, Table, column, create_engine, make_url, select, table

from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.migrate import configuration, migrate
from dashboard.store.maintenance.verify_senders import wrong_senders
from dashboard.store.rejections.counters import MANY
from dashboard.store.rejections.save import row_of_record
from dashboard.store.schema import (
    cohorts,
    rejection_senders,
    rejections,
    sender_tallies,
    tracked_hashes,
    tracked_labels,
    watched_cohorts,
)
from dashboard.store.tracking.search import (
    RecordStatus,
    TrackedFilter,
    count_tracked,
    search_tracked,
)
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, an_address

DERIVED = (rejection_senders, sender_tallies, tracked_labels)
OLD_COHORT = {"cohort_id": 1, "tracked_at": A_MOMENT, "size": 4}
OLD_WATCH = {
    "cohort_id": 1,
    "network_id": A_NETWORK,
    "watch_id": 1,
    "watched_at": A_MOMENT,
    "born_at": A_MOMENT,
    "is_rejected": False,
}


def fill_18th_schema(url: str) -> None:
    """Make a store of that schema: two of four tracked hashes have a record elsewhere."""
    driver = "sqlite" if url.startswith("sqlite") else "postgresql+psycopg"
    engine = create_engine(make_url(url).set(drivername=driver))
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0018")
        rejected = [
            row_of_record(
                a_record(tx_hash=a_hash(number), sender=an_address(number > MANY)),
                ANOTHER_NETWORK,
                A_MOMENT,
            )
            for number in range(1, MANY + 3)
        ]
        insert(connection, rejections, rejected)
        insert(connection, cohorts, [OLD_COHORT])
        insert(connection, watched_cohorts, [OLD_WATCH])
        numbers = (1, 2, MANY + 3, MANY + 4)
        labels = ("Case 17", "", "Case 17", "b")
        insert(
            connection,
            tracked_hashes,
            [
                {"tx_hash": a_hash(number), "cohort_id": 1, "label": label, "note": ""}
                for number, label in zip(numbers, labels, strict=True)
            ],
        )
        if driver != "sqlite":
            connection.exec_driver_sql("SELECT setval('cohorts_cohort_id_seq', 1)")
    engine.dispose()


def insert(connection: Connection, into: Table, rows: list[dict[str, Any]]) -> None:
    old = table(into.name, *(column(name, into.c[name].type) for name in rows[0]))
    connection.execute(old.insert(), rows)


def held(connection: Connection) -> list[set[tuple[Any, ...]]]:
    return [{tuple(row) for row in connection.execute(select(each))} for each in DERIVED]


def test_what_is_counted_is_what_counting_anew_gives(empty_url: str) -> None:
    fill_18th_schema(empty_url)

    migrate(empty_url)

    with open_store(empty_url) as store, store.write() as connection:
        found = held(connection)
        assert [len(rows) for rows in found] == [2, 5, 2]
        assert list(wrong_senders(connection)) == []


def test_records_where_a_hash_is_not_watched_are_known(empty_url: str) -> None:
    fill_18th_schema(empty_url)

    migrate(empty_url)

    rejected = TrackedFilter(standing=RecordStatus.REJECTED)
    with open_store(empty_url) as store, store.read() as connection:
        found = search_tracked(connection, rejected, 5)
        assert {each.tx_hash for each in found} == {a_hash(1), a_hash(2)}
        assert count_tracked(connection, rejected) == 2
        assert count_tracked(connection, TrackedFilter()) == 4
        assert count_tracked(connection, TrackedFilter(A_NETWORK, RecordStatus.REJECTED)) == 0
