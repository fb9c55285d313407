"""[bounces]: one mailbox, or none, and its password is never shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.settings.listing import effective_settings
from tests.unit.settings.configuration_files import read


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ('maildir = "/var/mail"\nimap_host = "imap.example"\nusername = "me"', "choose one"),
        ('imap_host = "imap.example"', "say who logs in"),
        ('imap_host = "imap.example"\nusername = "me"\nmailbox = \'a"b\'', "write one such as"),
    ],
)
def test_bounces_that_contradict_themselves_are_a_mistake(
    tmp_path: Path, text: str, remedy: str
) -> None:
    [mistake] = read(tmp_path, f"[bounces]\n{text}\n").mistakes()

    assert remedy in str(mistake)


def test_password_of_the_mailbox_is_masked(tmp_path: Path) -> None:
    text = '[bounces]\nimap_host = "imap.example"\nusername = "me"\npassword = "canary"\n'

    configuration = read(tmp_path, text)

    assert configuration.mistakes() == []
    assert "canary" not in str(list(effective_settings(configuration)))
