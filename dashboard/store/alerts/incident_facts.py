"""What matchers compare of an incident as a whole: what all its changes share, or each of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from sqlalchemy import Connection

from dashboard.domain.incident import Incident
from dashboard.domain.matcher import ChangeFacts, Matcher, RuleFacts, facts_of, facts_of_group
from dashboard.store.alerts.outbox import entries_of_incident

_MOST_CHANGES: Final = 200


def facts_of_incident(
    connection: Connection, incident: Incident, matchers: Iterable[Matcher]
) -> list[ChangeFacts]:
    """Return what these matchers have to fit, all of it, to fit an incident as a whole.

    That is what its group says, unless a matcher names another property, such as a tag: then it is
    what its latest changes are, at most 200.
    """
    rule = RuleFacts(incident.rule, incident.severity)
    shared = facts_of_group(incident.group, rule)
    if all(each.about in shared for each in matchers):
        return [shared]
    entries = entries_of_incident(connection, incident.incident_id, _MOST_CHANGES)
    each_facts = [facts_of(entry.change, rule) for entry in entries]
    return [facts for at, facts in enumerate(each_facts) if facts not in each_facts[:at]] or [
        shared
    ]
