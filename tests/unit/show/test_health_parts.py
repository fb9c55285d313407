"""Parts of Health by themselves: damage of one leaves the others, and fees over plan are said."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.application.application import Application
from dashboard.application.context import PageSettings
from dashboard.domain.health.budgets import Budget
from dashboard.domain.health.observation import Cost, Operation, Spent
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import acquire
from dashboard.store.monitoring.upkeep import record_credits
from tests.browser.seeded_store import SIMULATED
from tests.unit.show.page_runs import visit, visit_in, words_of

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)
MINUTE = timedelta(minutes=1)


@pytest.mark.parametrize(
    ("table", "said", "heads"),
    [
        ("answer_counts", "", ("Worker", "Notifications", "Storage")),
        ("credit_ledger", "Sources cannot be", ("Worker", "Notifications", "Storage")),
        ("leases", "The worker cannot be", ("Notifications", "Storage")),
        ("deliveries", "Notifications cannot be", ("Worker", "Storage")),
        ("store_sizes", "Storage cannot be", ("Worker", "Notifications")),
        ("cohorts", "", ("Worker", "Notifications", "Storage")),
        ("coverage_gaps", "Sources cannot be", ("Worker", "Notifications", "Storage")),
    ],
)
def test_damage_of_one_part_leaves_the_others_alive(
    queries: Application, store: Store, table: str, said: str, heads: tuple[str, ...]
) -> None:
    with store.write() as connection:
        connection.exec_driver_sql(f"ALTER TABLE {table} RENAME TO damaged")

    words = words_of(visit("health", queries))

    assert words.count("The store cannot be read.") == 1 + (table in {"coverage_gaps", "cohorts"})
    assert ("Busy threshold" in words) is (table not in {"credit_ledger", "coverage_gaps"})
    for head in ("Worker", "Notifications", "Storage"):
        assert (f"<h2>{head}</h2>" in words) is (head in heads)
    assert f"{said} read from the store." in words if said else "read from the store" not in words
    overview = words_of(visit_in(None, "overview", queries, {"attention-all": True}))
    assert overview.count("The store cannot be read.") == (table == "coverage_gaps")
    assert (f"{said} read from the store." in overview) is bool(said)


def test_fees_over_plan_are_said_in_words_with_a_sign(store: Store) -> None:
    planned = replace(SIMULATED, cost=Cost(gas_credits=1_000))
    fees, hashes = Operation.BUSY_THRESHOLD.value, Operation.EXCLUSION_STATUS.value
    spent = {fees: Spent(9, 1_500), hashes: Spent(9, 9_000)}
    others = [replace(planned, network_id=NetworkId(each), name=f"N{each}") for each in (7, 8)]
    with store.write() as connection:
        acquire(connection, "worker", "host-1/77/abc", MINUTE)
        record_credits(connection, planned.network_id, NOW, spent)
        record_credits(connection, NetworkId(7), NOW, {fees: Spent(9, 1_050)})

    queries = Application(store, (planned, *others), None, lambda: NOW)
    rows = words_of(visit("health", queries))
    alone = words_of(visit("health", queries, network="Devnet"))

    said = "Its fees took 1,500 of the 1,000 credits planned for a day, 50% over plan."
    assert "Devnet spends more credits than planned." in rows
    assert "N7 spends" not in rows
    assert rows.count("Over plan") == 1
    assert "10,500" in rows
    assert alone.count(said) == 2
    assert "Over plan" in alone


def test_plan_is_one_table_with_a_head_for_each_network(store: Store) -> None:
    cost = Cost({"small": Spent(2, 160)}, {"small": Spent(9, 1_000)})
    charged = replace(SIMULATED, cost=cost)
    short = PageSettings(budgets=[Budget("small", credits_per_day=10_000)])

    queries = Application(store, (charged,), None, lambda: NOW, settings=short)
    words = words_of(visit("health", queries))

    plan = words[words.index('<table class="lw-plan"') :]
    assert "fees 9 calls, 1,000 credits a day" in plan
    assert plan.count(" in force") == 1
    assert "The budget small has 9,000 credits a day for polls" in plan
