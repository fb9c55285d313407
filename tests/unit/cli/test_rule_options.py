"""Rules on the command line: KEY=VALUE, each key once."""

from __future__ import annotations

import pytest

from dashboard.cli.options import plain_table
from dashboard.errors import InputError


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
