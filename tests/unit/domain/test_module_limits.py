"""A table of limits is a value like any other: it can be compared, and be part of a key."""

from __future__ import annotations

from dashboard.domain.rejections.reasons import ModuleLimits


def test_table_of_limits_can_be_part_of_a_key() -> None:
    one, same = (ModuleLimits("mainnet", "v1", "a file", {"HUB": 8}) for _ in range(2))

    assert {one: "kept"}[same] == "kept"


def test_tables_with_other_limits_are_other_tables() -> None:
    one, other = (ModuleLimits("mainnet", "v1", "a file", {"HUB": limit}) for limit in (8, 9))

    assert one != other
