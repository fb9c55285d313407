"""Outages that inhibit rules: which rules cannot be evaluated now, because of which source."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct

from dashboard.domain.alerts.condition import INSTALLATION, SubjectKind
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.formatting import moment
from dashboard.domain.quantity import NetworkId

_WORDS: Final = {
    SubjectKind.GAS_API: "the fee source has been down",
    SubjectKind.EXCLUSION_API: "the exclusion API has been down",
    SubjectKind.FEES: "fees have been stale",
    SubjectKind.WORKER: "no worker has been running",
}
SOURCES: Final = (SubjectKind.GAS_API, SubjectKind.EXCLUSION_API, SubjectKind.FEES)
"""The kinds of conditions that keep rules of a network from being evaluated."""


class SourceOutage(Struct, frozen=True):
    """An API or a network's fees that give no answer, or a missing worker, and since when.

    `is_replaced`: a node answers in place of the source of fees.
    """

    kind: SubjectKind
    network_id: NetworkId
    since: datetime
    is_replaced: bool = False

    def __str__(self) -> str:
        return f"{_WORDS[self.kind]} since {moment(self.since)}"

    def inhibits(self, kind: RuleKind) -> bool:
        """Whether rules of a kind depend on it; without a worker no rule is evaluated."""
        if self.kind is SubjectKind.WORKER:
            return True
        is_known = self.is_replaced and kind is not RuleKind.DATA_STALE
        return not is_known and self.kind in KINDS[kind].rests_on


def outage_behind(
    kind: RuleKind, network_id: NetworkId | None, sources: Sequence[SourceOutage]
) -> SourceOutage | None:
    """Return the outage that keeps a kind of rule from being evaluated for a network, if any.

    If `network_id` is None, only outages of the whole installation count: other networks may
    answer.
    """
    for each in sources:
        if each.network_id in {network_id, INSTALLATION} and each.inhibits(kind):
            return each
    return None


def inhibited_rules(source: SourceOutage, rules: Iterable[Rule]) -> list[str]:
    """Return the names of the rules that cannot be evaluated for its network during the outage."""
    is_everywhere = source.network_id == INSTALLATION
    return [
        each.name
        for each in rules
        if each.is_enabled
        and source.inhibits(each.kind)
        and (is_everywhere or source.network_id in (each.scope.networks or {source.network_id}))
    ]


def inhibited_in_words(rules: Iterable[str]) -> str:
    """Say which rules cannot be evaluated during an outage."""
    return f"While this lasts, these rules cannot be evaluated: {', '.join(rules)}."
