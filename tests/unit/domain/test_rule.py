"""A rule takes the changes that it names, and no others."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind
from dashboard.domain.alerts.incident import QUIET_AFTER
from dashboard.domain.alerts.kinds.kind import Dimension, RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateGrounds, RateMeasure
from dashboard.domain.alerts.kinds.table import kind_of, subject_kinds
from dashboard.domain.alerts.rule import (
    CAUSE,
    DEFAULT_RULES,
    ObservedChange,
    Rule,
    RuleScope,
    Severity,
    fits,
    takes_all_reports,
)
from dashboard.domain.alerts.rule_table import (
    RuleDifference,
    RuleEdit,
    added,
    changed,
    differences,
    merged_with,
    removed,
    replaced_by,
    turned,
    why_closed,
)
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.tracking.remarks import tags_in
from dashboard.errors import InputError
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_record,
    a_rejection,
    a_transition,
    an_address,
    an_incident,
    seconds,
)

REJECTED = Rule("rejections", RuleKind.REJECTED)


def a_change(**changes: object) -> ObservedChange:
    """Return the news of the rejection of a tracked transaction with a label and tags."""
    fields = {"label": "bridge #vip", "tags": tags_in("#vip #Ops-Team"), "rejection": a_rejection()}
    return ObservedChange(a_transition(), **(fields | changes))  # type: ignore[arg-type]  # any field


def of_network(kind: SubjectKind, before: State | None, after: State) -> ObservedChange:
    """Return a change of a side of a network."""
    network = INSTALLATION if kind is SubjectKind.DISK else A_NETWORK
    subject = Subject(kind, network)
    return ObservedChange(a_transition(subject=subject, before=before, after=after))


@pytest.mark.parametrize(
    ("scope", "is_taken"),
    [
        (RuleScope(), True),
        (RuleScope(networks=(A_NETWORK,)), True),
        (RuleScope(networks=(ANOTHER_NETWORK,)), False),
        (RuleScope(modules=("HUB", "ADD")), True),
        (RuleScope(modules=("HUB",)), False),
        (RuleScope(stages=(RejectionStage.RPC,)), True),
        (RuleScope(stages=(RejectionStage.P2P,)), False),
        (RuleScope(senders=(an_address(),)), True),
        (RuleScope(senders=(an_address(9),)), False),
        (RuleScope(labels=("bridge #vip",)), True),
        (RuleScope(labels=("bridge",)), False),
        (RuleScope(tags=("other", "ops-team")), True),
        (RuleScope(tags=("ops",)), False),
    ],
)
def test_scope_takes_what_it_names(scope: RuleScope, *, is_taken: bool) -> None:
    assert fits(replace(REJECTED, scope=scope), a_change()) is is_taken


def test_transaction_that_nobody_tracks_is_taken_only_with_all_reports() -> None:
    untracked = a_change(is_tracked=False)
    takes_all = replace(REJECTED, scope=RuleScope(takes_all_reports=True))

    assert not fits(REJECTED, untracked)
    assert fits(takes_all, untracked)


def test_rule_for_all_reports_is_one_of_single_rejections_that_is_on() -> None:
    takes_all = replace(REJECTED, scope=RuleScope(takes_all_reports=True))

    assert takes_all_reports(takes_all, A_MOMENT)
    assert not takes_all_reports(replace(takes_all, is_enabled=False), A_MOMENT)
    assert not takes_all_reports(replace(takes_all, kind=RuleKind.REJECTION_RATE), A_MOMENT)
    assert not takes_all_reports(REJECTED, A_MOMENT)
    assert not takes_all_reports(replace(takes_all, until=A_MOMENT), A_MOMENT)


def test_rule_with_an_end_takes_what_happened_before() -> None:
    change = a_change()
    at = change.transition.at

    assert fits(replace(REJECTED, until=at + seconds(1)), change)
    assert not fits(replace(REJECTED, until=at), change)


def test_rule_of_silence_is_about_both_apis() -> None:
    apis = (SubjectKind.GAS_API, SubjectKind.EXCLUSION_API)

    assert subject_kinds(RuleKind.UPSTREAM_SILENT) == apis


def test_rule_that_is_off_takes_nothing() -> None:
    assert not fits(replace(REJECTED, is_enabled=False), a_change())


def test_first_record_is_a_rejection_and_another_one_a_change() -> None:
    again = replace(a_change(), transition=a_transition(before=State.REJECTED))

    assert kind_of(a_transition()) is RuleKind.REJECTED
    assert kind_of(again.transition) is RuleKind.CHANGED
    assert not fits(REJECTED, again)
    assert fits(Rule("changes", RuleKind.CHANGED), again)


@pytest.mark.parametrize(
    ("kind", "before", "after", "rule"),
    [
        (SubjectKind.BUSYNESS, State.CALM, State.BUSY, RuleKind.BUSY),
        (SubjectKind.BUSYNESS, State.BUSY, State.CALM, RuleKind.BUSY),
        (SubjectKind.INCLUSION, None, State.INCLUDED, RuleKind.INCLUDED),
        (SubjectKind.FEES, State.FRESH, State.STALE, RuleKind.DATA_STALE),
        (SubjectKind.GAS_API, None, State.SILENT, RuleKind.UPSTREAM_SILENT),
        (SubjectKind.EXCLUSION_API, None, State.SILENT, RuleKind.UPSTREAM_SILENT),
        (SubjectKind.DISK, State.ENOUGH_SPACE, State.LOW_ON_SPACE, RuleKind.DISK_FILLING),
    ],
)
def test_each_change_of_a_network_concerns_one_default_rule(
    kind: SubjectKind, before: State | None, after: State, rule: RuleKind
) -> None:
    taking = [each.kind for each in DEFAULT_RULES if fits(each, of_network(kind, before, after))]

    assert taking == [rule]


def test_beginning_without_trouble_concerns_nobody() -> None:
    calm = of_network(SubjectKind.BUSYNESS, None, State.CALM)

    assert not any(fits(each, calm) for each in DEFAULT_RULES)


def test_default_rules_wake_people_for_what_stops_everything() -> None:
    assert [each.name for each in DEFAULT_RULES if each.pierces] == ["worker", "disk"]
    assert all(each.severity is Severity.CRITICAL for each in DEFAULT_RULES if each.pierces)


def test_group_holds_what_is_equal_in_every_dimension_of_the_rule() -> None:
    rule = replace(REJECTED, group_by=tuple(Dimension))

    assert rule.group_of(replace(a_change(), tags=frozenset({"vip", "payout"}))) == (
        (Dimension.NETWORK, str(A_NETWORK)),
        (Dimension.MODULE, "ADD"),
        (Dimension.STAGE, "RPC"),
        (Dimension.SENDER, str(an_address())),
        (Dimension.LABEL, "bridge #vip"),
        (Dimension.TAG, "payout vip"),
    )


def test_module_unknown_to_the_limits_file_is_apart_from_the_same_one_over_its_limit() -> None:
    reason = "Module ADD does not exist in the limits file."
    undefined = a_change(rejection=a_rejection(record=a_record(reason_message=reason)))
    by_module = replace(REJECTED, group_by=(Dimension.MODULE,))

    assert by_module.group_of(a_change()) == (("module", "ADD"),)
    assert by_module.group_of(undefined) == (("module", "ADD"), (CAUSE, "module_undefined"))
    assert replace(REJECTED, group_by=(Dimension.STAGE,)).group_of(undefined) == (("stage", "RPC"),)


def test_dimension_that_a_change_says_nothing_of_is_empty() -> None:
    busy = of_network(SubjectKind.BUSYNESS, State.CALM, State.BUSY)
    unnamed = a_change(rejection=a_rejection(record=a_record(reason_message="no")), label="")

    assert replace(REJECTED, group_by=tuple(Dimension)[1:]).group_of(busy) == (
        (Dimension.MODULE, ""),
        (Dimension.STAGE, ""),
        (Dimension.SENDER, ""),
        (Dimension.LABEL, ""),
        (Dimension.TAG, ""),
    )
    assert unnamed.module == ""


def test_rate_is_of_the_value_that_it_was_measured_of() -> None:
    grounds = RateGrounds(9, 5, seconds(60), "module", "HUB")
    subject = Subject(SubjectKind.REJECTION_RATE, A_NETWORK, rule="storm", dimension="HUB")
    change = ObservedChange(
        a_transition(subject=subject, after=State.BEYOND_LIMITS, grounds=grounds)
    )

    assert change.value_of(Dimension.MODULE) == "HUB"
    assert change.value_of(Dimension.SENDER) == ""


def test_measured_change_concerns_the_rule_that_measured_it_and_no_other() -> None:
    subject = Subject(SubjectKind.REJECTION_RATE, A_NETWORK, rule="storm")
    change = ObservedChange(a_transition(subject=subject, after=State.BEYOND_LIMITS))
    storm = Rule("storm", RuleKind.REJECTION_RATE, measure=RateMeasure(5, seconds(60)))

    assert fits(storm, change)
    assert not fits(replace(storm, name="other"), change)


def test_hold_periods_of_a_change_are_those_of_its_incident_unless_it_is_measured() -> None:
    storm = Rule("storm", RuleKind.REJECTION_RATE, pending=seconds(9), keep_firing=seconds(9))

    assert storm.quiet_after == QUIET_AFTER
    assert replace(REJECTED, keep_firing=seconds(90)).quiet_after == seconds(90)


BUSY = Rule("busy", RuleKind.BUSY)
STALE = Rule("stale", RuleKind.DATA_STALE)
LOUD = replace(BUSY, severity=Severity.CRITICAL, pending=seconds(90))


def test_edit_merges_replaces_adds_changes_turns_and_removes_rules() -> None:
    off = replace(BUSY, is_enabled=False)

    assert merged_with([LOUD])((BUSY, STALE)) == (LOUD, STALE)
    assert merged_with([STALE])((BUSY,)) == (BUSY, STALE)
    assert replaced_by([LOUD])((BUSY, STALE)) == (LOUD,)
    assert added(STALE)((BUSY,)) == (BUSY, STALE)
    assert changed("busy", lambda _: LOUD)((BUSY, STALE)) == (LOUD, STALE)
    assert turned("busy", is_enabled=False)((BUSY, STALE)) == (off, STALE)
    assert turned("busy", is_enabled=True)((off, STALE)) == (BUSY, STALE)
    assert removed(["busy"])((BUSY, STALE)) == (STALE,)


@pytest.mark.parametrize(
    ("edit", "held", "said"),
    [
        (replaced_by([]), (BUSY,), "no rule would be left"),
        (removed(["busy"]), (BUSY,), "enabled=false"),
        (added(LOUD), (BUSY,), "there is a rule busy already"),
        (turned("bussy", is_enabled=True), (BUSY, STALE), "did you mean busy?"),
        (removed(["x"]), (BUSY, STALE), "there are busy, stale"),
    ],
)
def test_edit_that_cannot_be_is_refused(edit: RuleEdit, held: tuple[Rule, ...], said: str) -> None:
    with pytest.raises(InputError) as refused:
        edit(held)

    assert said in str(refused.value)


def test_difference_names_what_is_added_changed_and_removed() -> None:
    found = differences((BUSY, STALE), (LOUD, Rule("disk", RuleKind.DISK_FILLING)))

    assert [each.name for each in found] == ["busy", "disk", "stale"]
    assert list(found[0].lines()) == [
        ("severity", "warning", "critical"),
        ("pending", None, "90s"),
    ]
    assert (found[1].before, found[2].after) == (None, None)
    assert next(iter(found[1].lines())) == ("kind", None, "disk-filling")


def test_nothing_differs_where_an_edit_changes_nothing() -> None:
    assert differences((BUSY,), merged_with([BUSY])((BUSY,))) == []
    assert list(RuleDifference("busy", None, None).lines()) == []


GROUPED = an_incident(group=(("network", "7"), ("module", "HUB"), ("stage", "RPC")))
OF_HUB = Rule("hub", RuleKind.REJECTED)


@pytest.mark.parametrize(
    ("tags", "why"), [(("payout", "new"), ""), (("new",), "its rule no longer covers this tag")]
)
def test_incident_of_several_tags_stays_while_its_rule_takes_one(
    tags: tuple[str, ...], why: str
) -> None:
    of_tags = an_incident(group=(("tag", "payout vip"),))

    assert why_closed(replace(OF_HUB, scope=RuleScope(tags=tags)), OF_HUB, of_tags) == why


@pytest.mark.parametrize(
    ("after", "why"),
    [
        (None, "its rule was removed"),
        (replace(OF_HUB, is_enabled=False), "its rule was turned off"),
        (replace(OF_HUB, kind=RuleKind.CHANGED), "its rule reports something else now"),
        (replace(OF_HUB, group_by=(Dimension.LABEL,)), "its rule reports something else now"),
        (
            replace(OF_HUB, scope=RuleScope(networks=(NetworkId(8),))),
            "its rule no longer covers this network",
        ),
        (
            replace(OF_HUB, scope=RuleScope(modules=("ADD", "MUL"))),
            "its rule no longer covers this module",
        ),
        (replace(OF_HUB, scope=RuleScope(networks=(NetworkId(7),), modules=("HUB",))), ""),
        (replace(OF_HUB, scope=RuleScope(labels=("bot",)), severity=Severity.CRITICAL), ""),
    ],
)
def test_incident_is_closed_where_its_rule_no_longer_reports_it(
    after: Rule | None, why: str
) -> None:
    assert why_closed(after, OF_HUB, GROUPED) == why


def test_incident_of_a_module_stays_however_the_reason_writes_it() -> None:
    scope = RuleScope(modules=("EXT",))
    of_ext = an_incident(group=(("module", "Ext"),))

    assert why_closed(replace(OF_HUB, scope=scope), OF_HUB, of_ext) == ""
