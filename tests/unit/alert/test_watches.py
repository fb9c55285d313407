"""Watches: who is notified of what, and that they end by themselves."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from dashboard.application.rules import AlertRules
from dashboard.application.silences import matchers_of
from dashboard.application.watches import Watches, watched_scope
from dashboard.domain.alerts.matcher import MatchedProperty, Matcher, fits, labels_of_group
from dashboard.domain.alerts.rule import DEFAULT_RULES, Rule, RuleScope
from dashboard.domain.alerts.silence import SilenceKind
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.errors import InputError, NotFound
from tests.alert_watch import Watch
from tests.builders import A_NETWORK, HOUR, a_transition, an_incident
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
    shared = labels_of_group(tagged.group, tagged.rule, tagged.severity)
    assert fits(matchers_of(tagged), shared)  # or its silence would keep nobody from hearing of it


def test_what_names_no_rejections_and_what_would_be_over_is_not_watched(watch: Watch) -> None:
    watches, by = Watches(watch.context), watch.person("Ann")
    network = (Matcher(MatchedProperty.NETWORK, str(A_NETWORK)),)

    with pytest.raises(InputError, match="only rejections by a module"):
        watches.begin(network, None, by)
    with pytest.raises(InputError, match="over already"):
        watches.begin(HUB, by.at, by)
    with pytest.raises(NotFound, match="not watched any more"):
        watches.end(HUB, by)
    long = (Matcher(MatchedProperty.LABEL, "x" * 81),)  # which no stored rule may have
    with pytest.raises(InputError, match="cannot be kept: labels holds"):
        watches.begin(long, None, by)
    assert {each.rule for each in AlertRules(watch.context).in_force()} == set(DEFAULT_RULES)


def test_watches_that_would_be_called_the_same_are_apart(watch: Watch) -> None:
    watches, by = Watches(watch.context), watch.person("Ann")
    labels = [(Matcher(MatchedProperty.LABEL, each),) for each in ("hub", "客户", "клиент")]

    for each in (HUB, *labels):
        watches.begin(each, None, by)
    watches.end(labels[1], by)

    found = [watches.lasting(each) for each in (HUB, *labels)]
    names = ["" if each is None else each.name for each in found]
    assert [each[:10] for each in names] == ["watch-hub", "watch-hub-", "", names[3][:10]]
    assert re.fullmatch(r"watch-[0-9a-f]{6}", names[3])


def test_others_who_watch_the_same_still_do(watch: Watch) -> None:
    watches, now, found = Watches(watch.context), watch.clock.now(), list[Rule | None]()
    wishes = ((OTHERS.address, 8), (OTHERS.address, 2), (ONCALL.address, 1), ("Ann", None))
    for name, hours in wishes:
        until = None if hours is None else now + hours * HOUR
        watches.begin(HUB, until, watch.person(name))
        found.append(watches.lasting(HUB))

    assert [each and (each.recipients, each.until) for each in found] == [
        ((OTHERS,), now + 8 * HOUR),
        ((OTHERS,), now + 2 * HOUR),  # who watches alone may choose an earlier end
        ((OTHERS, ONCALL), now + 2 * HOUR),
        ((OTHERS, ONCALL), None),
    ]


def test_watch_says_which_silence_is_stronger(watch: Watch) -> None:
    watches, by = Watches(watch.context), watch.person(OTHERS.address)
    watches.begin(HUB, None, by)
    before = watches.silence_of(HUB)
    watch.silence(SilenceKind.SILENCE, HOUR, HUB[0])
    reject(watch.store, 1, is_tracked=False, reason_message=OVER_HUB)
    watch.wait()

    assert (before, watch.kinds(OTHERS)) == (None, [])
    silence = watches.silence_of(HUB)
    assert silence is not None
    assert silence.over_at == watch.clock.now() + HOUR
    assert watches.silence_of((Matcher(MatchedProperty.MODULE, "ADD"),)) is None
