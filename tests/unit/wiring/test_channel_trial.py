"""A test message goes to an address, a channel, or all that get alerts by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.domain.alerts.notification import Recipient
from dashboard.errors import InputError
from dashboard.settings import load_settings
from dashboard.wiring.trials import recipients_to_try


@pytest.mark.parametrize(
    ("address", "channel", "said"),
    [
        ("x y", "", "'x y' is not an email address: write name@example.org"),
        ("ops-hook", "", "'ops-hook' is not an email address: write name@example.org"),
        ("", "nosuch", "'nosuch' is not a table of [channels]: there are none; --to is for mail"),
    ],
)
def test_what_names_no_recipient_is_refused_with_its_value(
    tmp_path: Path, address: str, channel: str, said: str
) -> None:
    settings = load_settings({"LINEWATCH_HOME": str(tmp_path)})

    with pytest.raises(InputError) as refused:
        recipients_to_try(address, channel, settings)

    assert str(refused.value) == said


def test_address_with_a_name_is_tried(tmp_path: Path) -> None:
    settings = load_settings({"LINEWATCH_HOME": str(tmp_path)})

    assert recipients_to_try("Ann <ann@example.org>", "", settings) == [
        Recipient("mail", "Ann <ann@example.org>")
    ]
