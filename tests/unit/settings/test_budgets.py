"""Budgets in the settings: what cannot be kept is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.settings.configuration_files import loaded, read


def refused(folder: Path, text: str) -> str:
    """Return what is wrong with the settings."""
    return " ".join(str(each) for each in read(folder, text).mistakes())


BUDGETS = {
    "less than one call": ("credits_per_day = 88", "leaves polls 79 credits a day, and one call"),
    "less than the dearest call": (
        "credits_per_day = 89\ncredits = { eth_feeHistory = 90 }",
        "one call costs up to 90: raise it",
    ),
    "a misspelt method": (
        "credits = { linea_getTransactionExclusionStatusV2 = 5 }",
        "is not a method of Linewatch: did you mean getTransactionExclusionStatusV1?",
    ),
    "no method at all": ("credits = { x = 5 }", "choose one of suggestedGasFees, baseFeeHistory"),
    "no turn for look-ups": ("requests_at_once = 1", "write 2, or reserve = 0"),
}


@pytest.mark.parametrize(("text", "said"), BUDGETS.values(), ids=BUDGETS.keys())
def test_budget_that_cannot_be_kept_is_refused(tmp_path: Path, text: str, said: str) -> None:
    assert said in refused(tmp_path, f"[budgets.gateway]\n{text}\n")


NODE = """
[networks.mine]
network_id = 5
nodes = [{ url = "http://n", budget = "BUDGET" }]
[budgets.gateway]
credits_per_day = CREDITS
"""


def test_budget_of_a_node_has_to_exist_and_to_suffice_for_fees(tmp_path: Path) -> None:
    unknown = NODE.replace("BUDGET", "gatewy").replace("CREDITS", "0")
    small = NODE.replace("BUDGET", "gateway").replace("CREDITS", "1_000_000")

    assert "networks.mine.nodes.0.budget" in refused(tmp_path, unknown)
    assert "not a table of [budgets]: there are gateway" in refused(tmp_path, unknown)
    assert "serve_fees = false" in refused(tmp_path, small)


def test_budget_that_allows_one_call_is_taken(tmp_path: Path) -> None:
    text = "[budgets.gateway]\ncredits_per_day = 89\ncredits = { busyThreshold = 8 }\n"

    assert loaded(tmp_path, text).budgets["gateway"].credits_per_day == 89
