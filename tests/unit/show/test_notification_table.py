"""The table of notifications says how many changes each reports, and of which incidents."""

from __future__ import annotations

import re

import pytest

from dashboard.application.deliveries import NotificationHistory
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.show.parts.notification_table import notification_table
from tests.builders import a_notification, an_id


@pytest.mark.parametrize(
    ("incidents", "fields", "said"),
    [
        (1, {"member_count": 0, "kind": NotificationKind.ACKNOWLEDGED}, "in incident 00000000"),
        (4, {"member_count": 4}, "and 3 more in incidents 00000000 00000000 00000000 and 1 other"),
        (5, {"member_count": 5}, "and 4 more in incidents 00000000 00000000 00000000 and 2 others"),
        (1, {"member_count": 1}, ""),
    ],
)
def test_notification_names_the_incidents_of_what_it_counts(
    incidents: int, fields: dict[str, object], said: str
) -> None:
    ids = tuple(map(an_id, range(1, incidents + 1)))
    history = NotificationHistory(a_notification(**fields), (), incident_ids=ids)

    table = notification_table([history], str)
    beside = re.sub("<[^>]+>", "", table.partition('<div class="lw-quiet">')[2].split("</div>")[0])

    assert beside == said
