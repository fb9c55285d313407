"""Turn transitions into incidents and notifications, and deliver what is due."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Final, TypeAlias
from uuid import UUID

from msgspec import Struct

from dashboard.alert.deliver import Deliverer
from dashboard.alert.incident_clock import IncidentClock
from dashboard.alert.message import MaySend
from dashboard.alert.side_tasks import SideTasks
from dashboard.detect.routing import routes_of, withhold
from dashboard.domain.alerts.holding import RuleRoute
from dashboard.domain.alerts.inhibition import SOURCES
from dashboard.domain.alerts.notification import NO_DOMAIN, DeliveryResult, Recipient
from dashboard.domain.alerts.rule import ObservedChange
from dashboard.domain.alerts.silence import SilenceState
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.domain.quantity import Clock
from dashboard.errors import DeliveryWithheld
from dashboard.logs import get_logger
from dashboard.store.alerts import outbox
from dashboard.store.alerts.alert_status import source_outages
from dashboard.store.alerts.incidents import (
    is_incident_due,
    make_all_due,
    make_lasting_due,
)
from dashboard.store.alerts.outbox import catch_up
from dashboard.store.alerts.recipients import (
    list_addresses_off,
    mark_pending_dead,
    pending_to,
    read_directory,
    verified_without_summary,
)
from dashboard.store.alerts.rules import rules_in_force
from dashboard.store.alerts.silences import unfinished_silences
from dashboard.store.engine.batching import let_others_write
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import live_tokens

_ENTRIES_AT_ONCE: Final = 50
"""How many outbox entries one transaction expands: others, and the lease, write in between."""

_log = get_logger("delivery")


Router: TypeAlias = Callable[[ObservedChange, Sequence[Recipient]], Sequence[RuleRoute]]
"""Returns the routes of a change by each rule, given the recipients of rules that name none."""


class _LatestCheck(Struct):
    """When incidents were last checked, and what kept messages about them back then."""

    _at: datetime | None = None
    _obstacles: frozenset[object] = frozenset()

    def must_check_all(self, obstacles: frozenset[object], now: datetime) -> bool:
        """Whether all incidents are to be checked again.

        The clock was set back, what keeps messages back changed since, or nothing is known yet.
        """
        return self._at is None or now < self._at or obstacles != self._obstacles

    def note(self, obstacles: frozenset[object], now: datetime) -> None:
        """Remember the present state."""
        self._at, self._obstacles = now, obstacles


def _obstacles_in(connection: Connection, now: datetime) -> frozenset[object]:
    """Return what keeps messages back: silences, each with whether it is active, and addresses off.

    An incident that waits for its first message escalates at once if that cannot be sent any more.
    """
    silences = unfinished_silences(connection, now)
    lasting = [(each.silence_id, each.state(now) is SilenceState.ACTIVE) for each in silences]
    return frozenset([*lasting, *list_addresses_off(connection)])


@dataclass(frozen=True, slots=True)
class Notifier:
    """Notifies of every transition that a rule matches: `configured` recipients if it names none.

    `routes` replaces the stored rules. `domain` is that of Message-IDs. `beside` is what else is
    done while a worker holds the lease.
    """

    store: Store
    configured: ConfiguredRecipients
    deliverer: Deliverer
    clock: Clock
    routes: Router | None = None
    domain: str = NO_DOMAIN
    beside: SideTasks | None = None
    _latest: _LatestCheck = field(init=False, default_factory=_LatestCheck)

    def run(self, holder_token: int, may_send: MaySend) -> bool:
        """Do one round: act on time, notify of what is new, deliver what is due.

        Incidents that are due fire before new transitions are read: one of these may end them.
        Raises StoreError; or DeliveryWithheld, with nothing written, if the lease is over.

        Return whether the next round should follow at once, since answers are awaited.
        """
        if self.beside is not None:
            self.beside.start_due(may_send)
        self._act_on_time(holder_token)
        entries = expand_outbox(
            self.store, self.configured, self.clock, self.routes, self.domain, holder_token
        )
        self._check_recipients(holder_token)
        _log_results(self.deliverer.deliver_due(holder_token, may_send))
        return entries > 0 or self.deliverer.is_sending

    def finish(self, within: timedelta) -> Counter[DeliveryResult]:
        """Start nothing more and wait for running attempts; raises StoreError."""
        return self.deliverer.finish(within)

    def _act_on_time(self, holder_token: int) -> None:
        """Act on the incidents that are due."""
        now = self.clock()
        with self.store.read() as connection:
            obstacles = _obstacles_in(connection, now)
            are_all_due = self._latest.must_check_all(obstacles, now)
            is_due = are_all_due or is_incident_due(connection, now)
        if not is_due:
            self._latest.note(obstacles, now)
            return
        if are_all_due:
            self._release_early(holder_token, now)
        with _writing(self.store, holder_token) as connection:
            if are_all_due:
                make_all_due(connection, now)
            self._clock_at(connection, now).act(connection)
        self._latest.note(obstacles, now)

    def _release_early(self, holder_token: int, now: datetime) -> None:
        """Release what nothing holds any more, a few at once: a storm holds ten thousand."""
        after: UUID | None = None
        while True:
            with _writing(self.store, holder_token) as connection:
                clock = self._clock_at(connection, now)
                after = clock.release_early(connection, after)
            if after is None:
                return
            let_others_write()

    def _clock_at(self, connection: Connection, now: datetime) -> IncidentClock:
        rules = {each.name: each for each in rules_in_force(connection)}
        silences = unfinished_silences(connection, now)
        directory = read_directory(connection, self.configured)
        sources = source_outages(connection, now)
        return IncidentClock(now, rules, silences, directory, self.domain, sources)

    def _check_recipients(self, holder_token: int) -> None:
        """Send open changes to the newly verified; drop messages to people who must get nothing."""
        with self.store.read() as connection:
            directory = read_directory(connection, self.configured)
            verified = [
                each
                for each in verified_without_summary(connection)
                if not directory.withheld(each)
            ]
            barred = [each for each in pending_to(connection) if directory.withheld(each)]
        if not verified and not barred:
            return
        with _writing(self.store, holder_token) as connection:
            clock = self._clock_at(connection, self.clock())
            for each in barred:
                if why := clock.directory.withheld(each):
                    mark_pending_dead(connection, each, why)
            if barred:
                make_all_due(connection, clock.now)
            for each in verified:
                catch_up(connection, each, clock.directory, clock.now, self.domain, clock.route_of)


def expand_outbox(
    store: Store,
    configured: ConfiguredRecipients,
    clock: Clock,
    routes: Router | None = None,
    domain: str = NO_DOMAIN,
    holder_token: int | None = None,
) -> int:
    """Turn the next entries of the outbox into incidents and notifications.

    Return how many entries were expanded, 0 when all are done. DeliveryWithheld if the lease of
    `holder_token` is over; without a token that is not checked.
    """
    with store.read() as connection:
        if not outbox.is_expansion_pending(connection):
            return 0
    with _writing(store, holder_token) as connection:
        entries = outbox.pending_expansion(connection, _ENTRIES_AT_ONCE)
        now, directory = clock(), read_directory(connection, configured)
        zones = configured.zones
        router = routes or partial(routes_of, rules_in_force(connection), now=now, zones=zones)
        silences = unfinished_silences(connection, now)
        routed = [
            (
                each,
                [
                    withhold(route, each.change, silences, now, zones)
                    for route in router(each.change, directory.configured.named)
                ],
            )
            for each in entries
        ]
        outbox.expand(connection, routed, now, directory, domain)
        if any(each.transition.subject.kind in SOURCES for each in entries):
            make_lasting_due(connection, now)
    return len(entries)


@contextmanager
def _writing(store: Store, holder_token: int | None) -> Iterator[Connection]:
    """Write in one transaction; DeliveryWithheld, which undoes it, if the lease is over."""
    with store.write() as connection:
        if holder_token is not None and holder_token not in live_tokens(connection):
            raise DeliveryWithheld("the lease of this worker expired")
        yield connection


def _log_results(results: Counter[DeliveryResult]) -> None:
    if results.total():
        counts = {result.value: results[result] for result in DeliveryResult}
        _log.info("notifications were attempted", counts=counts)
