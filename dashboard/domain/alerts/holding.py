"""Holding: until when quiet hours and maintenance windows hold what one rule sends."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.alerts.condition import SubjectKind, Transition
from dashboard.domain.alerts.incident import Group
from dashboard.domain.alerts.incident_timers import TIMERS, IncidentTimers
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule import GROUP_WAIT
from dashboard.domain.alerts.silence import Silence, held_by
from dashboard.domain.people.active_hours import ActiveHours, WeeklyHours, Zones, next_in_all
from dashboard.domain.people.recipients import QUIET_HOURS, RecipientDirectory

BY_QUIET_HOURS: Final = "quiet-hours"
"""The key of quiet hours in `held_by`."""

_AT_ONCE: Final = datetime.min.replace(tzinfo=UTC)
_MOST_WINDOWS: Final = 40
"""How many windows in a row hold a message, such as those of forty days."""


class RuleRoute(Struct, frozen=True):
    """One rule that takes a transition.

    `group_wait` is how long followers are grouped; `timers` apply to its incidents. If `is_urgent`,
    neither the cap nor quiet hours delay it. `withheld` says why nobody is notified; it is empty if
    people are. No notification is sent before `held_until`; `held_for` says why, and `held_by`
    holds the keys of what holds it, with blanks between. `windows` are the maintenance windows that
    fit the change, also those that have not begun.
    """

    rule: str
    group: Group
    recipients: tuple[Recipient, ...]
    kind: RuleKind = RuleKind.REJECTED
    severity: str = "warning"
    group_wait: timedelta = GROUP_WAIT
    timers: IncidentTimers = TIMERS
    is_urgent: bool = False
    withheld: str = ""
    held_until: datetime | None = None
    active_hours: ActiveHours | None = None
    windows: tuple[Silence, ...] = ()
    held_for: str = ""
    held_by: str = ""

    @property
    def rank(self) -> tuple[bool, bool, datetime, bool]:
        """The sort key among routes of one change: a recipient is notified by the soonest.

        If a maintenance window holds several routes equally long, the one without quiet hours comes
        first: quiet hours could hold a notification further if the window ends early.
        """
        until = self.held_until or _AT_ONCE
        may_be_held_on = self.held_until is not None and self.active_hours is not None
        return bool(self.withheld), not self.is_urgent, until, may_be_held_on

    def hold_until(self, until: datetime, why: str, *by: str) -> RuleRoute:
        """Return the route held until a moment, with why and these keys added to what holds it."""
        known = self.held_for
        held_for = known if why in known else "; ".join(filter(None, (known, why)))
        keys = " ".join(dict.fromkeys((*self.held_by.split(), *by)))
        return replace(self, held_until=until, held_for=held_for, held_by=keys)

    def wait_for(self, transition: Transition, *, is_new: bool) -> timedelta:
        """Return how long a notification that begins with a transition waits for others to group.

        Zero if it opens its incident or is about a network. A new version of a rejection always
        waits: people were already notified of the rejection itself.
        """
        is_of_transaction = transition.subject.kind is SubjectKind.TRANSACTION
        if is_of_transaction and (not is_new or transition.before is not None):
            return self.group_wait
        return timedelta()


def window_key(silence_id: int | str) -> str:
    """Return the key of a maintenance window in `held_by`."""
    return f"window-{silence_id}"


def route_for(
    recipient: Recipient, route: RuleRoute, directory: RecipientDirectory, now: datetime
) -> RuleRoute:
    """Return the route for one recipient, whose quiet hours may hold it longer."""
    own = directory.hours(recipient)
    return route if own is None else hold(route, now, directory.configured.zones, own)


def hold(
    route: RuleRoute, now: datetime, zones: Zones, own: WeeklyHours | None = None
) -> RuleRoute:
    """Return the route held until no window, quiet hours of its rule, or those beside `own` apply.

    One may begin before the other ends. `own` are the active hours of one recipient. If each of
    many windows holds again at the next hours, only the first one counts: a message must come some
    time.
    """
    if route.is_urgent:
        return route
    at, after_first = route.held_until or now, route
    for turn in range(_MOST_WINDOWS):
        route, at = _hold_in_quiet_hours(route, at, zones, own)
        if turn == 1:
            after_first = route
        windows = held_by(route.windows, at)
        if not windows:
            return route
        at = windows[-1].over_at
        keys = (window_key(each.silence_id) for each in windows)
        route = route.hold_until(at, _of_window(windows[-1]), *keys)
    return after_first


def _hold_in_quiet_hours(
    route: RuleRoute, at: datetime, zones: Zones, own: WeeklyHours | None
) -> tuple[RuleRoute, datetime]:
    """Return the route held until all hours are on, and from when that is.

    If they are never on together, those of the recipient count: a message must come some time.
    """
    hours = {} if own is None else {QUIET_HOURS: own}
    if route.active_hours is not None:
        of_rule = WeeklyHours(route.active_hours, zones(route.active_hours.zone))
        hours = {f"quiet hours of the rule {route.rule}": of_rule, **hours}
    if all(each.are_on(at) for each in hours.values()):
        return route, at
    opens = next_in_all(hours.values(), at) or hours[QUIET_HOURS].next_on(at)
    is_by_all = opens > max(each.next_on(at) for each in hours.values())
    why = "; ".join(why for why, each in hours.items() if is_by_all or not each.are_on(at))
    return route.hold_until(opens, why, BY_QUIET_HOURS), opens


def _of_window(window: Silence) -> str:
    return f"maintenance window {window.silence_id} by {window.author}: {window.request.reason}"
