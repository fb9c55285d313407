"""[recipients."NAME"]: an address or a channel, its zone and its hours."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.domain.alerts.notification import DigestTime, Recipient
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import RecipientProfile
from dashboard.wiring.recipients import configured_recipients
from tests.unit.settings.configuration_files import loaded, read


@pytest.mark.parametrize(
    ("text", "remedy"),
    [
        ("[recipients.nobody]", "is neither an email address nor a channel"),
        ('[recipients."ops@example.org"]\ntime_zone = "Mars"', "is not a time zone"),
        ('[recipients."ops@example.org"]\nactive = ["always"]', "is not a weekly span"),
        ('[recipients."ops@example.org"]\nzone = "UTC"', "time_zone"),
        ('[recipients."ops@example.org"]\ndigest = "noon"', "is not a digest time"),
    ],
)
def test_recipient_that_cannot_be_read_is_a_mistake(tmp_path: Path, text: str, remedy: str) -> None:
    [mistake] = read(tmp_path, f"{text}\n").mistakes()

    assert remedy in str(mistake)


def test_whoever_the_settings_name_is_trusted_with_zone_and_hours(tmp_path: Path) -> None:
    text = """\
[mail]
recipients = ["Ann <ann@example.org>"]
[recipients."ops@EXAMPLE.org"]
time_zone = "Europe/Zurich"
active = ["mon-fri 08:00-18:00"]
digest = "daily 08:00"
"""
    configured = configured_recipients(loaded(tmp_path, text))

    ops = Recipient("mail", "ops@example.org")
    assert configured.trusts(ops)
    assert configured.trusts(Recipient("mail", "ann@example.org"))
    assert not configured.trusts(Recipient("mail", "new@example.org"))
    assert configured.profiles == {
        ops: RecipientProfile(
            "Europe/Zurich", (WeekSpan.parse("mon-fri 08:00-18:00"),), DigestTime(8, 0)
        )
    }
