"""The questions of the page Rejections: counts over time and by module, pages of rows, CSV."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from types import MappingProxyType
from typing import Final, TypeAlias

import msgspec
from msgspec import Struct

from dashboard.application.context import ApplicationContext, ApplicationSubject, shared_for
from dashboard.application.line_limits import LineLimitEnds
from dashboard.application.listing import Column, Json, Listing, for_programs, instant, time_column
from dashboard.application.rejection_timeline import (
    NO_MODULE,
    Overruns,
    Shown,
    SplitBy,
    Timeline,
    Window,
    sort_overruns,
    window_of,
)
from dashboard.application.rejection_trend import Compared
from dashboard.domain.formatting import moment
from dashboard.domain.health.coverage import Watched, WatchedTime
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.exclusion import StoredRejection, or_unknown
from dashboard.domain.rejections.line_limits import LineLimits, ModuleLimits
from dashboard.domain.rejections.reasons import Named, Reason, ReasonKind, explain, overrun
from dashboard.domain.rejections.search import RejectionFilter, label_in, parse_search
from dashboard.store.engine.connection import Connection
from dashboard.store.evidence.evidence import sentences_among
from dashboard.store.monitoring.coverage import watched_time
from dashboard.store.rejections.counts import (
    GroupCounts,
    Grouping,
    count_by,
    count_causes,
    count_over_time,
    rank_senders,
)
from dashboard.store.rejections.search import (
    UnparsedReason,
    latest_reasons,
    search,
    unparsed_reasons,
)
from dashboard.wire.exclusion import encode_record

MOST_EXPORTED: Final = 20_000
"""The most rejections in one CSV file."""

MOST_UNKNOWN: Final = 20
"""The most unknown texts that are listed."""

MOST_SENDERS: Final = 10
"""The number of senders that are ranked."""

LATEST_SORTED: Final = 1_000
"""Overruns are counted over this many rejections, since their texts are parsed one by one."""

EndpointsSay: TypeAlias = Mapping[tuple[TxHash, NetworkId], str]
"""Sentences about what exclusion endpoints say of transactions, if records do not say it all."""

_SHARED_FOR: Final = timedelta(seconds=2)
_HALF: Final = 0.5
_GROUPINGS: Final = {
    SplitBy.MODULE: Grouping.MODULE,
    SplitBy.STAGE: Grouping.STAGE,
    SplitBy.NETWORK: Grouping.NETWORK,
}
_MOST_GROUPS: Final = 100


class RejectionSummary(Struct, frozen=True):
    """The rejections of a time and of the time before, counted by kind and module of reason."""

    compared: Compared
    named: Counter[Named]
    named_before: Counter[Named]

    @property
    def total(self) -> int:
        return self.compared.total

    @property
    def modules(self) -> Counter[str]:
        return _modules(self.named)

    @property
    def modules_before(self) -> Counter[str]:
        """The number of rejections by module in the time before."""
        return _modules(self.named_before)

    @property
    def kinds(self) -> Counter[ReasonKind]:
        """The number of rejections without a module, by the kind of their reason."""
        found = Counter[ReasonKind]()
        for (kind, module), many in self.named.items():
            if module is None:
                found[kind] += many
        return found


def rejection_filter(
    context: ApplicationContext, network_id: NetworkId | None, text: str
) -> RejectionFilter:
    """Parse what a person types to find rejections, of one network or all.

    It may be hashes, an address, a network, a whole label, or words that the page shows.
    """
    if label := label_in(text):
        return RejectionFilter(network_id, label=label)
    found = parse_search(text)
    network_id, words = context.search_scope(network_id, found.words)
    return RejectionFilter(
        network_id,
        sender=found.sender,
        tx_hashes=found.tx_hashes,
        search=words,
        beginning=found.beginning,
    )


class Rejections(ApplicationSubject):
    def window(self, shown: Shown) -> Window:
        return window_of(shown, self._context.now())

    @shared_for(_SHARED_FOR)
    def summary(self, wanted: RejectionFilter, shown: Shown) -> RejectionSummary:
        """Count the matches in a time, and in the time before."""
        window = self.window(shown)
        with self._context.store.read_recent() as connection:
            named = _causes(connection, window.within(wanted))
            before = _causes(connection, window.before(wanted))
            watched = self._watched(connection, wanted, window.before_since, window.until)
        compared = Compared(
            named.total(),
            before.total(),
            watched.within(window.since, window.until),
            watched.within(window.before_since, window.since),
        )
        return RejectionSummary(compared, named, before)

    @shared_for(_SHARED_FOR)
    def timeline(self, wanted: RejectionFilter, shown: Shown, split: SplitBy) -> Timeline:
        """Count the matches in each step of a time."""
        window = self.window(shown)
        within = window.within(wanted)
        place = {begins: number for number, begins in enumerate(window.begins)}
        found: dict[str, list[int]] = {}
        with self._context.store.read_recent() as connection:
            for each in count_over_time(connection, within, window.step, _GROUPINGS[split]):
                if each.since in place:
                    counts = found.setdefault(self._name(each.key), [0] * len(place))
                    counts[place[each.since]] += each.count
            watched = self._watched(connection, wanted, window.since, window.until)
        ended = LineLimitEnds(self._context).ended()
        groups = sorted(found.items(), key=lambda each: (-sum(each[1]), each[0]))
        unseen = (each for each in place if _is_missed(each, window, watched))
        ends = tuple(
            (self._context.network_name(each), at)
            for each, at in ended.items()
            if wanted.network_id in {None, each} and window.since <= at < window.until
        )
        shown_groups = tuple((name, tuple(each)) for name, each in groups)
        return Timeline(window, split, shown_groups, frozenset(unseen), ends)

    @shared_for(_SHARED_FOR)
    def groups(self, wanted: RejectionFilter, shown: Shown, grouping: Grouping) -> GroupCounts:
        """Count the matches by stage or network, the largest groups first."""
        within = self.window(shown).within(wanted)
        with self._context.store.read_recent() as connection:
            return count_by(connection, grouping, within, None, _MOST_GROUPS)

    @shared_for(_SHARED_FOR)
    def senders(self, wanted: RejectionFilter, shown: Shown) -> GroupCounts:
        """Rank the senders of the latest matches in a time by number of rejections."""
        within = self.window(shown).within(wanted)
        with self._context.store.read_recent() as connection:
            return rank_senders(connection, within, MOST_SENDERS)

    @shared_for(_SHARED_FOR)
    def overruns(self, wanted: RejectionFilter, shown: Shown) -> Overruns:
        """Count the latest matches in a time by how far they exceeded their limit."""
        within = self.window(shown).within(wanted)
        with self._context.store.read_recent() as connection:
            return sort_overruns(latest_reasons(connection, within, LATEST_SORTED))

    def page(
        self, wanted: RejectionFilter, shown: Shown, number: int, rows: int
    ) -> tuple[StoredRejection, ...]:
        """Return one page of the matches in a time, counted from 1, the latest first."""
        within = self.window(shown).within(wanted)
        with self._context.store.read_recent() as connection:
            return tuple(search(connection, within, rows, (number - 1) * rows))

    def latest(
        self, wanted: RejectionFilter, limit: int, before: tuple[datetime, int] | None = None
    ) -> list[StoredRejection]:
        """Return the matches of all time, the latest first.

        `before` is the arrival and the id of a rejection that they must precede.
        """
        with self._context.store.read_recent() as connection:
            return search(connection, wanted, limit, before=before)

    def file(self, wanted: RejectionFilter, shown: Shown) -> str:
        """Format the latest `MOST_EXPORTED` matches in a time as CSV."""
        within = self.window(shown).within(wanted)
        with self._context.store.read_recent() as connection:
            found = search(connection, within, MOST_EXPORTED)
        return rejection_file(self._context, self.endpoints_say(found)).csv(found)

    def listing(self, found: Sequence[StoredRejection]) -> Listing[StoredRejection]:
        return rejection_listing(self._context, self.endpoints_say(found))

    def endpoints_say(self, found: Sequence[StoredRejection]) -> EndpointsSay:
        """Return sentences about what endpoints say of these, if records do not say it all."""
        with self._context.store.read_recent() as connection:
            return sentences_among(connection, [each.record.tx_hash for each in found])

    def limit_tables(self) -> tuple[ModuleLimits, ...]:
        """Return the tables of module limits: those of networks first, then the public ones."""
        own = (table for each in self._context.networks for table in each.line_limits.tables)
        found = [*own, *self._context.settings.limit_tables]
        return tuple({each.title: each for each in found}.values())

    def limits_of(self, network_id: NetworkId | None) -> ModuleLimits | None:
        """Return the current or last table of a network, or of the first network that has one."""
        now, profiles = self._context.now(), self._context.networks
        chosen = [each.line_limits for each in profiles if network_id in {None, each.network_id}]
        tables = (LineLimits(each.tables).at(now) for each in chosen)
        return next((each for each in tables if each is not None), None)

    def unknown_reasons(self, network_id: NetworkId | None) -> tuple[UnparsedReason, ...]:
        """Return all reasons that could not be parsed, the most frequent first."""
        with self._context.store.read_recent() as connection:
            return tuple(unparsed_reasons(connection, MOST_UNKNOWN, network_id))

    def _name(self, key: NetworkId | str | None) -> str:
        if isinstance(key, int):
            return self._context.network_name(key)
        return key or NO_MODULE

    def _watched(
        self, connection: Connection, wanted: RejectionFilter, since: datetime, until: datetime
    ) -> WatchedTime:
        """Return the watched time of the networks whose rejections are counted."""
        networks = [wanted.network_id] if wanted.network_id is not None else self._asked()
        return watched_time(connection, networks, Watched.REJECTIONS, since, until)

    def _asked(self) -> list[NetworkId]:
        return [each.network_id for each in self._context.networks if each.has_exclusion]


def _causes(connection: Connection, wanted: RejectionFilter) -> Counter[Named]:
    return Counter(
        {(each.reason_kind, each.module): each.count for each in count_causes(connection, wanted)}
    )


def _modules(named: Counter[Named]) -> Counter[str]:
    found = Counter[str]()
    for (_, module), many in named.items():
        if module is not None:
            found[module] += many
    return found


def _is_missed(begins: datetime, window: Window, watched: WatchedTime) -> bool:
    step = watched.within(max(begins, window.since), min(begins + window.step, window.until))
    return bool(step.missed) and step.watched <= _HALF * step.length


def rejection_listing(
    context: ApplicationContext, said: EndpointsSay = MappingProxyType({})
) -> Listing[StoredRejection]:
    """Return the columns of rejections; networks are named."""
    reason_of = context.reason_of

    def words(each: StoredRejection) -> str:
        reason = reason_of(each)
        is_read = reason.kind is not ReasonKind.UNPARSED or not reason.text
        return explain(reason) if is_read else f"“{reason.text}”"

    return Listing(
        "rejections",
        (
            for_programs("networkId", lambda each: each.network_id),
            time_column("arrived", "firstSeenAt", lambda each: each.first_seen_at),
            Column(
                "network",
                lambda each: context.label(each.network_id),
                "network",
                lambda each: context.network_name(each.network_id),
            ),
            for_programs("isSimulated", lambda each: context.is_simulated(each.network_id)),
            Column("stage", lambda each: str(each.record.tx_rejection_stage)),
            Column("module", lambda each: reason_of(each).module),
            Column("lines", lambda each: reason_of(each).count),
            Column("limit", lambda each: reason_of(each).limit),
            Column("transaction", lambda each: str(each.record.tx_hash)),
            Column("reason", words),
            Column("endpoints say", lambda each: said.get(_place(each)), "endpointsSay"),
        ),
        "No such rejection is stored.",
        lambda each: rejection_form(each, reason_of(each)),
    )


def _place(stored: StoredRejection) -> tuple[TxHash, NetworkId]:
    return stored.record.tx_hash, stored.network_id


def rejection_file(
    context: ApplicationContext, said: EndpointsSay = MappingProxyType({})
) -> Listing[StoredRejection]:
    """Return the columns of a file of rejections, with the reason in words and as sent."""
    reason_of = context.reason_of
    return Listing(
        "rejections",
        (
            Column("network_id", lambda each: each.network_id),
            Column("network", lambda each: context.network_name(each.network_id)),
            Column(
                "is_simulated",
                lambda each: "yes" if context.is_simulated(each.network_id) else "no",
            ),
            Column("tx_hash", lambda each: str(each.record.tx_hash)),
            Column("sender", lambda each: or_unknown(each.record.sender)),
            Column("nonce", lambda each: or_unknown(each.record.nonce)),
            Column("stage", lambda each: each.record.tx_rejection_stage),
            Column("module", lambda each: reason_of(each).module),
            Column("lines_needed", lambda each: reason_of(each).count),
            Column("lines_allowed", lambda each: reason_of(each).limit),
            Column("why", lambda each: explain(reason_of(each))),
            Column("reason_as_sent", lambda each: each.record.reason_message),
            Column("dated_by_the_node", lambda each: or_unknown(_dated(each))),
            Column("first_seen_here", lambda each: moment(each.first_seen_at)),
            Column("block_number", lambda each: each.record.block_number),
            Column("endpoints_say", lambda each: said.get(_place(each))),
        ),
    )


def _dated(stored: StoredRejection) -> str | None:
    at = stored.record.timestamp
    return None if at is None else moment(at)


def rejection_form(stored: StoredRejection, reason: Reason) -> dict[str, Json]:
    """Format a rejection for programs: the record as the API answers it, and what we derive."""
    unknown = dict.fromkeys(("from", "nonce", "txRejectionStage", "timestamp"))
    record: dict[str, Json] = msgspec.json.decode(encode_record(stored.record))
    return (
        unknown
        | record
        | {
            "added": stored.record.added or None,
            "firstSeenAt": instant(stored.first_seen_at),
            "lastSeenAt": instant(stored.last_seen_at),
            "reportedAt": instant(stored.reported_at),
            "source": str(stored.source),
            "overflows": [
                {"module": each.module, "count": each.count, "limit": each.limit}
                for each in stored.overflows
            ],
            "reason": {
                "kind": str(reason.kind),
                "module": reason.module,
                "count": reason.count,
                "limit": reason.limit,
                "limitFrom": reason.limit_from,
                "overrun": overrun(reason),
                "inWords": explain(reason),
            },
        }
    )
