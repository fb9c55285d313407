"""Where each rule stands now: off, without data, firing, pending, or quiet; and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from dashboard.domain.condition import Subject, SubjectKind
from dashboard.domain.formatting import counted, moment
from dashboard.domain.incident import Incident, IncidentState
from dashboard.domain.muting import SilentSource, muted_rules
from dashboard.domain.rule import Rule, subject_kinds
from dashboard.store.alerts.alert_status import PendingCondition

_OPEN_STATES: Final = (
    IncidentState.FIRING,
    IncidentState.ACKNOWLEDGED,
    IncidentState.SILENCED,
    IncidentState.NO_DATA,
)


class RuleState(NamedTuple):
    """The state of a rule in a word, and why in a sentence; empty where there is no more to say."""

    word: str
    why: str = ""


@dataclass(frozen=True, slots=True)
class RuleSituation:
    """What is open, what is about to open, and what is silent."""

    incidents: Sequence[Incident] = ()
    pending: Sequence[PendingCondition] = ()
    sources: Sequence[SilentSource] = ()

    def state_of(self, rule: Rule) -> RuleState:
        """Return where a rule stands; without a worker nothing of it is known.

        What is open counts before what is silent: that may be another network.
        """
        if not rule.is_enabled:
            return RuleState("off")
        silent = [each for each in self.sources if muted_rules(each, [rule])]
        is_unwatched = any(each.kind is SubjectKind.WORKER for each in silent)
        if is_unwatched:
            return _without_data(silent[0])
        mine = [each for each in self.incidents if each.rule == rule.name]
        for state in _OPEN_STATES:
            if many := sum(each.state is state for each in mine):
                return RuleState(state, f"{counted(many, 'open incident')}.")
        if silent:
            return _without_data(silent[0])
        since = [each.opened_at for each in mine]
        since += [each.since for each in self.pending if _concerns(each.subject, rule)]
        if since:
            return RuleState(IncidentState.PENDING, f"Pending since {moment(min(since))}.")
        return RuleState("on")


def _without_data(source: SilentSource) -> RuleState:
    return RuleState(IncidentState.NO_DATA, f"Not judged: {source}.")


def _concerns(subject: Subject, rule: Rule) -> bool:
    if subject.rule:
        return subject.rule == rule.name
    is_taken = subject.network_id in (rule.scope.networks or {subject.network_id})
    return is_taken and subject.kind in subject_kinds(rule.kind)
