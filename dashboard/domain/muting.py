"""Muting: which rules cannot be judged now, since what they rest on is silent."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from dashboard.domain.condition import INSTALLATION, SubjectKind
from dashboard.domain.formatting import moment
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import Rule, RuleKind

_RESTS_ON: Final[Mapping[RuleKind, frozenset[SubjectKind]]] = {
    RuleKind.REJECTED: frozenset({SubjectKind.EXCLUSION_API}),
    RuleKind.CHANGED: frozenset({SubjectKind.EXCLUSION_API}),
    RuleKind.REJECTION_RATE: frozenset({SubjectKind.EXCLUSION_API}),
    RuleKind.BUSY: frozenset({SubjectKind.GAS_API, SubjectKind.FEES}),
    RuleKind.FEE: frozenset({SubjectKind.GAS_API, SubjectKind.FEES}),
    RuleKind.DATA_STALE: frozenset({SubjectKind.GAS_API}),
}
_WORDS: Final = {
    SubjectKind.GAS_API: "the fee source is silent",
    SubjectKind.EXCLUSION_API: "the exclusion API is silent",
    SubjectKind.FEES: "fees are stale",
    SubjectKind.WORKER: "no worker is running",
}
SOURCES: Final = (SubjectKind.GAS_API, SubjectKind.EXCLUSION_API, SubjectKind.FEES)
"""The kinds of conditions that keep rules of a network from being judged."""


@dataclass(frozen=True, slots=True)
class SilentSource:
    """What is silent, and since when: an API, the fees of a network, or the worker.

    `is_replaced`: a node answers in place of the source of fees.
    """

    kind: SubjectKind
    network_id: NetworkId
    since: datetime
    is_replaced: bool = False

    def __str__(self) -> str:
        return f"{_WORDS[self.kind]} since {moment(self.since)}"

    def mutes(self, kind: RuleKind) -> bool:
        """Whether rules of a kind rest on it; without a worker none is judged."""
        if self.kind is SubjectKind.WORKER:
            return True
        is_known = self.is_replaced and kind is not RuleKind.DATA_STALE
        return not is_known and self.kind in _RESTS_ON.get(kind, ())


def silence_of(
    kind: RuleKind, network_id: NetworkId | None, sources: Sequence[SilentSource]
) -> SilentSource | None:
    """Return why nobody knows what a rule of a kind would say of a network; None where one does.

    Without a network it is about all of them, of which others may answer.
    """
    for each in sources:
        if each.network_id in {network_id, INSTALLATION} and each.mutes(kind):
            return each
    return None


def muted_rules(source: SilentSource, rules: Iterable[Rule]) -> list[str]:
    """Return the names of the rules that cannot be judged of its network while it is silent."""
    is_everywhere = source.network_id == INSTALLATION
    return [
        each.name
        for each in rules
        if each.is_enabled
        and source.mutes(each.kind)
        and (is_everywhere or source.network_id in (each.scope.networks or {source.network_id}))
    ]


def muted_in_words(rules: Iterable[str]) -> str:
    """Say which rules cannot be judged while something is silent."""
    return f"While this lasts, these rules cannot be judged: {', '.join(rules)}."
