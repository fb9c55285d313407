"""The end of line limits, as pages and commands say it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec.structs import replace

from dashboard.application.context import ApplicationSubject, shared_for
from dashboard.application.network_status import NetworkFigures, NetworkProfile
from dashboard.domain.formatting import uncapitalized
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rejections.line_limits import LineLimits
from dashboard.store.rejections.limits_end import known_limits

_SHARED_FOR: Final = timedelta(seconds=5)


def without_expected_outage(
    figures: NetworkFigures, ended: Collection[NetworkId]
) -> NetworkFigures:
    """Return the figures without failures of an exclusion API that need not answer any longer."""
    if figures.profile.network_id not in ended:
        return figures
    asked = Operation.EXCLUSION_STATUS
    awaited = tuple(each for each in figures.failures if each.operation is not asked)
    return replace(figures, failures=awaited)


class LineLimitEnds(ApplicationSubject):
    @shared_for(_SHARED_FOR)
    def limits(self) -> Mapping[NetworkId, LineLimits]:
        """Return the line limits of each network, with their ends as far as they are known."""
        configured = {each.network_id: each.line_limits for each in self._context.networks}
        with self._context.store.read_recent() as connection:
            return known_limits(connection, configured)

    def networks(self) -> tuple[NetworkProfile, ...]:
        """Return the networks, each with the end of its line limits as far as it is known."""
        limits = self.limits()
        return tuple(
            dataclasses.replace(each, line_limits=limits[each.network_id])
            for each in self._context.networks
        )

    def ended(self) -> dict[NetworkId, datetime]:
        """Return when the line limits of networks ended; other networks are missing."""
        now = self._context.now()
        found = ((key, each.ended_at(now)) for key, each in self.limits().items())
        return {key: ended_at for key, ended_at in found if ended_at is not None}

    def have_ended(self, profiles: Sequence[NetworkProfile]) -> bool:
        """Whether line limits have ended on all of those networks that can be asked."""
        asked = {each.network_id for each in profiles if each.has_exclusion}
        return bool(asked) and asked <= self.ended().keys()

    def sentences(self, profiles: Sequence[NetworkProfile]) -> tuple[str, ...]:
        """Say for each network that line limits ended or will end; by name if there are several."""
        now, limits = self._context.now(), self.limits()
        found = []
        for each in profiles:
            end = limits[each.network_id].end if each.network_id in limits else None
            said = "" if end is None else end.in_words(now)
            is_named = len(self._context.networks) > 1
            if said:
                found.append(f"{each.name}: {uncapitalized(said)}" if is_named else said)
        return tuple(found)
