"""What a digest says, in the words of pages."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, timedelta

from dashboard.alert.digest_text import describe_digest
from dashboard.domain.alerts.grounds import DigestGrounds, NetworkDigest
from dashboard.domain.alerts.kinds.kind import IncidentText
from dashboard.domain.quantity import NetworkId
from tests.builders import A_MOMENT, ANOTHER_NETWORK
from tests.golden_texts import GoldenTexts

DAY = timedelta(days=1)
CALM = NetworkDigest(ANOTHER_NETWORK, 0, True, 0.0, 0, timedelta())  # noqa: FBT003 - as fields


def a_digest(*networks: NetworkDigest, is_weekly: bool = False) -> DigestGrounds:
    return DigestGrounds(
        A_MOMENT - DAY, A_MOMENT, is_weekly, networks, opened=0, open=0, unassigned=0
    )


def with_incidents(opened: int, still_open: int, unassigned: int) -> IncidentText:
    grounds = replace(a_digest(CALM), opened=opened, open=still_open, unassigned=unassigned)
    return describe_digest(grounds, {}, UTC)


def test_digests_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    silent = NetworkDigest(NetworkId(7), None, False, None, 2, DAY)  # noqa: FBT003 - as fields
    weekly = a_digest(silent, is_weekly=True)

    golden.check(
        "digests",
        {
            "incidents opened": with_incidents(2, 0, 0),
            "all acknowledged": with_incidents(0, 2, 0),
            "one of three unacknowledged": with_incidents(0, 3, 1),
            "nobody has acknowledged them": with_incidents(0, 2, 2),
            "a week of which nobody knows": describe_digest(weekly, {NetworkId(7): "Seven"}, UTC),
        },
    )
