"""What a silence would have kept from people lately, and what it would keep now."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dashboard.domain.active_hours import WeeklyHours
from dashboard.domain.condition import SubjectKind
from dashboard.domain.foreign_text import visible
from dashboard.domain.formatting import counted
from dashboard.domain.matcher import Matcher, RuleFacts, facts_of, fits
from dashboard.domain.rule import fits as takes
from dashboard.show.text import moment
from dashboard.store.alerts.incident_facts import facts_of_incident
from dashboard.store.alerts.incident_list import open_incident_stories
from dashboard.store.alerts.past_transitions import MOST_TRANSITIONS, past_transitions
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.engine.connection import Connection

PREVIEWED: Final = timedelta(days=7)
_MOST_OPEN: Final = 1_000
_MOST_RULES: Final = 3


@dataclass(frozen=True, slots=True)
class SilencePreview:
    """How many changes of the last days matchers fit, by the rule that reports them.

    `last` is the latest of these changes, `incidents` how many open incidents fit. `is_cut`: there
    were more changes than are read.
    """

    by_rule: tuple[tuple[str, int], ...] = ()
    changes: int = 0
    last: datetime | None = None
    incidents: int = 0
    is_cut: bool = False

    def __str__(self) -> str:
        """Say it in a sentence or two; names of rules are made visible."""
        now = counted(self.incidents, "open incident")
        if self.last is None:
            return f"In the last seven days it would have matched no change. Now it matches {now}."
        shown = self.by_rule[:_MOST_RULES]
        rules = ", ".join(f"{many:,} of {visible(name, 80)}" for name, many in shown)
        rest = ", and others" if len(self.by_rule) > _MOST_RULES else ""
        least = "at least " if self.is_cut else ""
        return (
            f"In the last seven days it would have matched {least}"
            f"{counted(self.changes, 'change')} ({rules}{rest}), the last on {moment(self.last)}. "
            f"Now it matches {now}."
        )


def preview_silence(
    connection: Connection,
    matchers: Sequence[Matcher],
    now: datetime,
    weekly: WeeklyHours | None = None,
) -> SilencePreview:
    """Return which changes of the last seven days matchers fit, and which open incidents.

    With `weekly`, only changes in these hours. Rules, labels and tags are those of now. A change
    that several rules report counts once.
    """
    rules = rules_in_force(connection)
    seen = past_transitions(connection, SubjectKind, now - PREVIEWED, now)
    is_cut = len(seen) == MOST_TRANSITIONS
    if weekly is not None:
        seen = [each for each in seen if weekly.are_on(each.transition.at)]
    by_rule: Counter[str] = Counter()
    changes, last = 0, None
    for change in seen:
        fitting = [
            rule.name
            for rule in rules
            if takes(rule, change)
            and fits(matchers, facts_of(change, RuleFacts(rule.name, str(rule.severity))))
        ]
        by_rule.update(fitting)
        if fitting:
            changes, last = changes + 1, change.transition.at
    stories = open_incident_stories(connection, _MOST_OPEN)
    incidents = sum(
        all(
            fits(matchers, each) for each in facts_of_incident(connection, story.incident, matchers)
        )
        for story in stories
    )
    return SilencePreview(tuple(by_rule.most_common()), changes, last, incidents, is_cut)
