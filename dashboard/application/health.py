"""Whether Linewatch itself is well, what it spends, and what needs attention."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, TypeAlias, TypeVar

from msgspec import Struct, field

from dashboard.application.context import ApplicationContext, ApplicationSubject, shared_for
from dashboard.application.deliveries import COUNTED
from dashboard.application.line_limits import LineLimitEnds
from dashboard.application.listing import Json, instant
from dashboard.application.polling_plan import (
    ASKED_FOR,
    FOLLOWED_FOR,
    PollingPlan,
    planned_polling,
)
from dashboard.application.recipients import UnreachedRule, recipients_of_rules
from dashboard.application.source_health import NetworkHealth, Spending, read_networks, spending
from dashboard.domain.formatting import size, span
from dashboard.domain.health.budgets import BudgetState
from dashboard.domain.health.coverage import Gap, Watched
from dashboard.domain.health.mail_outages_and_failing_roles import FailingRole
from dashboard.domain.health.observation import Operation
from dashboard.domain.health.retention import StoreSize
from dashboard.domain.people.recipients import RecipientStatus, SuspectAddress
from dashboard.domain.quantity import NetworkId
from dashboard.errors import StoreError
from dashboard.store.alerts.alert_status import NotificationCounts
from dashboard.store.engine.engine import stored_revision
from dashboard.store.engine.leases import Holder, holders
from dashboard.store.engine.replica import ReplicaState
from dashboard.store.health import (
    MailState,
    StoreContents,
    StoreSpace,
    mail_state,
    store_contents,
    store_space,
)
from dashboard.store.monitoring.answer_counts import SourceRecord, source_records
from dashboard.store.monitoring.coverage import gaps_until, watched_from
from dashboard.store.monitoring.upkeep import (
    LastHeartbeat,
    Upkeep,
    free_space,
    free_space_by_day,
    last_heartbeat,
    last_upkeep,
    measure,
    spent_of,
    stretch_of,
)
from dashboard.store.tracking.search import count_by_age, count_follow_ups_by_age

MOST_GAPS: Final = 500
"""The most gaps that are read of each part of a network, the latest."""

GAPS_SHOWN_FOR: Final = timedelta(days=30)
QUARTERS: Final = 96
"""The quarters of an hour in the strip of a question: one day."""

_SHARED_FOR: Final = timedelta(seconds=2)
_RECORDS_SHARED_FOR: Final = timedelta(seconds=10)
_PLAN_SHARED_FOR: Final = timedelta(minutes=1)

T = TypeVar("T")

SOURCES: Final = "Sources"
WORKER: Final = "The worker"
NOTIFICATIONS: Final = "Notifications"
STORAGE: Final = "Storage"
"""The parts of Health, named as at the beginning of a sentence."""

SourceRecords: TypeAlias = Mapping[tuple[NetworkId, Operation], SourceRecord]

DISK_SHORT_WITHIN: Final = timedelta(days=14)
"""The disk is short if it will be full within this time."""

LATE_AFTER: Final = timedelta(minutes=2)
"""After this long in delivery, a notification needs attention."""


class Coverage(Struct, frozen=True):
    """The latest `gaps`, the last one first, and since when each part of a network is watched."""

    gaps: Sequence[Gap]
    began: Mapping[Watched, Mapping[NetworkId, datetime]]

    def began_at(self, network_id: NetworkId) -> datetime | None:
        """Return since when everything on a network is watched; None if nothing ever was."""
        began = (each.get(network_id) for each in self.began.values())
        return max((at for at in began if at is not None), default=None)


class WorkerHealth(Struct, frozen=True):
    """Who holds the leases, by name, and what the worker last did.

    `heartbeat` is None if none is configured.
    """

    holders: Mapping[str, Holder]
    heartbeat: LastHeartbeat | None = None
    upkeep: Upkeep = Upkeep()
    schema: str = ""


class NotificationHealth(Struct, frozen=True):
    """The state of notifications; `unreached` are rules that reach nobody.

    `recipients` counts recipients by status; mails to `suspects` bounced once.
    """

    mail: MailState
    unreached: Sequence[UnreachedRule] = ()
    recipients: Counter[RecipientStatus] = field(default_factory=Counter)
    suspects: Sequence[SuspectAddress] = ()


class StorageHealth(Struct, frozen=True):
    """The space of the store; `low_space` is how many bytes should be free on its disk.

    `replica` is None if none is configured.
    """

    space: StoreSpace
    low_space: int = 0
    replica: ReplicaState | None = None

    @property
    def is_space_low(self) -> bool:
        """Whether the disk of the store has too little space now."""
        return is_space_low(self.space.free_on_disk, self.low_space)


class Health(Struct, frozen=True):
    """Everything that shows whether Linewatch is well, read part by part.

    A part is None if it could not be read; `unread` says why, by the part's name. `failing_roles`
    keep crashing on this machine, under `linewatch up`.
    """

    networks: Sequence[NetworkHealth] | None
    worker: WorkerHealth | None
    notifications: NotificationHealth | None
    storage: StorageHealth | None
    unread: Mapping[str, StoreError] = field(default_factory=dict)
    failing_roles: Sequence[FailingRole] = ()
    budgets: Sequence[BudgetState] = ()

    def shortages(self, now: datetime) -> Iterator[tuple[str, str]]:
        """Yield the budgets for which polls stretch: a headline, and a text with the remedy."""
        for each in self.budgets:
            if each.is_short():
                advice = (
                    "Raise it in [budgets], or track fewer transactions; otherwise nothing "
                    "is lost, but rejections are seen later."
                )
                text = " ".join([*each.sentences(now), advice])
                yield f"The budget {each.budget.name} is short of credits.", text


FREE_SPACE_ADVICE: Final = (
    "Free some space, or move the store to a larger disk: when it is full nothing more is stored, "
    "and nobody is notified."
)


def is_space_low(free: int | None, least: int) -> bool:
    """Whether fewer bytes are free on a disk than should be; false if that is unknown."""
    return free is not None and free < least


def is_disk_short(measured: StoreSize) -> bool:
    return measured.full_in is not None and measured.full_in < DISK_SHORT_WITHIN


def is_mail_late(counts: NotificationCounts, now: datetime) -> bool:
    """Whether a notification has been in delivery for longer than delivery takes.

    A notification that waits for the hourly cap, quiet hours or a worker is not late.
    """
    oldest = counts.in_delivery_since
    return oldest is not None and now - oldest > LATE_AFTER


class InstallationHealth(ApplicationSubject):
    """The questions about Linewatch itself.

    Each part is read separately, so that damage in one does not hide the others.
    """

    def health(self) -> Health:
        """Return every part that can be read; StoreError if none can."""
        unread: dict[str, StoreError] = {}

        def part(name: str, read: Callable[[], T]) -> T | None:
            try:
                return read()
            except StoreError as error:
                unread[name] = error
                return None

        parts = (
            part(SOURCES, self.networks),
            part(WORKER, self.worker),
            part(NOTIFICATIONS, self.notifications),
            part(STORAGE, self.storage),
        )
        if len(unread) == len(parts):
            raise next(iter(unread.values()))
        budgets = part(SOURCES, self.budgets) or ()
        return Health(*parts, unread, self._context.settings.failing_roles(), budgets)

    @shared_for(_SHARED_FOR)
    def networks(self) -> Sequence[NetworkHealth]:
        """Return how each network answers, and what its fees cost today."""
        context, limits = self._context, LineLimitEnds(self._context).limits()
        with context.store.read_recent() as connection:
            return read_networks(connection, context.networks, limits, context.now())

    @shared_for(_SHARED_FOR)
    def budgets(self) -> Sequence[BudgetState]:
        """Return how much of each budget is spent, and how far polls stretch for it."""
        given, now = self._context.settings.budgets, self._context.now()
        if not given:
            return ()
        with self._context.store.read_recent() as connection:
            return [
                BudgetState(
                    each,
                    spent_of(connection, each.name, now),
                    stretch_of(connection, each.name, now),
                )
                for each in given
            ]

    @shared_for(_SHARED_FOR)
    def worker(self) -> WorkerHealth:
        period = self._context.settings.heartbeat_period
        with self._context.store.read() as connection:
            return WorkerHealth(
                holders(connection),
                None if period is None else last_heartbeat(connection),
                last_upkeep(connection),
                stored_revision(connection) or "",
            )

    @shared_for(_SHARED_FOR, until_write=True)
    def notifications(self) -> NotificationHealth:
        now, configured = self._context.now(), self._context.settings.recipients
        with self._context.store.read() as connection:
            return NotificationHealth(
                mail_state(connection, now - COUNTED),
                *recipients_of_rules(connection, configured, now),
            )

    @shared_for(_SHARED_FOR)
    def storage(self) -> StorageHealth:
        now, low_space = self._context.now(), self._context.settings.low_space
        with self._context.store.read() as connection:
            space = store_space(connection, now)
        return StorageHealth(space, low_space, self._context.store.replica_state())

    @shared_for(_SHARED_FOR)
    def contents(self) -> StoreContents:
        with self._context.store.read_recent() as connection:
            return store_contents(connection)

    @shared_for(_RECORDS_SHARED_FOR)
    def spending(self) -> Mapping[NetworkId, Spending]:
        """Return this month's calls and credits for each network that was asked."""
        with self._context.store.read_recent() as connection:
            return spending(connection, self._context.now())

    @shared_for(_PLAN_SHARED_FOR)
    def plan(self) -> PollingPlan:
        """Return the daily cost of polling at this cadence and others, within the budgets."""
        now, networks = self._context.now(), LineLimitEnds(self._context).networks()
        with self._context.store.read_recent() as connection:
            load = count_by_age(connection, now - ASKED_FOR)
            is_charged = any(each.cost.receipt for each in networks)  # it has no index
            after = now - FOLLOWED_FOR
            followed = count_follow_ups_by_age(connection, after) if is_charged else []
        return planned_polling(networks, load, followed, self.budgets(), now)

    @shared_for(_RECORDS_SHARED_FOR)
    def source_records(self) -> SourceRecords:
        """Return the results of each question to each network in the last 24 h."""
        return self.records_until(self._context.now())

    def records_until(self, until: datetime) -> SourceRecords:
        """Return the same for the 24 h before a moment."""
        with self._context.store.read_recent() as connection:
            return source_records(connection, until, QUARTERS)

    def free_space_by_day(self, until: datetime) -> list[tuple[datetime, int]]:
        """Return the free bytes on the disk of the store, oldest first.

        They are measured once a day, for 30 days; the last value is current unless `until` is past.
        """
        with self._context.store.read() as connection:
            found = free_space_by_day(connection, until)
            free = free_space(connection).on_disk
        is_now = until >= self._context.now()
        return [*found, (until, free)] if is_now and free is not None else found

    @shared_for(_SHARED_FOR)
    def coverage(self) -> Coverage:
        """Return since when each network is watched, and the gaps of the last 30 days."""
        now = self._context.now()
        ids = [profile.network_id for profile in self._context.networks]
        with self._context.store.read_recent() as connection:
            return Coverage(
                gaps_until(connection, ids, now, now - GAPS_SHOWN_FOR, MOST_GAPS),
                {each: watched_from(connection, ids, each) for each in Watched},
            )


_TEN_YEARS: Final = timedelta(days=3650)


def measure_store(context: ApplicationContext) -> StoreSize:
    """Measure the store now; StoreError if it cannot be read."""
    with context.store.read() as connection:
        return measure(connection, context.now())


def until_full(length: timedelta) -> str:
    """Format how long until the disk is full, at most "over ten years"."""
    return "over ten years" if length > _TEN_YEARS else span(length)


def growth(of_day: float) -> str:
    """Format a growth in bytes a day."""
    sign = "-" if of_day < 0 else "+"
    return f"{sign}{size(round(abs(of_day)))} a day"


def size_form(measured: StoreSize) -> dict[str, Json]:
    full_in = measured.full_in
    return {
        "measuredAt": instant(measured.measured_at),
        "bytes": measured.bytes,
        "freeInside": measured.free_inside,
        "freeOnDisk": measured.free_on_disk,
        "bytesPerDay": _whole(measured.growth),
        "fullInDays": None if full_in is None else full_in.days,
    }


def size_sentences(measured: StoreSize) -> list[str]:
    """Describe the size of the store, its growth, and when its disk will be full."""
    free = f"{size(measured.free_inside)} inside it is free, and is used before it grows"
    lines = [f"The store takes {size(measured.bytes)}; {free}."]
    if measured.growth is None:
        lines.append("Its growth is known once a worker has measured it on two days.")
    else:
        lines.append(f"It grows by {growth(measured.growth)}.")
    if measured.free_on_disk is not None:
        full = "" if measured.full_in is None else f", full in {until_full(measured.full_in)}"
        lines.append(f"Its disk has room for {size(measured.free_on_disk)}{full}.")
    return lines


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)
