"""What a digest says, in the words of pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

import pytest

from dashboard.alert.digest_text import describe_digest
from dashboard.domain.alerts.grounds import DigestGrounds, NetworkDigest
from dashboard.domain.quantity import NetworkId
from tests.builders import A_MOMENT, ANOTHER_NETWORK
from tests.mail_samples import mail_sample

DAY = timedelta(days=1)
CALM = NetworkDigest(ANOTHER_NETWORK, 0, True, 0.0, 0, timedelta())  # noqa: FBT003 - as fields


def a_digest(*networks: NetworkDigest, is_weekly: bool = False) -> DigestGrounds:
    return DigestGrounds(
        A_MOMENT - DAY, A_MOMENT, is_weekly, networks, opened=0, open=0, unassigned=0
    )


def test_digest_names_each_network_with_its_figures() -> None:
    message = mail_sample("daily digest")

    assert message.subject == "Daily digest: 113 rejections or more, 3 new incidents"
    assert "What happened from 2026-11-19 12:00:00 UTC to 2026-11-20 12:00:00 UTC." in message.text
    assert "3 opened; 1 is open, nobody has acknowledged it" in message.text
    said = "113 rejections or more; busy for 4% of the time watched; 1 gap, 25 min not watched"
    assert f"Linea          {said}" in message.text
    assert "network 59141  No rejection; no gaps" in message.text
    assert "https://watch.example/\n" in message.text
    assert "Linewatch itself" not in message.text


@pytest.mark.parametrize(
    ("counts", "said"),
    [
        ((2, 0, 0), "2 opened; none is open"),
        ((0, 2, 0), "0 opened; 2 are open, all acknowledged"),
        ((0, 3, 1), "0 opened; 3 are open, 1 of them unacknowledged"),
        ((0, 2, 2), "0 opened; 2 are open, nobody has acknowledged them"),
    ],
)
def test_digest_says_how_it_stands_with_incidents(counts: tuple[int, int, int], said: str) -> None:
    opened, open_, unassigned = counts
    grounds = replace(a_digest(CALM), opened=opened, open=open_, unassigned=unassigned)
    rows = dict(describe_digest(grounds, {}, UTC).rows)

    assert rows["Incidents"] == said


def test_weekly_digest_of_networks_that_nobody_asks_about_is_short() -> None:
    silent = NetworkDigest(NetworkId(7), None, False, None, 2, DAY)  # noqa: FBT003 - as fields

    text = describe_digest(a_digest(silent, is_weekly=True), {NetworkId(7): "Seven"}, UTC)

    assert text.subject == "Weekly digest: no rejection, 0 new incidents"
    assert dict(text.rows)["Seven"] == "2 gaps, 24 h not watched"
