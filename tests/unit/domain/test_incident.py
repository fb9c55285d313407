"""Incidents, the conditions that they rest on, and the sentence by which each is called."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from msgspec.structs import replace

from dashboard.domain.alerts.condition import State, Subject, SubjectKind, Transition
from dashboard.domain.alerts.incident import (
    QUIET_AFTER,
    Group,
    Incident,
    IncidentState,
    grow,
    incident_key,
    open_incident,
)
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import DigestTime
from dashboard.domain.alerts.rule import CAUSE
from dashboard.domain.alerts.rule_text import incident_title
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.errors import InputError
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_transition,
    an_id,
    an_incident,
    seconds,
)
from tests.golden_texts import GoldenTexts

GROUP = (("network", "1"), ("module", "ADD"))


def busy(number: int, network: NetworkId = A_NETWORK, *, is_over: bool = False) -> Transition:
    before, after = (State.BUSY, State.CALM) if is_over else (State.CALM, State.BUSY)
    subject = Subject(SubjectKind.BUSYNESS, network)
    at = A_MOMENT + seconds(number)
    return a_transition(number, subject=subject, before=before, after=after, at=at)


def opened(transition: Transition, **changes: Any) -> Incident:  # noqa: ANN401 - any field
    of_rule: dict[str, Any] = {"rule": "busy", "kind": "busy", "severity": "info", "group": GROUP}
    return open_incident(transition, **(of_rule | changes))


def test_incident_is_of_the_network_that_all_of_its_changes_share() -> None:
    of_all = opened(busy(1), group=(("module", "ADD"),))

    assert opened(busy(1)).network_id == NetworkId(1)
    assert of_all.network_id is None


def test_incident_of_rejections_is_over_when_nothing_joined_it_for_a_while() -> None:
    incident = opened(a_transition())

    later = grow(incident, a_transition(2, at=A_MOMENT + seconds(60)), timedelta(minutes=5))

    assert (incident.state, incident.next_at) == (IncidentState.FIRING, A_MOMENT + QUIET_AFTER)
    assert (later.transitions, later.next_at) == (2, A_MOMENT + seconds(360))


def test_incident_of_networks_is_over_with_the_last_of_them() -> None:
    incident = opened(busy(1))
    both = grow(incident, busy(2, ANOTHER_NETWORK), QUIET_AFTER)
    one = grow(both, busy(3, is_over=True), QUIET_AFTER)
    none = grow(one, busy(4, ANOTHER_NETWORK, is_over=True), QUIET_AFTER)

    assert [each.troubled for each in (incident, both, one, none)] == [1, 2, 1, 0]
    assert (one.is_open, none.is_open) == (True, False)
    assert (none.resolved_at, none.transitions) == (A_MOMENT + seconds(4), 4)


def test_end_of_a_trouble_that_began_elsewhere_leaves_an_incident_as_it_is() -> None:
    incident = opened(busy(1))
    same = grow(incident, busy(2, ANOTHER_NETWORK, is_over=True), QUIET_AFTER, is_counted=False)

    assert (same.troubled, same.is_open, same.transitions) == (1, True, 2)


def test_end_whose_beginning_no_rule_saw_is_an_incident_that_is_over() -> None:
    assert not opened(busy(1, is_over=True)).is_open


def test_incident_with_a_pending_period_fires_later_and_may_end_before() -> None:
    hour = timedelta(hours=1)
    pending = opened(busy(1), pending=hour)

    assert pending.state is IncidentState.PENDING
    assert pending.next_at == busy(1).at + hour
    assert grow(pending, busy(2, ANOTHER_NETWORK), QUIET_AFTER).state is IncidentState.PENDING
    assert grow(pending, busy(3, is_over=True), QUIET_AFTER).state is IncidentState.RESOLVED


def test_same_transition_opens_the_same_incident() -> None:
    assert opened(busy(1)).incident_id == opened(busy(1)).incident_id != an_id(1)


def test_key_tells_groups_apart_whatever_stands_in_them() -> None:
    keys = {
        incident_key("rule", (("module", "A"), ("stage", "B"))),
        incident_key("rule", (("module", "AB"), ("stage", ""))),
        incident_key("rulemodule", (("A", "stage"), ("B", ""))),
        incident_key("rule", (("module", "\ud800"),)),
    }

    assert len(keys) == 4
    assert opened(busy(1)).key == incident_key("busy", GROUP[::-1])


def test_incident_lasts_as_long_as_its_spell_though_both_ends_are_known_later() -> None:
    begun, over = A_MOMENT - seconds(60), A_MOMENT + seconds(40)
    opening = replace(busy(1), since=begun)
    ending = replace(busy(2, is_over=True), at=A_MOMENT + seconds(340), since=over)

    incident = opened(opening)
    resolved = grow(incident, ending, timedelta(minutes=5))

    assert (incident.opened_at, incident.changed_at) == (begun, opening.at)
    assert (resolved.resolved_at, resolved.changed_at) == (over, ending.at)


DEVNET = ("network", str(A_NETWORK))
HUB = (DEVNET, ("module", "HUB"), ("stage", "SEQUENCER"))


TITLES: dict[str, tuple[RuleKind, Group, int]] = {
    "rejections of a module": (RuleKind.REJECTED, HUB, 38),
    "module missing from the limits file": (
        RuleKind.REJECTED,
        (DEVNET, ("module", "BIN"), ("stage", "RPC"), (CAUSE, "module_undefined")),
        3,
    ),
    "one rejection": (RuleKind.REJECTED, (DEVNET, ("module", "")), 1),
    "rejections, by something unknown": (RuleKind.REJECTED, (("other", "x"),), 1_200),
    "changed rejections": (RuleKind.CHANGED, HUB, 2),
    "included": (RuleKind.INCLUDED, (DEVNET, ("sender", "0xab"), ("label", "Payroll")), 1),
    "several included": (RuleKind.INCLUDED, (DEVNET,), 3),
    "rate": (RuleKind.REJECTION_RATE, HUB, 1),
    "busy, on any network": (RuleKind.BUSY, (), 1),
    "silent, on any network": (RuleKind.UPSTREAM_SILENT, (), 1),
    "disk": (RuleKind.DISK_FILLING, (("network", "0"),), 1),
    **{f"kind {kind}": (kind, (DEVNET,), 1) for kind in RuleKind},
}


def test_incidents_are_called_as_it_was_reviewed(golden: GoldenTexts) -> None:
    def titles(kind: RuleKind, group: Group, many: int) -> list[str]:
        """Return what it is called while it lasts, and later."""
        incident = an_incident(kind=kind.value, group=group, transitions=many)
        over = replace(incident, state=IncidentState.RESOLVED)
        return [incident_title(each, lambda _: "Devnet") for each in (incident, over)]

    golden.check("incident_titles", {name: titles(*case) for name, case in TITLES.items()})


def test_subject_is_kept_under_its_network_and_hash() -> None:
    subject = Subject.transaction(NetworkId(59144), TxHash(b"\xab" * 32))

    assert subject.kind is SubjectKind.TRANSACTION
    assert subject.key() == f"transaction:59144:0x{'ab' * 32}"
    assert Subject(SubjectKind.BUSYNESS, NetworkId(1)).key() == "busyness:1:"


ZURICH = ZoneInfo("Europe/Zurich")


@pytest.mark.parametrize("text", ["daily 08:00", "weekly mon 00:00", "weekly sun 23:59"])
def test_time_of_a_digest_is_read_as_it_is_written(text: str) -> None:
    time = DigestTime.parse(f" {text.upper()} ")

    assert (str(time), time.is_weekly) == (text, text.startswith("weekly"))


@pytest.mark.parametrize(
    "text", ["", "daily", "daily 24:00", "weekly 08:00", "weekly foo 08:00", "mon 08:00", "0" * 99]
)
def test_what_is_no_time_of_a_digest_is_named_with_the_form(text: str) -> None:
    with pytest.raises(InputError, match="write daily 08:00 or weekly mon 08:00"):
        DigestTime.parse(text)


@pytest.mark.parametrize(
    ("text", "now", "latest"),
    [
        ("daily 08:00", datetime(2026, 11, 20, 7, 0, tzinfo=UTC), (2026, 11, 20, 7, 0)),
        ("daily 08:00", datetime(2026, 11, 20, 6, 59, tzinfo=UTC), (2026, 11, 19, 7, 0)),
        ("weekly mon 08:00", datetime(2026, 11, 20, 12, 0, tzinfo=UTC), (2026, 11, 16, 7, 0)),
        ("weekly mon 08:00", datetime(2026, 11, 16, 6, 0, tzinfo=UTC), (2026, 11, 9, 7, 0)),
        # The clocks are put forward from 02:00 to 03:00, and later back from 03:00 to 02:00.
        ("daily 02:30", datetime(2026, 3, 29, 12, 0, tzinfo=UTC), (2026, 3, 29, 1, 30)),
        ("daily 08:00", datetime(2026, 3, 29, 12, 0, tzinfo=UTC), (2026, 3, 29, 6, 0)),
        ("daily 02:30", datetime(2026, 10, 25, 12, 0, tzinfo=UTC), (2026, 10, 25, 0, 30)),
        ("weekly sun 02:30", datetime(2026, 10, 25, 0, 29, tzinfo=UTC), (2026, 10, 18, 0, 30)),
    ],
)
def test_digest_comes_at_the_time_that_the_clocks_of_the_recipient_show(
    text: str, now: datetime, latest: tuple[int, ...]
) -> None:
    year, month, day, hour, minute = latest

    found = DigestTime.parse(text).latest(now, ZURICH)

    assert found == datetime(year, month, day, hour, minute, tzinfo=UTC)
