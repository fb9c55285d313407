"""Watches: who is notified of what, and that they end by themselves."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.application.rules import AlertRules
from dashboard.application.silences import matchers_of
from dashboard.application.watches import Watches, watched_scope
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher
from dashboard.domain.alerts.rule import DEFAULT_RULES, RuleScope
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.errors import InputError
from tests.alert_watch import HOUR, Watch
from tests.builders import A_NETWORK, a_transition, an_incident
from tests.delivery_checks import reject
from tests.recording_channel import ONCALL, OTHERS

HUB = (Matcher(MatchedProperty.MODULE, "HUB"),)
OVER_HUB = "TX_MODULE_LINE_COUNT_OVERFLOW(HUB)"


def test_watch_notifies_who_began_it_until_its_end_and_is_removed_later(watch: Watch) -> None:
    watch.rules(*DEFAULT_RULES)
    watches, began = Watches(watch.context), watch.clock.now()
    watches.begin(HUB, began + HOUR, watch.person(OTHERS.address))
    lasting = watches.lasting(HUB)
    for number in (1, 2):
        news = a_transition(number, at=watch.clock.now())
        reject(watch.store, number, transition=news, is_tracked=False, reason_message=OVER_HUB)
        watch.wait(HOUR)
    over = watches.lasting(HUB)
    left = {each.rule.name for each in AlertRules(watch.context).in_force()}
    watch.clock.wait(24 * HOUR)
    watches.begin((Matcher(MatchedProperty.MODULE, "ADD"),), None, watch.person("Ann"))

    assert lasting is not None
    assert (lasting.name, lasting.until) == ("watch-hub", began + HOUR)
    assert over is None
    assert watch.kinds(OTHERS) == ["change"]
    assert watch.kinds(ONCALL) == []
    held = {each.rule.name: each.rule for each in AlertRules(watch.context).in_force()}
    assert left - held.keys() == {"watch-hub"}
    assert (held["watch-add"].recipients, held["watch-add"].until) == ((), None)
    watches.end((Matcher(MatchedProperty.MODULE, "ADD"),), watch.person("Ann"))
    assert {each.rule for each in AlertRules(watch.context).in_force()} == set(DEFAULT_RULES)


def test_watch_of_an_incident_is_of_rejections_like_its(watch: Watch) -> None:
    incident = an_incident()

    assert watched_scope(matchers_of(incident)) == RuleScope(
        networks=(A_NETWORK,),
        modules=("ADD",),
        stages=(RejectionStage.RPC,),
        takes_all_reports=True,
    )
    assert Watches(watch.context).name_of(matchers_of(incident)).endswith("-add-rpc")
    tagged = replace(incident, group=(("label", "a"), ("tag", "b c")))
    assert watched_scope(matchers_of(tagged)) == RuleScope(labels=("a",), tags=("b", "c"))


def test_what_names_no_rejections_and_what_would_be_over_is_not_watched(watch: Watch) -> None:
    watches, by = Watches(watch.context), watch.person("Ann")
    network = (Matcher(MatchedProperty.NETWORK, str(A_NETWORK)),)

    with pytest.raises(InputError, match="only rejections by a module"):
        watches.begin(network, None, by)
    with pytest.raises(InputError, match="over already"):
        watches.begin(HUB, by.at, by)
    watches.begin(HUB, None, by)
    with pytest.raises(InputError, match="a rule watch-hub exists already"):
        watches.begin((Matcher(MatchedProperty.LABEL, "hub"),), None, by)
