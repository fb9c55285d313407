"""A store of the seventh schema, which kept no tallies, has them all afterwards."""

from __future__ import annotations

from alembic import command
from sqlalchemy import column, create_engine, make_url, select, table

from dashboard.domain.rejection_filter import RejectionFilter
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.migrate import configuration, migrate
from dashboard.store.rejections.counters import rebuild_counters
from dashboard.store.rejections.counts import count_rejections
from dashboard.store.rejections.save import row_of_record
from dashboard.store.schema import rejection_tallies, rejections
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, a_hash, a_record, seconds

REASONS = (
    "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)",
    "TX_MODULE_LINE_COUNT_OVERFLOW",
    "who knows",
)


def fill_seventh_schema(url: str) -> None:
    """Make a store of that schema, with rejections of some weeks."""
    engine = create_engine(make_url(url).set(drivername=driver_of(url)))
    names = list(row_of_record(a_record(), A_NETWORK, A_MOMENT))
    old = table("rejections", *(column(name, rejections.c[name].type) for name in names))
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0007")
        for number in range(60):
            record = a_record(tx_hash=a_hash(number), reason_message=REASONS[number % 3])
            network_id = ANOTHER_NETWORK if number % 4 else A_NETWORK
            at = A_MOMENT + seconds(number * 40_000)
            connection.execute(old.insert().values(row_of_record(record, network_id, at)))
    engine.dispose()


def driver_of(url: str) -> str:
    return "sqlite" if url.startswith("sqlite") else "postgresql+psycopg"


def test_rejections_of_the_seventh_schema_are_tallied(empty_url: str) -> None:
    fill_seventh_schema(empty_url)

    migrate(empty_url)

    with open_store(empty_url) as store, store.write() as connection:
        tallied = {tuple(row) for row in connection.execute(select(rejection_tallies))}
        assert count_rejections(connection, RejectionFilter()) == 60
        assert count_rejections(connection, RejectionFilter(A_NETWORK, module="HUB")) == 5
        rebuild_counters(connection)
        assert tallied == {tuple(row) for row in connection.execute(select(rejection_tallies))}
