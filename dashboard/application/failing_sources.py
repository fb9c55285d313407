"""Which sources of a network are down, and which answer all but one question: decided only here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from msgspec import Struct

from dashboard.application.network_status import NetworkFigures, NetworkProfile
from dashboard.application.source_health import OPERATION_NAMES, NetworkHealth
from dashboard.domain.formatting import span, uncapitalized
from dashboard.domain.health.observation import FEE_OPERATIONS, Operation
from dashboard.store.monitoring.answer_counts import StandingFailure

_OF_PRESENT_FEES: Final = FEE_OPERATIONS - {Operation.BASE_FEE_HISTORY}


class FailingSource(Struct, frozen=True):
    """A source that fails: it is down, or it answers other questions (`is_partial`).

    `name` is as within a sentence; `failure` has lasted longest of those it is about.
    """

    name: str
    failure: StandingFailure
    is_partial: bool = False

    @property
    def since(self) -> datetime:
        return self.failure.failing_since

    @property
    def subject(self) -> str:
        """Name what is not answered, as within a sentence: the source, or one question."""
        if not self.is_partial:
            return self.name
        return uncapitalized(OPERATION_NAMES[self.failure.operation])


def failing_sources(
    profile: NetworkProfile, failures: Iterable[StandingFailure], fees_answered_at: datetime | None
) -> list[FailingSource]:
    """Return the sources that fail, as alerts decide: first those that are down, then the longest.

    A gas API or node that answers for fees is down only if it has not answered `suggestedGasFees`,
    nor anything else about fees (last at `fees_answered_at`), since that failed.
    """
    found: defaultdict[str, list[StandingFailure]] = defaultdict(list)
    for each in sorted(failures, key=lambda each: each.failing_since):
        found[profile.source_of(each.operation)].append(each)
    sources = []
    for name, failing in found.items():
        longest, is_partial = failing[0], False
        if profile.has_gas and name == profile.gas_source:
            fees = [each for each in failing if each.operation is Operation.SUGGESTED_GAS_FEES]
            is_partial = not fees or (
                fees_answered_at is not None and fees_answered_at > fees[0].failing_since
            )
            longest = longest if is_partial else fees[0]
        sources.append(FailingSource(name, longest, is_partial))
    return sorted(sources, key=lambda each: (each.is_partial, each.since))


def failing_of(figures: NetworkFigures) -> list[FailingSource]:
    """Return the same of the figures of a network."""
    return failing_sources(figures.profile, figures.failures, figures.fees_answered_at)


def failing_of_health(health: NetworkHealth) -> list[FailingSource]:
    """Return the same of what Health shows."""
    failures = [each.failure for each in health.operations if each.failure is not None]
    answered = (
        each.answered_at
        for each in health.operations
        if each.operation in _OF_PRESENT_FEES and not each.is_from_node
    )
    last = max((each for each in answered if each is not None), default=None)
    return failing_sources(health.profile, failures, last)


def failing_in_words(network: str, failing: Iterable[FailingSource], now: datetime) -> str:
    """Name the first of the failing sources, and others shown as down for as long."""
    first, *others = failing
    lasted = span(now - first.since)
    if first.is_partial:
        return f"{network}: {first.subject} not answered for {lasted}"
    alike = [each for each in others if not each.is_partial and span(now - each.since) == lasted]
    who = " and ".join(each.name.removeprefix("the ") for each in (first, *alike))
    return f"{network}: {who} down {lasted}"
