"""Which table of module limits goes with a network, and what is wrong with one that does not."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path

import pytest

from dashboard.errors import SettingsError
from dashboard.settings import NetworkSettings
from dashboard.settings.presets import line_limits_of, table_names, usual_limits_of
from dashboard.settings.schema import LimitPeriodSettings
from tests.builders import A_MOMENT

LINEA = 59144


def title_for(network_id: int, named: str = "") -> str | None:
    limits = usual_limits_of(NetworkSettings(network_id=network_id, module_limits=named))
    return None if limits is None else limits.title


@pytest.mark.parametrize(
    ("network_id", "title"),
    [(LINEA, "Linea mainnet, 2026-05-12"), (59141, "Linea Sepolia, 2026-06-12"), (1, None)],
)
def test_table_for_a_network_is_found_by_its_id(network_id: int, title: str | None) -> None:
    assert title_for(network_id) == title


@pytest.mark.parametrize("name", table_names())
def test_every_table_can_be_named_and_names_its_source(name: str) -> None:
    limits = usual_limits_of(NetworkSettings(network_id=1, module_limits=name))

    assert limits is not None
    assert re.search(r"[0-9a-f]{40}$", limits.source)


def test_tables_hold_what_was_published() -> None:
    mainnet, sepolia, limitless = (
        usual_limits_of(NetworkSettings(network_id=1, module_limits=f"linea-{name}"))
        for name in ("mainnet", "sepolia", "limitless")
    )

    assert mainnet is not None
    assert sepolia is not None
    assert limitless is not None
    assert len(mainnet.limits) == 63
    assert (mainnet.limit_of("ROM"), mainnet.limit_of("PRECOMPILE_RIPEMD_BLOCKS")) == (16777216, 0)
    assert dict(sepolia.limits) == {**mainnet.limits, "HUB": 2 * mainnet.limits["HUB"]}
    assert [name for name, limit in limitless.limits.items() if limit == 0] == (
        ["BLS", "RIP", "MODEXP", "BLAKE", "POINT_EVAL"]
    )


def test_file_of_ones_own_node_goes_before_the_table_of_the_network(tmp_path: Path) -> None:
    own = tmp_path / "limits.toml"
    own.write_text("[traces-limits]\nADD = 5\n", encoding="utf-8")

    assert title_for(LINEA, str(own)) == "the node's own file"


@pytest.mark.parametrize(
    ("named", "said"),
    [
        ("linea-mainet", "not a table of module limits: write one of linea-dev-v4.4, "),
        ("/nowhere/limits.toml", "/nowhere/limits.toml cannot be read: No such file"),
        ("/nowhere/a\0b", r"/nowhere/a\\0b cannot be read: No such file"),
    ],
)
def test_table_that_does_not_exist_is_named_with_the_remedy(named: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        title_for(LINEA, named)


@pytest.mark.parametrize("text", [b"ADD = 5", b"\xff"])
def test_file_that_is_no_table_is_named(tmp_path: Path, text: bytes) -> None:
    own = tmp_path / "limits.toml"
    own.write_bytes(text)

    with pytest.raises(SettingsError, match=r"limits\.toml cannot be used"):
        title_for(LINEA, str(own))


def periods(*bounds: tuple[int, int]) -> list[LimitPeriodSettings]:
    """Return periods of two tables from hour to hour; zero is no bound."""
    return [
        LimitPeriodSettings(
            f"linea-{name}",
            *(A_MOMENT + timedelta(hours=hour) if hour else None for hour in hours),
        )
        for name, hours in zip(("sepolia", "limitless"), bounds, strict=True)
    ]


def test_tables_by_period_go_before_the_usual_one() -> None:
    network = NetworkSettings(network_id=LINEA, limit_periods=periods((0, 1), (1, 2)))

    limits = line_limits_of(network)

    found = [limits.at(A_MOMENT + timedelta(hours=hour)) for hour in range(3)]
    assert [each and each.name for each in found] == (
        ["Linea Sepolia", "Linea limitless prover", "Linea mainnet"]
    )


@pytest.mark.parametrize(
    ("bounds", "said"),
    [
        (((2, 1), (3, 4)), "sepolia'? ends before it begins"),
        (((1, 3), (2, 4)), "limitless'? overlaps the one before"),
        (((1, 0), (2, 0)), "limitless'? overlaps the one before"),
        (((0, 2), (0, 3)), "overlaps the one before"),
    ],
)
def test_periods_that_contradict_each_other_are_named(
    bounds: tuple[tuple[int, int], tuple[int, int]], said: str
) -> None:
    with pytest.raises(SettingsError, match=said):
        line_limits_of(NetworkSettings(network_id=LINEA, limit_periods=periods(*bounds)))
