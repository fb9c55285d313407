"""A rule is written as a table and read back without loss; what is wrong is said all at once."""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dashboard.domain.alerts.condition import Signal
from dashboard.domain.alerts.kinds.credit_budget import BudgetPeriod, CreditMeasure
from dashboard.domain.alerts.kinds.expiry import ExpiryMeasure
from dashboard.domain.alerts.kinds.fee_limit import FeeMeasure
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateMeasure
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import DEFAULT_RULES, Rule, RuleScope, Severity
from dashboard.domain.alerts.rule_table import KEYS, RuleNames, RuleRemark, read_rule, write_rule
from dashboard.domain.people.active_hours import ActiveHours, WeekSpan
from dashboard.domain.quantity import LARGEST_FEE, Address, NetworkId, Wei
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.toml_tables import write_toml
from tests.builders import A_NETWORK

RATE = {"kind": "rejection-rate", "more_than": 5, "window": "5m"}
BUDGET = {"kind": "credits-short", "budget": 3_000_000, "per": "day"}
NAMES = RuleNames(
    {"Linea": NetworkId(59144)}, lambda zone: zone == "Europe/Berlin", frozenset({"webhook"})
)

lengths = st.integers(0, 10**9).map(lambda count: timedelta(milliseconds=count))
short_lengths = st.integers(0, 3_600_000).map(lambda count: timedelta(milliseconds=count))
some_time = lengths.filter(bool)
recipients = st.one_of(
    st.from_regex(r"[a-z0-9.+]{1,20}@[a-zé-]{1,20}\.example", fullmatch=True).map(
        lambda address: Recipient("mail", address)
    ),
    st.from_regex(r"[a-z0-9@:/]{1,20}", fullmatch=True).map(
        lambda name: Recipient("webhook", name)
    ),
)


def several(values: st.SearchStrategy[Any], least: int = 0) -> st.SearchStrategy[Any]:
    """Draw different values, in any order."""
    return st.lists(values, min_size=least, max_size=3, unique_by=str).map(tuple)


networks = several(st.integers(1, 2**63 - 1).map(NetworkId))
labels = st.text(st.characters(codec="utf-8"), min_size=1, max_size=80)
scopes = st.builds(
    RuleScope,
    networks=networks,
    modules=several(st.from_regex(r"[A-Z0-9_]{1,9}", fullmatch=True)),
    stages=several(st.sampled_from(RejectionStage)),
    senders=several(st.binary(min_size=20, max_size=20).map(Address)),
    labels=several(labels),
    tags=several(st.from_regex(r"[a-z0-9_][a-z0-9_-]{0,9}", fullmatch=True)),
    takes_all_reports=st.booleans(),
)
spans = st.builds(
    WeekSpan,
    several(st.integers(0, 6), 1).map(lambda days: tuple(sorted(days))),
    st.integers(0, 700),
    st.integers(701, 1440),
)
hours = st.builds(ActiveHours, several(spans, 1), st.sampled_from(["UTC", "Asia/Tokyo"]))


rates = st.builds(
    RateMeasure,
    st.integers(0, 50_000),
    st.integers(10_000, 86_400_000).map(lambda count: timedelta(milliseconds=count)),
    st.none() | st.sampled_from(list(Dimension)[1:]),
)
fees = st.builds(
    FeeMeasure, st.sampled_from(Signal), st.integers(0, LARGEST_FEE).map(Wei), st.booleans()
)
MEASURES: dict[RuleKind, st.SearchStrategy[Any]] = {
    RuleKind.REJECTION_RATE: rates,
    RuleKind.FEE: fees,
    RuleKind.CREDITS_SHORT: st.builds(
        CreditMeasure,
        st.integers(1, 10**15),
        st.sampled_from(BudgetPeriod),
        st.integers(1, 100),
    ),
    RuleKind.EXPIRY: st.builds(ExpiryMeasure, some_time),
}


ends = st.datetimes(datetime(2000, 1, 1), timezones=st.just(UTC)).map(  # noqa: DTZ001 - that is added
    lambda each: each.replace(microsecond=0)
)


@st.composite
def rules(draw: st.DrawFn) -> Rule:
    """Draw a rule that a file may hold."""
    kind = draw(st.sampled_from(RuleKind))
    about = KINDS[kind]
    severity = draw(st.sampled_from(Severity))
    scope = RuleScope(networks=draw(networks)) if about.is_of_networks else RuleScope()
    escalates = draw(st.booleans())
    return Rule(
        draw(st.from_regex(r"[a-z0-9][a-z0-9_-]{0,20}", fullmatch=True)),
        kind,
        severity,
        is_enabled=draw(st.booleans()),
        measure=draw(MEASURES[kind]) if kind in MEASURES else None,
        scope=draw(scopes) if about.is_of_rejections else scope,
        recipients=draw(several(recipients)),
        pending=draw(lengths) if about.is_lasting else timedelta(),
        keep_firing=draw(lengths) if about.is_measured or not about.is_lasting else timedelta(),
        group_by=draw(several(st.sampled_from(Dimension), 1)),
        group_wait=draw(short_lengths),
        remind_every=draw(st.none() | lengths.filter(lambda each: each >= timedelta(minutes=1))),
        escalate_after=draw(some_time) if escalates else None,
        escalate_to=draw(several(recipients, 1)) if escalates else (),
        active_hours=draw(st.none() | hours),
        pierces=severity is Severity.CRITICAL and draw(st.booleans()),
        until=None if about.is_lasting else draw(st.none() | ends),
    )


@settings(max_examples=40)
@given(rules())
@example(Rule("rate", RuleKind.REJECTION_RATE, measure=RateMeasure(50_000, timedelta(days=1))))
@example(
    Rule(
        "by-module",
        RuleKind.REJECTION_RATE,
        measure=RateMeasure(0, timedelta(seconds=10), Dimension.MODULE),
    )
)
@example(
    Rule("budget", RuleKind.CREDITS_SHORT, measure=CreditMeasure(10**15, BudgetPeriod.DAY, 100))
)
@example(Rule("fee", RuleKind.FEE, measure=FeeMeasure(Signal.BASE_FEE, Wei(7), is_upper=False)))
@example(Rule("expiry", RuleKind.EXPIRY, measure=ExpiryMeasure(timedelta(days=14))))
@example(Rule("ending", RuleKind.REJECTED, until=datetime(2026, 11, 27, 7, tzinfo=UTC)))
@example(Rule("mistyped", RuleKind.REJECTED, until=datetime(26, 11, 27, 7, tzinfo=UTC)))
def test_rule_is_read_back_from_its_file_as_it_was(rule: Rule) -> None:
    text = write_toml("rules", {rule.name: write_rule(rule)})

    assert read_rule(rule.name, tomllib.loads(text)["rules"][rule.name]) == rule


@pytest.mark.parametrize("rule", DEFAULT_RULES, ids=lambda each: each.name)
def test_default_rule_is_one_that_a_person_could_write(rule: Rule) -> None:
    assert read_rule(rule.name, write_rule(rule)) == rule
    assert {"kind", "severity"} <= write_rule(rule).keys()
    assert write_rule(Rule("busy", RuleKind.BUSY)) == {"kind": "busy", "severity": "warning"}


def test_share_of_a_budget_that_is_not_said_is_the_usual_one() -> None:
    rule = read_rule("budget", BUDGET)

    assert isinstance(rule, Rule)
    assert rule.measure == CreditMeasure(3_000_000, BudgetPeriod.DAY, 80)


def test_names_stand_for_networks_and_words_may_be_in_either_case() -> None:
    table = {
        "kind": "Rejected",
        "networks": ["linea", 424242],
        "stages": ["rpc"],
        "tags": ["#VIP"],
        "labels": ["Bridge #1"],
        "modules": ["hub"],
        "senders": ["0x" + "ab" * 20],
        "recipients": ["mail:ops@example.org", "webhook:pager"],
        "active": ["mon-fri 08:00-18:00"],
        "time_zone": "Europe/Berlin",
    }

    rule = read_rule("night", table | {"reports": "tracked"}, NAMES)

    assert isinstance(rule, Rule)
    assert not rule.scope.takes_all_reports
    assert rule.scope.networks == (59144, A_NETWORK)
    assert rule.scope.stages == (RejectionStage.RPC,)
    assert rule.scope.tags == ("vip",)
    assert rule.scope.labels == ("Bridge #1",)
    assert rule.scope.modules == ("HUB",)
    assert len(rule.scope.senders) == 1
    assert rule.recipients == (Recipient("mail", "ops@example.org"), Recipient("webhook", "pager"))
    assert rule.active_hours is not None
    assert rule.active_hours.zone == "Europe/Berlin"


def test_channel_is_a_recipient_by_its_name_if_it_is_there() -> None:
    table = {"kind": "busy", "recipients": ["ops-hook", "ops-hook:pager"]}
    names = RuleNames(channels={"ops-hook": None})

    rule = read_rule("busy", table, names)
    missing = read_rule("busy", {"kind": "busy", "escalate_to": ["fax"]}, names)

    assert isinstance(rule, Rule)
    assert rule.recipients == (Recipient("ops-hook", "ops-hook"), Recipient("ops-hook", "pager"))
    assert write_rule(rule)["recipients"] == table["recipients"]
    assert isinstance(missing, list)
    assert "there are ops-hook" in str(missing)


@pytest.mark.parametrize(
    ("key", "value", "remark"),
    [
        ("kind", "rejection", "choose one of rejected, changed, included"),
        ("severity", 5, "choose one of info, warning, critical"),
        ("enabled", "yes", "write true or false"),
        ("networks", ["base"], "such as Linea (59144)"),
        ("networks", [True], "write names of networks or chain ids"),
        ("networks", [0], "write names of networks or chain ids"),
        ("networks", [], "write a list of one or more"),
        ("modules", "HUB", "write a list of one or more"),
        ("modules", ["A B"], "not a prover module"),
        ("modules", ["HUB", "HUB"], "holds one twice"),
        ("modules", [f"M{each}" for each in range(1_001)], "write at most 1,000"),
        ("stages", ["NODE"], "choose one of SEQUENCER, RPC, P2P, unknown"),
        ("senders", ["0x12"], "is not a valid address"),
        ("labels", [""], "write whole labels"),
        ("labels", ["x" * 81], "of at most 80 characters"),
        ("labels", ["\ud800"], "write whole labels"),
        ("tags", ["a b"], "not a tag"),
        ("reports", "any", "choose one of tracked, all"),
        ("recipients", ["ops"], "write an email address"),
        ("recipients", ["mail:ops"], "write an email address"),
        ("recipients", ["a@b\u202e"], "write an email address"),
        ("keep_firing", 5, "such as 30s, 5 min or 1h 30m"),
        ("keep_firing", "36501d", "36501d is too long"),
        ("remind_every", "59s", "write 1m or more"),
        ("group_wait", "61m", "write 1h at most"),
        ("group_by", ["rule"], "choose one of network, module, stage, sender, label"),
        ("active", ["always"], "mon-fri 08:00-18:00"),
        ("time_zone", "Mars/Base", "a name of the time zone database"),
        ("time_zone", 1, "write some text in quotes"),
        ("severty", "info", "did you mean severity?"),
        ("reports", ["all"], "choose one of tracked, all"),
        ("until", "tomorrow", "write a moment and its offset"),
        ("until", "2026-11-27T07:00:00", "such as 2026-11-27T07:00:00Z"),
        ("until", "9999-12-31T23:00:00-14:00", "write a moment and its offset"),
        ("zzz", 1, "choose one of kind, severity"),
    ],
)
def test_wrong_value_is_named_with_what_to_write(key: str, value: object, remark: str) -> None:
    found = read_rule(
        "mine", {"kind": "rejected", "active": ["sun 10:00-12:00"], key: value}, NAMES
    )

    assert isinstance(found, list)
    (only,) = found
    assert only.key == key
    assert remark in only.remark


@pytest.mark.parametrize(
    ("table", "key", "remark"),
    [
        ({"kind": "rejected", "pending": "5m"}, "pending", "rejected happens once"),
        ({"kind": "busy", "keep_firing": "5m"}, "keep_firing", "[alerts] says how long"),
        ({"kind": "busy", "modules": ["HUB"]}, "modules", "narrows rejections only"),
        ({"kind": "disk-filling", "networks": [1]}, "networks", "is not about networks"),
        ({"kind": "busy", "escalate_after": "1h"}, "escalate_after", "needs escalate_to"),
        ({"kind": "busy", "escalate_to": ["a@b"]}, "escalate_to", "needs escalate_after"),
        ({"kind": "busy", "pierces": True}, "pierces", 'needs severity = "critical"'),
        ({"kind": "busy", "time_zone": "Europe/Berlin"}, "time_zone", "needs active"),
        ({"kind": "busy", "until": "2026-11-27T07:00:00Z"}, "until", "single events"),
        ({"severity": "info"}, "", "lacks kind"),
        ({"kind": "busy", "window": "5m"}, "window", "belongs to rules of kind rejection-rate"),
        ({"kind": "rejection-rate", "window": "5m"}, "", "lacks more_than"),
        ({**RATE, "more_than": -1}, "more_than", "write a number up to 50,000"),
        ({**RATE, "more_than": 50_001}, "more_than", "write a number up to 50,000"),
        ({**RATE, "more_than": True}, "more_than", "write a number up to 50,000"),
        ({**RATE, "window": "9999ms"}, "window", "write 10s to 24h"),
        ({**RATE, "window": "86401s"}, "window", "write 10s to 24h"),
        ({**RATE, "by": "network"}, "by", "leave it out"),
        ({**RATE, "by": "hour"}, "by", "choose one of network, module"),
        ({"kind": "expiry"}, "", "lacks within"),
        ({**BUDGET, "budget": 0}, "budget", "write a number of credits"),
        ({**BUDGET, "budget": 10**15 + 1}, "budget", "write a number of credits"),
        ({**BUDGET, "used_percent": 0}, "used_percent", "write 1 to 100"),
        ({**BUDGET, "used_percent": 101}, "used_percent", "write 1 to 100"),
        ({"kind": "fee", "fee": "base fee"}, "", "needs above or below"),
        ({"kind": "fee", "fee": "base fee", "above": "5"}, "above", "1.5gwei or 7wei"),
        ({"kind": "fee", "fee": "base", "above": "5gwei"}, "fee", "base fee, priority fee"),
        ("busy", "", "write a table of settings"),
        ({f"key{number}": 1 for number in range(101)}, "", "has 101 settings: write 100 at most"),
    ],
)
def test_what_does_not_go_together_is_named(table: object, key: str, remark: str) -> None:
    found = read_rule("mine", table, NAMES)

    assert isinstance(found, list)
    (only,) = found
    assert only.key == key
    assert remark in only.remark


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("labels", ["x" * 80]),
        ("modules", [f"M{each}" for each in range(1_000)]),
        ("modules", ["M" * 64]),
        ("networks", [1, 2**63 - 1]),
        ("remind_every", "1m"),
        ("group_wait", "1h"),
        ("keep_firing", "36500d"),
        ("recipients", [f"{'a' * 200}@{'b' * 200}"]),
    ],
)
def test_value_at_its_limit_is_taken(key: str, value: object) -> None:
    rule = read_rule("mine", {"kind": "rejected", key: value})

    assert isinstance(rule, Rule)
    assert write_rule(rule)[key] == value


def test_everything_that_is_wrong_is_said_at_once() -> None:
    found = read_rule("My Rule", {"severity": "loud", "pierces": True, "group_wait": 1}, NAMES)

    assert isinstance(found, list)
    assert [each.key for each in found] == ["", "severity", "group_wait", ""]
    assert RuleRemark("severity", "is 'loud': choose one of info, warning, critical") in found


def test_escalation_after_no_time_is_refused() -> None:
    table = {"kind": "rejected", "escalate_after": "0s", "escalate_to": ["lead@example.org"]}

    assert read_rule("r", table) == [
        ("escalate_after", "is 0s: write more than zero, or leave the key out")
    ]


@given(
    st.sampled_from(KEYS),
    st.recursive(
        st.one_of(st.booleans(), st.integers(), st.floats(), st.text(max_size=20)),
        lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=2),
        max_leaves=4,
    ),
)
def test_any_value_of_a_key_is_read_or_refused_in_words(key: str, value: object) -> None:
    found = read_rule("r", {"kind": "rejected", key: value})

    assert isinstance(found, Rule) or all(each.remark for each in found)
