"""Each incident is called by one sentence that a person understands without its rule."""

from __future__ import annotations

import pytest

from dashboard.domain.alerts.incident import Group, IncidentState
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.rule_text import incident_title
from tests.builders import A_NETWORK, an_incident

DEVNET = ("network", str(A_NETWORK))
HUB = (DEVNET, ("module", "HUB"), ("stage", "SEQUENCER"))


def title(kind: RuleKind, group: Group, **changes: object) -> str:
    incident = an_incident(kind=kind.value, group=group, **changes)
    return incident_title(incident, lambda _: "Devnet")


@pytest.mark.parametrize(
    ("kind", "group", "many", "words"),
    [
        (RuleKind.REJECTED, HUB, 38, "38 rejections by HUB on Devnet at SEQUENCER"),
        (RuleKind.REJECTED, (DEVNET, ("module", "")), 1, "1 rejection on Devnet"),
        (RuleKind.REJECTED, (("other", "x"),), 1_200, "1,200 rejections"),
        (RuleKind.CHANGED, HUB, 2, "2 changed rejections by HUB on Devnet at SEQUENCER"),
        (
            RuleKind.INCLUDED,
            (DEVNET, ("sender", "0xab"), ("label", "Payroll")),
            1,
            "1 transaction rejected on Devnet from 0xab labelled Payroll is in a block",
        ),
        (RuleKind.INCLUDED, (DEVNET,), 3, "3 transactions rejected on Devnet are in a block"),
    ],
)
def test_rejections_are_counted_with_what_they_have_in_common(
    kind: RuleKind, group: Group, many: int, words: str
) -> None:
    assert title(kind, group, transitions=many) == words


@pytest.mark.parametrize(
    ("kind", "group", "opened", "resolved"),
    [
        (RuleKind.BUSY, (DEVNET,), "Devnet is busy", "Devnet was busy"),
        (RuleKind.BUSY, (), "A network is busy", "A network was busy"),
        (
            *(RuleKind.UPSTREAM_SILENT, ()),
            *("An upstream of a network is silent", "An upstream of a network was silent"),
        ),
        (
            *(RuleKind.DISK_FILLING, (("network", "0"),)),
            "Disk of this installation is low on space",
            "Disk of this installation was low on space",
        ),
        (
            *(RuleKind.REJECTION_RATE, HUB),
            "Rejections by HUB on Devnet at SEQUENCER are above their limit",
            "Rejections by HUB on Devnet at SEQUENCER were above their limit",
        ),
    ],
)
def test_what_lasts_is_said_as_it_is_and_later_as_it_was(
    kind: RuleKind, group: Group, opened: str, resolved: str
) -> None:
    assert title(kind, group) == opened
    assert title(kind, group, state=IncidentState.RESOLVED) == resolved


@pytest.mark.parametrize("kind", RuleKind)
def test_every_kind_of_rule_has_a_sentence(kind: RuleKind) -> None:
    words = title(kind, (DEVNET,))

    assert words[0] == words[0].upper()
    assert not {"{", "}", ":"} & set(words)
