"""The page about running serve says what is: its settings with their defaults, and its metrics."""

from __future__ import annotations

import re
import tomllib
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from dashboard.serve.counters import Counters
from dashboard.serve.monitoring.serve_metrics import ServeMetrics
from dashboard.serve.monitoring.store_metrics import NetworkFigures, NetworkMetrics, WorkerMetrics
from dashboard.store.alerts.alert_status import NotificationCounts
from dashboard.store.health import WorkState
from dashboard.transport.connection_limits import ConnectionLimiter, ConnectionLimits
from tests.processes import PROJECT

PAGE = (PROJECT / "docs/serve.md").read_text(encoding="utf-8")
LIMITS = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("setting", "default"), LIMITS)
def test_limit_of_the_page_is_a_setting_with_that_default(setting: str, default: str) -> None:
    settings = tomllib.loads(Path(PROJECT / "config/default.toml").read_text(encoding="utf-8"))

    assert str(settings["serve"][setting]) == default


def test_page_lists_every_limit() -> None:
    settings = tomllib.loads(Path(PROJECT / "config/default.toml").read_text(encoding="utf-8"))
    bounds = {name for name in settings["serve"] if name.startswith("largest_")}
    waits = {name for name in settings["serve"] if name.endswith(("_timeout", "_period"))}

    assert (bounds | waits) - dict(LIMITS).keys() == set()


def test_page_names_every_metric_and_no_other() -> None:
    counters = Counters()
    counters.connection_limiter = ConnectionLimiter(ConnectionLimits())
    registry = CollectorRegistry()
    worker = WorkerMetrics({}, lambda: datetime.now(UTC))
    nothing = NotificationCounts(0, None, 0, None, 0)
    worker.work = WorkState(
        has_worker=True,
        answered_at={},
        failing=(),
        incidents=Counter(),
        notifications=nothing,
        free_on_disk=0,
    )
    networks = NetworkMetrics({})
    networks.figures = NetworkFigures({}, {}, {}, {}, {})
    for each in (ServeMetrics(counters, [], lambda: datetime.now(UTC)), worker, networks):
        registry.register(each)

    told = set(re.findall(r"^# TYPE (\w+)", generate_latest(registry).decode(), re.MULTILINE))
    table = PAGE.partition("| metric |")[2].partition("\n\n")[0]
    named = set(re.findall(r"`(linewatch_\w+)`", table))

    assert named == told
