"""Options are read strictly; a mistake is named with its remedy."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import click
import pytest

from dashboard.application.network_status import NetworkProfile
from dashboard.cli.options import (
    chosen,
    chosen_id,
    chosen_ones,
    duration_up_to,
    moment,
    prover_module,
)
from dashboard.cli.rules import plain_table
from dashboard.cli.store import database_address
from dashboard.domain.quantity import NetworkId
from dashboard.errors import InputError
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, seconds

CARDS = (
    NetworkProfile(A_NETWORK, "devnet", True, seconds(4), seconds(60)),  # noqa: FBT003 - is_simulated
    NetworkProfile(ANOTHER_NETWORK, "Linea", False, seconds(4), seconds(60)),  # noqa: FBT003 - is_simulated
)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("24h", A_MOMENT - timedelta(days=1)),
        ("7d", A_MOMENT - timedelta(days=7)),
        ("1y", A_MOMENT - timedelta(days=365)),
        ("2026-11-20T10:00:00Z", datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("2026-11-20 10:00", datetime(2026, 11, 20, 10, tzinfo=UTC)),
        ("2026-11-20T12:00+02:00", datetime(2026, 11, 20, 10, tzinfo=UTC)),
    ],
)
def test_moment_is_a_time_in_utc_or_a_length_before_now(text: str, meant: datetime) -> None:
    assert moment(text, A_MOMENT) == meant


@pytest.mark.parametrize(
    "text", ["", "soon", "24", "0h", "999999999d", "2026-11-20", "\x1b[2J", "0001-01-01T00:00Z"]
)
def test_moment_that_is_none_is_refused_with_the_remedy(text: str) -> None:
    with pytest.raises(InputError, match="is not a time: write a length such as 24h") as refused:
        moment(text, A_MOMENT)

    assert str(refused.value).isprintable()


@pytest.mark.parametrize("text", ["367d", "99999d", "2y"])
def test_length_that_is_too_long_is_refused_with_the_limit_of_its_option(text: str) -> None:
    with pytest.raises(click.BadParameter, match=f"{text} is too long; write at most 366d"):
        duration_up_to(timedelta(days=366)).convert(text, None, None)


def never(_: NetworkId) -> bool:
    """Hold no network in the store."""
    return False


@pytest.mark.parametrize("text", ["Linea", "linea", "59144"])
def test_network_is_chosen_by_name_or_id(text: str) -> None:
    assert chosen(text, CARDS) is CARDS[1]
    assert chosen_id(text, CARDS, never) == ANOTHER_NETWORK


def test_several_networks_are_those_that_were_named() -> None:
    assert chosen_ones(("Linea", "59144"), CARDS) == (CARDS[1],)
    assert chosen_ones(("devnet", "Linea"), CARDS) == chosen_ones((), CARDS) == CARDS


def test_network_that_nobody_named_is_any() -> None:
    assert chosen(None, CARDS) is None
    assert chosen_id(None, CARDS, never) is None


def test_network_that_left_the_configuration_is_still_found_by_its_id() -> None:
    assert chosen_id("5", CARDS, lambda held: held == NetworkId(5)) == NetworkId(5)


@pytest.mark.parametrize("text", ["nope", "5", "\u0665", "9" * 40])
def test_unknown_network_is_refused_with_those_that_there_are(text: str) -> None:
    with pytest.raises(InputError, match=r"devnet \(424242\), Linea \(59144\)"):
        chosen_id(text, CARDS, never)


@pytest.mark.parametrize("text", ["HUB", "hub", "MODEXP_256", "A" * 64])
def test_prover_module_is_read_in_either_case(text: str) -> None:
    assert prover_module(text) == text.upper()


@pytest.mark.parametrize("text", ["", "A" * 65, "HUB\n", "H B", "\u00df", "\u0131", "%", "\x1b[2J"])
def test_prover_module_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="such as HUB") as refused:
        prover_module(text)

    assert str(refused.value).isprintable()


def test_values_are_read_as_in_a_file_and_lists_with_commas() -> None:
    assert plain_table(["more_than=50", "modules=HUB, ADD", "severity=critical"]) == {
        "more_than": 50,
        "modules": ["HUB", "ADD"],
        "severity": "critical",
    }


def test_address_is_no_number() -> None:
    sender = "0x75a6e5a7ea9ea4a29b1e5a4bb4cb1d2a94a3f7f1"

    assert plain_table([f"senders={sender}"]) == {"senders": [sender]}


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (("severity",), "'severity' has no value: write KEY=VALUE"),
        (
            ("severity=info", "severity = critical"),
            "--set 'severity' is given twice: give it once",
        ),
        (
            ("modules=HUB", "modules=ADD"),
            "--set 'modules' is given twice: give it once, such as modules=A,B",
        ),
    ],
)
def test_setting_without_a_value_or_given_twice_is_refused(
    settings: tuple[str, ...], said: str
) -> None:
    with pytest.raises(InputError) as refused:
        plain_table(settings)

    assert str(refused.value) == said


def test_address_of_a_database_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "address"
    file.write_text("postgresql:///linewatch\n", encoding="utf-8")

    assert database_address(f"file:{file}") == "postgresql:///linewatch"
    with pytest.raises(InputError, match="--to 'env:NO_SUCH' cannot be used: the variable NO_SUCH"):
        database_address("env:NO_SUCH")
