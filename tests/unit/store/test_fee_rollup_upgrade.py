"""What an older store holds of fees is rolled up when it is brought to our schema."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import create_engine, make_url, text

from dashboard.domain.fee_rollup import FeeSeries, RollupLevel, TimedFee, roll_up
from dashboard.domain.quantity import Wei
from dashboard.store.engine.engine import Store, open_store
from dashboard.store.fees.rollups import rollups_between
from dashboard.store.fees.stored_fees import SeriesKey
from dashboard.store.maintenance.migrate import configuration, migrate
from dashboard.store.maintenance.verify_fees import wrong_rollups
from tests.builders import A_NETWORK
from tests.postgresql import empty_database

LEVELS = ", ".join(
    f"{level}_{name}"
    for level in ("low", "medium", "high")
    for name in ("max_fee", "min_wait", "max_wait")
)
OLD_FEES = f"""
INSERT INTO suggested_gas_fees (network_id, asked_at, estimated_base_fee, medium_max_priority_fee,
    low_max_priority_fee, high_max_priority_fee, {LEVELS}, network_congestion,
    latest_priority_fee_from, latest_priority_fee_to, historical_priority_fee_from,
    historical_priority_fee_to, historical_base_fee_from, historical_base_fee_to,
    priority_fee_trend, base_fee_trend)
VALUES (:network_id, :at, :fee, :fee + 1, 1, 3, {"1, " * 9} 0.5, 1, 2, 1, 2, 1, 2, 'up', 'up')
"""  # noqa: S608 - the names are ours
OLD_ESTIMATE = "INSERT INTO estimated_base_fees VALUES (:network_id, :at, :fee)"
OLD_MARK = """
INSERT INTO fee_marks (network_id, operation, asked_at, fee) VALUES
(:network_id, 'busyThreshold', :at, :fee), (:network_id, 'baseFeePercentile', :at, :fee + 1)
"""
LATER = 10**12


@pytest.fixture(name="url")
def empty_url(database: str, tmp_path: Path) -> Iterator[str]:
    """Yield the address of a database without tables."""
    if database == "sqlite":
        yield f"sqlite:///{tmp_path}/linewatch.db"
    else:
        with empty_database() as url:
            yield url


def fill(url: str, *statements: tuple[str, list[tuple[int, int]]]) -> None:
    """Make a store of the seventh schema that holds some fees of a network."""
    driver = "sqlite" if url.startswith("sqlite") else "postgresql+psycopg"
    engine = create_engine(make_url(url).set(drivername=driver))
    with engine.begin() as connection:
        command.upgrade(configuration(connection), "0007")
        for statement, values in statements:
            rows = [{"network_id": A_NETWORK, "at": at, "fee": fee} for at, fee in values]
            connection.execute(text(statement), rows)
    engine.dispose()


def rolled_up(store: Store, series: FeeSeries) -> list[object]:
    """Return what is stored of a series at every level."""
    with store.read() as connection:
        return [
            rollups_between(connection, SeriesKey(A_NETWORK, series), level, 0, LATER)
            for level in RollupLevel
        ]


def expected(values: list[TimedFee]) -> list[object]:
    """Roll values up one by one."""
    found = list(roll_up(values))
    return [
        {each.begins_at: each.rollup for each in found if each.level is level}
        for level in RollupLevel
    ]


def test_fees_of_the_seventh_schema_are_rolled_up(url: str) -> None:
    seen = [(at * 40_000, at % 977 * 10**6) for at in range(3000)]
    estimated = [(at * 40_000 + 1, at) for at in range(100, 200)]
    fill(url, (OLD_FEES, seen), (OLD_ESTIMATE, [*estimated, seen[7]]))

    migrate(url)

    with open_store(url) as store:
        base_fees = rolled_up(store, FeeSeries.ESTIMATED_BASE_FEE)
        priority_fees = rolled_up(store, FeeSeries.MEDIUM_MAX_PRIORITY_FEE)
    all_of_them = sorted(
        [TimedFee(at, Wei(fee)) for at, fee in seen]
        + [TimedFee(at, Wei(fee), is_estimated=True) for at, fee in estimated]
    )
    assert base_fees == expected(all_of_them)
    assert priority_fees == expected([TimedFee(at, Wei(fee + 1)) for at, fee in seen])


def test_marks_of_the_seventh_schema_are_rolled_up(url: str) -> None:
    marks = [(at * 900_000, at * 10**9) for at in range(200)]
    fill(url, (OLD_MARK, marks))

    migrate(url)

    with open_store(url) as store:
        thresholds = rolled_up(store, FeeSeries.BUSY_THRESHOLD)
        percentiles = rolled_up(store, FeeSeries.BASE_FEE_PERCENTILE)
    assert thresholds == expected([TimedFee(at, Wei(fee)) for at, fee in marks])
    assert percentiles == expected([TimedFee(at, Wei(fee + 1)) for at, fee in marks])


def test_base_fees_of_the_seventh_schema_are_judged_by_the_threshold_before_each(url: str) -> None:
    seen = [(at * 40_000, at * 131 % 977) for at in range(3000)]
    estimated = [(at * 40_000 + 1, at * 77 % 977) for at in range(3000)]
    marks = [(at * 900_000, at * 389 % 977) for at in range(2, 134)]
    fill(url, (OLD_FEES, seen), (OLD_ESTIMATE, estimated), (OLD_MARK, marks))

    migrate(url)

    thresholds = dict(marks)
    judged = [
        TimedFee(at, Wei(int(fee > thresholds[at - at % 900_000])), is_estimated)
        for at, fee, is_estimated in sorted(
            [(*each, False) for each in seen] + [(*each, True) for each in estimated]
        )
        if at >= 2 * 900_000
    ]
    with open_store(url) as store:
        found = rolled_up(store, FeeSeries.IS_BUSY)
        with store.read() as connection:
            assert list(wrong_rollups(connection)) == []
    assert found == expected(judged)


def test_store_that_holds_no_fees_gets_no_rollups(url: str) -> None:
    fill(url)

    migrate(url)

    with open_store(url) as store:
        assert rolled_up(store, FeeSeries.ESTIMATED_BASE_FEE) == [{}, {}, {}]
