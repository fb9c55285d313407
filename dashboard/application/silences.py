"""Questions about silences and maintenance windows, and how to add and end them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.context import ApplicationSubject
from dashboard.application.listing import (
    Column,
    Json,
    Listing,
    for_programs,
    instant,
    time_column,
    time_for_programs,
)
from dashboard.domain.alerts.condition import INSTALLATION, SubjectKind
from dashboard.domain.alerts.incident import Incident
from dashboard.domain.alerts.inhibition import SourceOutage
from dashboard.domain.alerts.kinds.kind import RuleKind
from dashboard.domain.alerts.kinds.table import KINDS
from dashboard.domain.alerts.matcher import (
    MatchedProperty,
    Matcher,
    NetworkNames,
    fits,
    in_words,
    labels_of,
    labels_of_group,
    parse_matcher,
)
from dashboard.domain.alerts.rule import fits as takes
from dashboard.domain.alerts.silence import (
    Silence,
    SilenceKind,
    SilenceRequest,
    check_request,
    likely_silences,
    silenced_all_by,
)
from dashboard.domain.formatting import counted, moment
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Action, Actor, Detail
from dashboard.domain.people.active_hours import ActiveHours, WeeklyHours, WeekSpan
from dashboard.domain.quantity import NetworkId, shorten
from dashboard.errors import InputError, NotFound
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.alert_status import source_outages
from dashboard.store.alerts.incident_list import labels_of_incident, open_incident_stories
from dashboard.store.alerts.rules import MOST_TRANSITIONS, past_transitions, rules_in_force
from dashboard.store.alerts.silences import (
    add_silence,
    end_silence,
    finished_silences,
    unfinished_silences,
)
from dashboard.store.engine.connection import Connection
from dashboard.store.monitoring.coverage import without_worker_since
from dashboard.wire.decoding import format_timestamp

MOST_FINISHED: Final = 20
"""How many finished silences are still shown, the latest."""

_BEGUN: Final = {
    SilenceKind.SILENCE: Action.SILENCE,
    SilenceKind.MAINTENANCE: Action.PLAN_MAINTENANCE,
}
_ENDED: Final = {
    SilenceKind.SILENCE: Action.END_SILENCE,
    SilenceKind.MAINTENANCE: Action.END_MAINTENANCE,
}
_OF_REJECTIONS: Final = {each.value for each in RuleKind if KINDS[each].is_of_rejections}
_NAMED: Final = frozenset(MatchedProperty)
PREVIEWED: Final = timedelta(days=7)
_MOST_OPEN: Final = 1_000
_MOST_RULES: Final = 3


class StoredSilences(Struct, frozen=True):
    """Active and planned silences, the first to end first, and finished ones."""

    unfinished: tuple[Silence, ...]
    finished: tuple[Silence, ...]


def _require_rule(matcher: Matcher, rules: Sequence[str]) -> None:
    """Raise InputError if no rule matches the name or the pattern."""
    about = MatchedProperty.RULE
    if matcher.about is not about:
        return
    named = replace(matcher, is_equal=True)
    if not any(named.holds({about: name}) for name in rules):
        raise InputError(
            f"{shorten(str(matcher))} names no rule that is in force: there are {', '.join(rules)}"
        )


class Silences(ApplicationSubject):
    @property
    def networks(self) -> NetworkNames:
        """The networks that a matcher can name."""
        return {each.network_id: each.name for each in self._context.networks}

    def stored(self) -> StoredSilences:
        """Return all active and planned silences, and the latest finished ones."""
        now = self._context.now()
        with self._context.store.read() as connection:
            return StoredSilences(
                tuple(unfinished_silences(connection, now)),
                tuple(finished_silences(connection, now, MOST_FINISHED)),
            )

    def read_matchers(self, texts: Sequence[str]) -> tuple[Matcher, ...]:
        """Parse matchers as people type them; InputError for one that can never match.

        A matcher for rules must match one that is in force.
        """
        matchers = tuple(parse_matcher(each, self.networks) for each in texts)
        if any(each.about is MatchedProperty.RULE for each in matchers):
            with self._context.store.read() as connection:
                rules = [each.name for each in rules_in_force(connection)]
            for each in matchers:
                _require_rule(each, rules)
        return matchers

    def weekly(self, spans: Sequence[str], zone: str = "") -> WeeklyHours | None:
        """Parse weekly hours in a time zone, by default that of [mail]; None if there are none.

        InputError if the hours or the time zone are not valid.
        """
        if not spans:
            return None
        name = zone or self._context.settings.recipients.zone
        hours = ActiveHours(tuple(map(WeekSpan.parse, spans)), name)
        return WeeklyHours(hours, self._context.zone(name))

    def preview(
        self, matchers: Sequence[Matcher], weekly: WeeklyHours | None = None
    ) -> SilencePreview:
        """Return which changes of the last seven days match, and which open incidents do now.

        With `weekly`, only changes in these hours count. Rules, labels and tags are the current
        ones. A change that several rules report counts once.
        """
        now = self._context.now()
        with self._context.store.read() as connection:
            rules = rules_in_force(connection)
            seen = past_transitions(connection, SubjectKind, now - PREVIEWED, now)
            incidents = sum(
                all(
                    fits(matchers, each)
                    for each in labels_of_incident(connection, story.incident, matchers)
                )
                for story in open_incident_stories(connection, _MOST_OPEN)
            )
        is_cut = len(seen) == MOST_TRANSITIONS
        if weekly is not None:
            seen = [each for each in seen if weekly.are_on(each.transition.at)]
        by_rule: Counter[str] = Counter()
        changes, last = 0, None
        for change in seen:
            fitting = [
                rule.name
                for rule in rules
                if takes(rule, change)
                and fits(matchers, labels_of(change, rule.name, str(rule.severity)))
            ]
            by_rule.update(fitting)
            if fitting:
                changes, last = changes + 1, change.transition.at
        return SilencePreview(tuple(by_rule.most_common()), changes, last, incidents, is_cut)

    def add(
        self, request: SilenceRequest, by: Actor, *, covers_all: bool = False
    ) -> tuple[Silence, bool]:
        """Store a request, on record; return the silence, and whether it is new.

        InputError if the request makes no sense; `covers_all`: everything is meant.
        """
        check_request(request, by.at, covers_all=covers_all)
        with self._context.store.write() as connection:
            silence, is_new = add_silence(connection, request, by)
            if is_new:
                self._note(connection, silence, _BEGUN[request.kind], by)
        return silence, is_new

    def end(self, kind: SilenceKind, silence_id: int, by: Actor) -> Silence:
        """End a silence early, on record; NotFound if none of this number is active or planned."""
        with self._context.store.write() as connection:
            silence = end_silence(connection, kind, silence_id, by)
            if silence is None:
                raise NotFound(
                    f"no {kind.value} {silence_id} is active or planned: it may be over already"
                )
            self._note(connection, silence, _ENDED[kind], by)
        return silence

    def words_of(self, matcher: Matcher) -> str:
        return in_words(matcher, self.networks)

    def scope_of(self, silence: Silence) -> str:
        return ", ".join(map(self.words_of, silence.request.matchers)) or "everything"

    def listing(self, kind: SilenceKind) -> Listing[Silence]:
        now = self._context.now()

        def matchers(each: Silence) -> Json:
            return [self.words_of(one) for one in each.request.matchers]

        def occurrence(each: Silence) -> tuple[datetime | None, datetime | None]:
            part = each.occurrence(now)
            return (None, None) if part is None else (part.request.starts_at, part.over_at)

        return Listing(
            "silences" if kind is SilenceKind.SILENCE else "maintenanceWindows",
            (
                Column("number", lambda each: each.silence_id, "number"),
                for_programs("kind", lambda each: each.kind.value),
                Column("state", lambda each: each.state(now).value, "state"),
                time_column("from", "startsAt", lambda each: each.request.starts_at),
                Column("until", until_words, "endsAt", lambda each: instant(each.request.ends_at)),
                Column("hours", lambda each: str(each.request.weekly or ""), "weekly", _spans),
                for_programs("timeZone", _zone),
                time_for_programs("nextStartsAt", lambda each: occurrence(each)[0]),
                time_for_programs("nextEndsAt", lambda each: occurrence(each)[1]),
                Column("what", self.scope_of, "matchers", matchers),
                Column("author", lambda each: each.author, "author"),
                Column("reason", lambda each: each.request.reason, "reason"),
                time_for_programs("createdAt", lambda each: each.created_at),
                time_for_programs("endedAt", lambda each: each.ended_at),
                for_programs("endedBy", lambda each: each.ended_by or None),
            ),
            f"No {kind.value} is active or planned.",
        )

    def _note(self, connection: Connection, silence: Silence, action: Action, by: Actor) -> None:
        request = silence.request
        details: dict[str, Detail] = {
            "matchers": [self.words_of(each) for each in request.matchers],
            "from": format_timestamp(request.starts_at),
            "until": format_timestamp(request.ends_at),
            **({} if request.weekly is None else {"weekly": str(request.weekly)}),
            "reason": request.reason,
        }
        note_action(connection, by, action, str(silence.silence_id), details)


def until_words(silence: Silence) -> str:
    """Say when it ends, or that it was cancelled before its start."""
    if silence.never_began:
        return f"{moment(silence.request.ends_at)}, cancelled at {moment(silence.over_at)}"
    return moment(silence.over_at)


def _spans(each: Silence) -> Json:
    weekly = each.request.weekly
    return [] if weekly is None else list(map(str, weekly.hours.spans))


def _zone(each: Silence) -> Json:
    return None if each.request.weekly is None else each.request.weekly.hours.zone


def silence_of(
    connection: Connection, incident: Incident, silences: Sequence[Silence], now: datetime
) -> Silence | None:
    """Return the silence of all its changes, which are read only if one in force may fit them."""
    shared = labels_of_group(incident.group, incident.rule, incident.severity)
    likely = likely_silences(silences, shared, now)
    if not likely:
        return None
    matchers = [matcher for each in likely for matcher in each.request.matchers]
    return silenced_all_by(likely, labels_of_incident(connection, incident, matchers), now)


def matchers_of(incident: Incident) -> tuple[Matcher, ...]:
    """Return the matchers for the changes of an incident, and for later ones like them.

    Rejections whose reason names no module are a group of their own: silencing it does not silence
    those of modules. In the same way, a module over its limit is separate from the same module
    unknown to the limits file.
    """
    is_of_rejections, group = incident.kind in _OF_REJECTIONS, dict(incident.group)
    if group.get(MatchedProperty.MODULE):
        group.setdefault(MatchedProperty.CAUSE, "")
    of_group = [
        Matcher(MatchedProperty(name), value)
        for name, value in group.items()
        if name in _NAMED and (value or is_of_rejections)
    ]
    return (Matcher(MatchedProperty.RULE, incident.rule), *of_group)


class SilencePreview(Struct, frozen=True):
    """How many changes of the last days match, by the rule that reports them.

    `last` is the latest of these changes, `incidents` how many open incidents match. `is_cut`:
    there were more changes than are read.
    """

    by_rule: tuple[tuple[str, int], ...] = ()
    changes: int = 0
    last: datetime | None = None
    incidents: int = 0
    is_cut: bool = False

    def __str__(self) -> str:
        """Describe it in one or two sentences; names of rules are made visible."""
        now = counted(self.incidents, "open incident")
        if self.last is None:
            return f"In the last seven days it would have matched no change. Now it matches {now}."
        shown = self.by_rule[:_MOST_RULES]
        rules = ", ".join(f"{many:,} of {visible(name, 80)}" for name, many in shown)
        rest = ", and others" if len(self.by_rule) > _MOST_RULES else ""
        least = "at least " if self.is_cut else ""
        return (
            f"In the last seven days it would have matched {least}"
            f"{counted(self.changes, 'change')} ({rules}{rest}), the last on {moment(self.last)}. "
            f"Now it matches {now}."
        )


def silent_now(
    connection: Connection, networks: Sequence[NetworkId], now: datetime
) -> list[SourceOutage]:
    """Return the current outages, the worker's first: without it nobody notices the others."""
    since = without_worker_since(connection, networks, now)
    worker = [] if since is None else [SourceOutage(SubjectKind.WORKER, INSTALLATION, since)]
    return [*worker, *source_outages(connection, now)]
