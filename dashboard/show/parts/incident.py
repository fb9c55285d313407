"""An incident that lasts on a network, as one row: what, where, since when, and if it ends soon."""

from __future__ import annotations

from datetime import datetime

from dashboard.show.parts.markup import Markup, element
from dashboard.show.parts.notification_list import about, state_badge
from dashboard.show.queries.incidents import since_when
from dashboard.show.queries.source import Source
from dashboard.store.alerts.alert_status import OpenIncident


def incident_row(incident: OpenIncident, source: Source, now: datetime) -> Markup:
    """Build the row."""
    subject = incident.subject
    since = since_when(incident.as_condition(), source.rule_of(subject), now)
    return element(
        "div",
        state_badge(incident.state),
        element("span", about(subject.kind, source.network_name(subject.network_id))),
        element("span", since, class_="lw-end"),
        class_="lw-row",
    )
