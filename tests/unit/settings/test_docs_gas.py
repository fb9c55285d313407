"""docs/gas.md: its table loads, and its numbers are those that hold."""

from __future__ import annotations

import re
from pathlib import Path

from dashboard.wiring.networks import networks_of
from tests.processes import PROJECT
from tests.unit.settings.configuration_files import loaded

PAGE = (PROJECT / "docs" / "gas.md").read_text(encoding="utf-8")


def test_settings_of_the_page_load_and_hold_for_their_network(tmp_path: Path) -> None:
    [table] = re.findall(r"^```toml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)

    settings = loaded(tmp_path, table, NODE_URL="http://node.example")
    [network] = networks_of(settings)
    policy = network.fees(settings.fees)

    assert policy.window_blocks == 5000
    assert (policy.busy_percentile, policy.low.priority_fee_floor) == (95, 7)
    assert policy.high.base_fee_share == 125


def test_numbers_of_the_page_are_the_defaults(tmp_path: Path) -> None:
    fees = loaded(tmp_path).fees

    told = dict(re.findall(r"`(\w+_blocks)` \((\d+)\)", PAGE))

    assert {name: int(number) for name, number in told.items()} == {
        name: getattr(fees, name)
        for name in ("recent_blocks", "historical_blocks", "trend_blocks", "history_blocks")
    }
    assert f"the window ({fees.window_blocks:,})" in PAGE
