"""Which rules cannot be judged while something is silent."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.domain.alerts.condition import INSTALLATION, SubjectKind
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.route import SilentSource, muted_in_words, muted_rules, silence_of
from dashboard.domain.alerts.rule import DEFAULT_RULES, Rule, RuleScope
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK

FEES = SilentSource(SubjectKind.GAS_API, A_NETWORK, A_MOMENT)
REJECTIONS = SilentSource(SubjectKind.EXCLUSION_API, A_NETWORK, A_MOMENT)
WORKER = SilentSource(SubjectKind.WORKER, INSTALLATION, A_MOMENT)


@pytest.mark.parametrize(
    ("source", "kinds"),
    [
        (FEES, {RuleKind.BUSY, RuleKind.FEE, RuleKind.DATA_STALE}),
        (replace(FEES, is_replaced=True), {RuleKind.DATA_STALE}),
        (replace(FEES, kind=SubjectKind.FEES), {RuleKind.BUSY, RuleKind.FEE}),
        (REJECTIONS, {RuleKind.REJECTED, RuleKind.CHANGED, RuleKind.REJECTION_RATE}),
        (WORKER, {*RuleKind}),
    ],
)
def test_rules_that_rest_on_what_is_silent_cannot_be_judged(
    source: SilentSource, kinds: set[RuleKind]
) -> None:
    assert {kind for kind in RuleKind if source.mutes(kind)} == kinds
    assert silence_of(RuleKind.EXPIRY, A_NETWORK, [FEES, REJECTIONS]) is None


def test_silence_of_one_network_says_nothing_of_another() -> None:
    assert silence_of(RuleKind.BUSY, A_NETWORK, [REJECTIONS, FEES]) == FEES
    assert silence_of(RuleKind.BUSY, ANOTHER_NETWORK, [FEES]) is None
    assert silence_of(RuleKind.BUSY, None, [FEES]) is None
    assert silence_of(RuleKind.BUSY, None, [FEES, WORKER]) == WORKER


def test_rules_that_are_on_and_take_the_network_are_named() -> None:
    rules = [
        Rule("here", RuleKind.BUSY, scope=RuleScope(networks=(A_NETWORK,))),
        Rule("there", RuleKind.BUSY, scope=RuleScope(networks=(ANOTHER_NETWORK,))),
        Rule("off", RuleKind.BUSY, is_enabled=False),
        Rule("disk", RuleKind.DISK_FILLING),
    ]

    assert muted_rules(FEES, rules) == ["here"]
    assert muted_rules(FEES, DEFAULT_RULES) == ["busy", "stale-fees"]
    assert muted_rules(WORKER, rules) == ["here", "there", "disk"]
    assert muted_in_words(["here", "there"]).endswith("cannot be judged: here, there.")


def test_source_says_since_when_it_is_silent() -> None:
    assert str(FEES) == "the fee source is silent since 2026-11-20 12:00:00 UTC"
