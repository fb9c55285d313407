"""Where a rule stands: off, firing, without data, pending, or quiet."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.application.rules import RuleSituation
from dashboard.domain.alerts.condition import INSTALLATION, Subject, SubjectKind
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.route import SilentSource
from dashboard.domain.alerts.rule import Rule, RuleKind, RuleScope
from dashboard.store.alerts.alert_status import PendingCondition
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, an_incident

BUSY = Rule("busy", RuleKind.BUSY)
FEE = Rule("dear", RuleKind.FEE)
OPEN = an_incident(rule="busy", troubled=1)
SILENT = SilentSource(SubjectKind.GAS_API, A_NETWORK, A_MOMENT)
NO_WORKER = SilentSource(SubjectKind.WORKER, INSTALLATION, A_MOMENT)
BUSY_SOON = PendingCondition(Subject(SubjectKind.BUSYNESS, A_NETWORK), A_MOMENT)
DEAR_SOON = PendingCondition(Subject(SubjectKind.FEE_LIMIT, A_NETWORK, rule="dear"), A_MOMENT)


@pytest.mark.parametrize(
    ("rule", "situation", "word"),
    [
        (BUSY, RuleSituation(), "on"),
        (replace(BUSY, is_enabled=False), RuleSituation([OPEN]), "off"),
        (BUSY, RuleSituation([OPEN], [BUSY_SOON], [SILENT]), "firing"),
        (BUSY, RuleSituation([OPEN], sources=[NO_WORKER]), "no data"),
        (BUSY, RuleSituation([], [BUSY_SOON], [SILENT]), "no data"),
        (BUSY, RuleSituation([replace(OPEN, state=IncidentState.NO_DATA)]), "no data"),
        (BUSY, RuleSituation([replace(OPEN, state=IncidentState.PENDING)]), "pending"),
        (BUSY, RuleSituation(pending=[BUSY_SOON]), "pending"),
        (BUSY, RuleSituation(pending=[DEAR_SOON]), "on"),
        (FEE, RuleSituation([OPEN], [BUSY_SOON, DEAR_SOON]), "pending"),
        (
            replace(BUSY, scope=RuleScope(networks=(ANOTHER_NETWORK,))),
            RuleSituation(pending=[BUSY_SOON], sources=[SILENT]),
            "on",
        ),
    ],
)
def test_rule_says_where_it_stands(rule: Rule, situation: RuleSituation, word: str) -> None:
    assert situation.state_of(rule).word == word


def test_state_says_why() -> None:
    states = [
        RuleSituation([OPEN, OPEN]).state_of(BUSY),
        RuleSituation(pending=[BUSY_SOON]).state_of(BUSY),
        RuleSituation(sources=[SILENT]).state_of(BUSY),
    ]

    assert [each.why for each in states] == [
        "2 open incidents.",
        "Pending since 2026-11-20 12:00:00 UTC.",
        "Not judged: the fee source is silent since 2026-11-20 12:00:00 UTC.",
    ]
