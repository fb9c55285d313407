"""Matchers, and the rules that a silence or a silent upstream inhibits."""

from __future__ import annotations

import re

import pytest
from msgspec.structs import replace

from dashboard.domain.alerts.condition import INSTALLATION, SubjectKind
from dashboard.domain.alerts.inhibition import (
    SourceOutage,
    inhibited_in_words,
    inhibited_rules,
    outage_behind,
)
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.matcher import (
    MatchedProperty,
    Matcher,
    fits,
    fits_pattern,
    in_words,
    labels_of,
    labels_of_group,
    parse_matcher,
    split_matchers,
)
from dashboard.domain.alerts.rule import DEFAULT_RULES, ObservedChange, Rule, RuleScope
from dashboard.errors import InputError
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_record,
    a_rejection,
    a_transition,
    an_address,
)

NAMES = {A_NETWORK: "Devnet", ANOTHER_NETWORK: "Linea"}
ADD_ON_RPC = labels_of(
    ObservedChange(a_transition(), a_rejection(), "Payout"), "rejections", "warning"
)


@pytest.mark.parametrize(
    ("text", "matcher"),
    [
        ("network=Linea", Matcher(MatchedProperty.NETWORK, "59144")),
        ("NETWORK != linea", Matcher(MatchedProperty.NETWORK, "59144", is_equal=False)),
        ("network=7", Matcher(MatchedProperty.NETWORK, "7")),
        ("network=installation", Matcher(MatchedProperty.NETWORK, "0")),
        ("module=hub", Matcher(MatchedProperty.MODULE, "HUB")),
        ("stage!=rpc", Matcher(MatchedProperty.STAGE, "RPC", is_equal=False)),
        ("sender=" + "0X" + "AB" * 20, Matcher(MatchedProperty.SENDER, "0x" + "ab" * 20)),
        ("label=a=b, c", Matcher(MatchedProperty.LABEL, "a=b, c")),
        ("rule=night shift", Matcher(MatchedProperty.RULE, "night shift")),
        ("tag=#Payroll", Matcher(MatchedProperty.TAG, "payroll")),
        ("tag=vip #payroll", Matcher(MatchedProperty.TAG, "payroll vip")),
        ('tag=""', Matcher(MatchedProperty.TAG, "")),
        ('label="pay"', Matcher(MatchedProperty.LABEL, "pay")),
        ("label=~pay*", Matcher(MatchedProperty.LABEL, "pay*", is_pattern=True)),
        ("tag !~ #pay*", Matcher(MatchedProperty.TAG, "pay*", is_equal=False, is_pattern=True)),
        ('module=""', Matcher(MatchedProperty.MODULE, "")),
        ("label=" + "x" * 80, Matcher(MatchedProperty.LABEL, "x" * 80)),
        (
            "label=~" + "x" * 79 + "*",
            Matcher(MatchedProperty.LABEL, "x" * 79 + "*", is_pattern=True),
        ),
        ("severity=Critical", Matcher(MatchedProperty.SEVERITY, "critical")),
        ("cause=module_undefined", Matcher(MatchedProperty.CAUSE, "module_undefined")),
    ],
)
def test_matcher_is_read_as_people_write_it(text: str, matcher: Matcher) -> None:
    assert parse_matcher(text, NAMES) == matcher


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is not a matcher: write one of network, rule"),
        ("HUB", "is not a matcher"),
        ("colour=x", "is not a matcher"),
        ("tag=a!", "is not a tag"),
        ("tag=,", "is not a tag"),
        ("label=~payroll", "is not a pattern: write * for any text"),
        ("label=~**", "is not a pattern"),
        ("network=~Lin*", "network takes no pattern"),
        ("label=~" + "a" * 80 + "*", "it is too long"),
        ("module=", "has no value"),
        pytest.param(f"tag=a{' ' * 1_000_000}!", "is not a tag", id="blanks inside"),
        ("module=a b", "is not a prover module"),
        ("stage=MOON", "is not a stage (SEQUENCER, RPC, P2P, unknown)"),
        ("severity=high", "is not a severity (info, warning, critical)"),
        ("sender=0x12", "is not a valid address"),
        ("cause=over_limit", "is not a cause (module_undefined)"),
        ("label=" + "x" * 81, "it is too long"),
        ("network=Moon", "is not a network of this installation: Devnet (424242), Linea (59144)"),
    ],
)
def test_matcher_that_cannot_be_read_names_the_remedy(text: str, said: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_matcher(text, NAMES)

    assert said in str(refused.value)
    with pytest.raises(InputError, match="of this installation: none"):
        parse_matcher("network=Moon", {})


@pytest.mark.parametrize(
    "text",
    ["label=a b,module!=HUB", "label=a=b", "module = HUB , ,stage!=RPC", "HUB", "", "label=~* b"],
)
def test_matchers_in_one_field_are_split_at_commas(text: str) -> None:
    assert split_matchers(text) == [each.strip() for each in text.split(",") if each.strip()]


@pytest.mark.parametrize(
    ("text", "second"),
    [
        ("label=~evil* bogus=1", "bogus=1"),
        ("stage=RPC, label=a b module !~ H*", "module !~ H*"),
        ("label=a\tmodule!=HUB", "module!=HUB"),
    ],
)
def test_second_matcher_without_a_comma_is_refused(text: str, second: str) -> None:
    with pytest.raises(InputError, match=f"write a comma before '{re.escape(second)}'"):
        split_matchers(text)


@pytest.mark.parametrize(
    ("texts", "is_meant"),
    [
        ((), True),
        (("network=Devnet",), True),
        (("network=Linea",), False),
        (("network=Linea", "network=Devnet"), True),
        (("network=Devnet", "module=HUB"), False),
        (("module=add", "stage=RPC", "label=PAYOUT"), True),
        (("module!=HUB",), True),
        (("module!=ADD",), False),
        (("module=ADD", "stage!=RPC"), False),
        (("rule=rejections", "severity=warning"), True),
        ((f"sender={an_address()}",), True),
        ((f"sender!={an_address()}",), False),
    ],
)
def test_alternatives_are_of_one_property_and_all_else_holds_together(
    texts: tuple[str, ...], *, is_meant: bool
) -> None:
    matchers = [parse_matcher(each, NAMES) for each in texts]

    assert fits(matchers, ADD_ON_RPC) is is_meant


@pytest.mark.parametrize(
    ("matcher", "words"),
    [
        (Matcher(MatchedProperty.NETWORK, str(ANOTHER_NETWORK)), "network=Linea"),
        (Matcher(MatchedProperty.NETWORK, "7", is_equal=False), "network!=7"),
        (Matcher(MatchedProperty.NETWORK, str(INSTALLATION)), "network=installation"),
        (Matcher(MatchedProperty.STAGE, "RPC"), "stage=RPC"),
        (Matcher(MatchedProperty.LABEL, "pay*", is_pattern=True), "label=~pay*"),
        (Matcher(MatchedProperty.LABEL, "pay*", is_equal=False, is_pattern=True), "label!~pay*"),
        (Matcher(MatchedProperty.LABEL, "pay", is_equal=False), "label!=pay"),
        (Matcher(MatchedProperty.MODULE, ""), 'module=""'),
        (Matcher(MatchedProperty.TAG, "pay vip"), "tag=pay vip"),
        (Matcher(MatchedProperty.LABEL, '""'), 'label=""""'),
        (Matcher(MatchedProperty.LABEL, "~pay*"), 'label="~pay*"'),
        (Matcher(MatchedProperty.LABEL, ' a "b', is_equal=False), 'label!=" a "b"'),
        (Matcher(MatchedProperty.LABEL, "*a ", is_pattern=True), 'label=~"*a "'),
    ],
)
def test_matcher_is_written_as_it_is_read(matcher: Matcher, words: str) -> None:
    assert in_words(matcher, NAMES) == words
    assert parse_matcher(words, NAMES) == matcher


@pytest.mark.parametrize(
    ("text", "holds"),
    [
        ("label=~pay*", True),
        ("label=~*OUT", True),
        ("label=~p*y*t", True),
        ("label=~*pay*out*", True),
        ("label=~payout*payout", False),
        ("label=~p*x*t", False),
        ("label=~*pay", False),
        ("label!~pay*", False),
        ("tag=payroll", True),
        ("tag=~pay*", True),
        ("tag!=payroll", False),
        ("tag=urgent", True),
        ("tag=pay", False),
        ("tag!~x*", True),
        ("tag=urgent payroll", True),
        ("tag=payroll pay", False),
        ('tag=""', False),
    ],
)
def test_pattern_and_tag_name_changes(text: str, *, holds: bool) -> None:
    change = ObservedChange(
        a_transition(), a_rejection(), "Payout", frozenset({"payroll", "urgent"})
    )

    assert parse_matcher(text, NAMES).holds(labels_of(change)) is holds


@pytest.mark.parametrize(
    ("text", "reason", "holds"),
    [
        ("module=HUB", None, False),
        ("module!=HUB", None, True),
        ('module=""', None, True),
        ('tag=""', None, True),
        ('module=""', "no idea", True),
        ('module=""', a_record().reason_message, False),
        ('cause=""', a_record().reason_message, True),
        ('cause=""', "Module ADD does not exist in the limits file.", False),
    ],
)
def test_change_without_a_property_differs_from_every_value_but_none(
    text: str, reason: str | None, *, holds: bool
) -> None:
    rejection = reason and a_rejection(record=a_record(reason_message=reason))
    labels = labels_of(ObservedChange(a_transition(), rejection or None))

    assert fits([parse_matcher(text, NAMES)], labels) is holds


def test_pattern_is_the_whole_text_and_takes_no_time_on_a_hostile_one() -> None:
    assert fits_pattern("hub", "hub")
    assert not fits_pattern("hub", "hubs")
    assert not fits_pattern("*a" * 100 + "b", "a" * 100_000)


def test_group_names_what_its_changes_share_and_nothing_else() -> None:
    group = (("network", "1"), ("module", "HUB"), ("signal", "base fee"))

    assert labels_of_group(group, "night", "warning") == {
        MatchedProperty.NETWORK: "1",
        MatchedProperty.MODULE: "HUB",
        MatchedProperty.RULE: "night",
        MatchedProperty.SEVERITY: "warning",
        MatchedProperty.CAUSE: "",  # or it would be another group
    }
    assert labels_of_group(group[:1], "night", "warning") == {
        MatchedProperty.NETWORK: "1",
        MatchedProperty.RULE: "night",
        MatchedProperty.SEVERITY: "warning",
    }


FEES = SourceOutage(SubjectKind.GAS_API, A_NETWORK, A_MOMENT)
REJECTIONS = SourceOutage(SubjectKind.EXCLUSION_API, A_NETWORK, A_MOMENT)
WORKER = SourceOutage(SubjectKind.WORKER, INSTALLATION, A_MOMENT)


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
    source: SourceOutage, kinds: set[RuleKind]
) -> None:
    assert {kind for kind in RuleKind if source.inhibits(kind)} == kinds
    assert outage_behind(RuleKind.EXPIRY, A_NETWORK, [FEES, REJECTIONS]) is None


def test_silence_of_one_network_says_nothing_of_another() -> None:
    assert outage_behind(RuleKind.BUSY, A_NETWORK, [REJECTIONS, FEES]) == FEES
    assert outage_behind(RuleKind.BUSY, ANOTHER_NETWORK, [FEES]) is None
    assert outage_behind(RuleKind.BUSY, None, [FEES]) is None
    assert outage_behind(RuleKind.BUSY, None, [FEES, WORKER]) == WORKER


def test_rules_that_are_on_and_take_the_network_are_named() -> None:
    rules = [
        Rule("here", RuleKind.BUSY, scope=RuleScope(networks=(A_NETWORK,))),
        Rule("there", RuleKind.BUSY, scope=RuleScope(networks=(ANOTHER_NETWORK,))),
        Rule("off", RuleKind.BUSY, is_enabled=False),
        Rule("disk", RuleKind.DISK_FILLING),
    ]

    assert inhibited_rules(FEES, rules) == ["here"]
    assert inhibited_rules(FEES, DEFAULT_RULES) == ["busy", "stale-fees"]
    assert inhibited_rules(WORKER, rules) == ["here", "there", "disk"]
    assert inhibited_in_words(["here", "there"]).endswith("cannot be evaluated: here, there.")


def test_source_says_since_when_it_is_silent() -> None:
    assert str(FEES) == "the fee source has been down since 2026-11-20 12:00:00 UTC"
