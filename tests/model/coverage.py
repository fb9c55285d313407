"""What is to be remembered of when networks were watched, and of gaps, in plain Python."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from msgspec.structs import replace

from dashboard.domain.health.coverage import Covered, Gap, GapCause, Watched
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.coverage import covered, gaps
from tests.model.world import NETWORKS

_LONG: Final = timedelta(minutes=2)
PRECISION: Final = timedelta(seconds=30)
PRECISION_WITHOUT_FEES: Final = timedelta(seconds=5)
"""How exact it is written down until when something was watched; stored fees show it as well."""

Part: TypeAlias = tuple[NetworkId, Watched]
"""What may be watched of a network."""


class Span(NamedTuple):
    """From when until when something was watched, as far as it is written down."""

    since: datetime
    until: datetime


class Silence(NamedTuple):
    """Since when nobody answers, and why."""

    since: datetime
    reason: str


@dataclass
class Coverage:
    """The last span of each part, and every gap by its beginning; one without an end lasts."""

    spans: dict[Part, Span] = field(default_factory=dict)
    gaps: dict[tuple[Part, datetime], Gap] = field(default_factory=dict)

    def note_check(
        self,
        part: Part,
        at: datetime,
        pause: timedelta | None,
        silence: Silence | None,
        precision: timedelta,
    ) -> None:
        """Take a look of a worker, whose last was before this pause; None: it is its first."""
        span = self.spans.get(part)
        if span is None:
            self.spans[part] = Span(at, at)
            return
        before = dict(self.gaps)
        unseen_since = span.until if pause is None else at - pause
        since = span.since
        if at - unseen_since >= _LONG:
            self._end(part, unseen_since)
            self._keep(Gap(*part, unseen_since, at, GapCause.NOT_WATCHED))
            since = at
        self._hear(part, Span(since, at), silence)
        is_exact = span.until <= at < span.until + precision
        if self.gaps != before or not is_exact:
            self.spans[part] = Span(since, at)

    def lasting(self, part: Part) -> Gap | None:
        """Return the gap that lasts, if there is one."""
        return next((each for each in self._of(part) if each.ends_at is None), None)

    def purge(self, before: datetime) -> None:
        """Forget gaps that are over."""
        self.gaps = {
            place: gap
            for place, gap in self.gaps.items()
            if not (gap.begins_at < before and gap.ends_at is not None and gap.ends_at < before)
        }

    def _hear(self, part: Part, span: Span, silence: Silence | None) -> None:
        """End the gap of a silence that was broken, and begin one where a silence is long."""
        gap = self.lasting(part)
        if gap is not None and (silence is None or silence.since > gap.begins_at):
            self._end(part, span.until if silence is None else silence.since)
            gap = None
        if gap is not None or silence is None:
            return
        begins_at = max(silence.since, span.since)
        if span.until - begins_at >= _LONG:
            self._keep(Gap(*part, begins_at, None, GapCause.NOT_ANSWERED, silence.reason))

    def _end(self, part: Part, at: datetime) -> None:
        gap = self.lasting(part)
        if gap is not None:
            self._keep(replace(gap, ends_at=max(at, gap.begins_at)))

    def _keep(self, gap: Gap) -> None:
        self.gaps[(gap.network_id, gap.watched), gap.begins_at] = gap

    def _of(self, part: Part) -> list[Gap]:
        return [gap for (place, _), gap in self.gaps.items() if place == part]


def check_coverage(connection: Connection, held: Coverage, now: datetime) -> None:
    """Read what was watched and the gaps, and see that they are what is held."""
    expected = [Covered(*part, *span, held.lasting(part)) for part, span in held.spans.items()]
    assert sorted(covered(connection, NETWORKS), key=_part) == sorted(expected, key=_part)
    assert covered(connection, ()) == []
    since = now - timedelta(hours=1)
    for networks in (NETWORKS, NETWORKS[:1]):
        fitting = [
            gap
            for gap in sorted(held.gaps.values(), key=_latest)
            if gap.network_id in networks and gap.ends_at != gap.begins_at
        ]
        assert gaps(connection, networks) == fitting
        late = [each for each in fitting if each.ends_at is None or each.ends_at > since]
        assert gaps(connection, networks, since) == late
        parts = [(each.network_id, each.watched) for each in late]
        latest = [gap for place, gap in enumerate(late) if parts[:place].count(parts[place]) < 2]
        assert gaps(connection, networks, since, 2) == latest


def _part(each: Covered) -> Part:
    return each.network_id, each.watched


def _latest(gap: Gap) -> tuple[float, NetworkId, str]:
    return -gap.begins_at.timestamp(), gap.network_id, gap.watched
