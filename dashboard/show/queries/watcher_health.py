"""Whether the watcher itself is well: which questions are answered, and what needs a look."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from dashboard.domain.coverage import Gap
from dashboard.domain.observation import FailureKind, Operation
from dashboard.domain.printing import size, span
from dashboard.domain.store_size import StoreSize
from dashboard.show.queries.credits import Spending
from dashboard.show.queries.network_status import Datum, NetworkCard
from dashboard.store.alerts.alert_status import OpenIncident
from dashboard.store.engine.leases import Holder
from dashboard.store.health import MailState, StoreState
from dashboard.store.monitoring.upstream_failures import StandingFailure

GIVES: Final = {
    Operation.SUGGESTED_GAS_FEES: "Base fee, congestion, suggested fees",
    Operation.BASE_FEE_HISTORY: "Base fees of past blocks",
    Operation.BASE_FEE_PERCENTILE: "Median base fee",
    Operation.BUSY_THRESHOLD: "Busy threshold",
    Operation.EXCLUSION_STATUS: "Rejections of tracked transactions",
    Operation.TRANSACTION_RECEIPT: "Inclusion of tracked transactions",
}
"""What each question brings, in words."""

REMEDIES: Final = {
    FailureKind.UNAVAILABLE: (
        "It is asked again by itself. If this lasts, look at the address of the endpoint and at "
        "the network between."
    ),
    FailureKind.THROTTLED: (
        "It asks for fewer calls: lengthen the periods under [poll], or raise the plan."
    ),
    FailureKind.REFUSED: "Look at its address, at its key, and at what the key is allowed to ask.",
    FailureKind.UNREADABLE: "What answers there is not this API: look at the address.",
}
"""What to do about a failure that lasts."""

SHORT_DISK: Final = timedelta(days=14)
"""How long the disk should suffice at least."""

PATIENCE: Final = timedelta(minutes=2)
"""How long a notice may be owed before that needs a look."""


class QuestionState(StrEnum):
    """How a question fares."""

    ANSWERED = "answered"
    STALE = "stale"
    FAILING = "failing"
    WAITING = "waiting"


@dataclass(frozen=True, slots=True)
class Question:
    """One question to one network: when it was last answered, and why it is not.

    `period` is how often it is asked, None where that follows the age of each hash.
    `is_told_by_node`: the last answer came from the node, since the gas API gave none.
    """

    operation: Operation
    answered_at: datetime | None
    period: timedelta | None
    failure: StandingFailure | None = None
    is_told_by_node: bool = False

    def state(self, now: datetime) -> QuestionState:
        """Say how it fares; a failure outweighs an old answer."""
        if self.failure is not None:
            return QuestionState.FAILING
        if self.answered_at is None:
            return QuestionState.WAITING
        if self.period is None:
            return QuestionState.ANSWERED
        is_stale = Datum(None, self.answered_at, self.period).is_stale(now)
        return QuestionState.STALE if is_stale else QuestionState.ANSWERED


@dataclass(frozen=True, slots=True)
class NetworkHealth:
    """The questions that are put to one network, and what they cost."""

    card: NetworkCard
    questions: Sequence[Question]
    spending: Spending = field(default_factory=Spending)

    def state(self, now: datetime) -> QuestionState:
        """Return the worst state of its questions; one without questions waits."""
        found = {question.state(now) for question in self.questions}
        worst = (QuestionState.FAILING, QuestionState.STALE, QuestionState.ANSWERED)
        return next((state for state in worst if state in found), QuestionState.WAITING)


@dataclass(frozen=True, slots=True)
class Health:
    """All that tells whether Linewatch is well; `holders` hold its leases by name.

    `gaps` are the latest times in which something was not watched, the last one first;
    `incidents` are what lasts on networks, as alerts go by it. `low_space` is how many bytes the
    disk should have free at least.
    """

    networks: Sequence[NetworkHealth]
    holders: Mapping[str, Holder]
    mail: MailState
    store: StoreState
    gaps: Sequence[Gap] = ()
    incidents: Sequence[OpenIncident] = ()
    low_space: int = 0

    @property
    def is_space_low(self) -> bool:
        """Whether the disk of the store has too little room now."""
        return is_space_low(self.store.free_on_disk, self.low_space)


FREE_SPACE: Final = (
    "Free some there, or move the store to a larger disk: when it is full nothing more is stored, "
    "and nobody is told of anything."
)
_NO_WORKER: Final = "no worker runs, so nothing is asked and nothing is sent"
NOT_RENEWED: Final = "whether a worker runs is not known: to say so takes room on that disk"


def needs_of(health: Health, now: datetime) -> list[str]:
    """Say what needs a look, the worst first; nothing where all is well."""
    needs = []
    if health.is_space_low:
        needs.append(f"the disk of the store has {size(health.store.free_on_disk or 0)} free")
    if not health.holders:
        needs.append(NOT_RENEWED if health.is_space_low else _NO_WORKER)
    for state, words in (
        (QuestionState.FAILING, "fails to answer"),
        (QuestionState.STALE, "is stale"),
    ):
        names = [each.card.name for each in health.networks if each.state(now) is state]
        needs += [f"{name} {words}" for name in names]
    if is_mail_late(health.mail, now):
        needs.append(f"{_count(health.mail.standing.owed, 'mail')} cannot be handed over")
    measured = health.store.measured
    if measured is not None and measured.full_in is not None and is_disk_short(measured):
        needs.append(f"the disk of the store is full in {span(measured.full_in)}")
    leap = health.store.clock_leap
    if leap is not None:
        ahead = span(leap.after - leap.before)
        needs.append(f"the clock went ahead by {ahead}, so nothing more is forgotten for now")
    if health.mail.standing.dead:
        needs.append(f"{_count(health.mail.standing.dead, 'mail')} given up")
    return needs


def is_space_low(free: int | None, least: int) -> bool:
    """Whether fewer bytes are free on a disk than should be; not where nobody knows."""
    return free is not None and free < least


def is_disk_short(measured: StoreSize) -> bool:
    """Whether the store fills its disk soon."""
    return measured.full_in is not None and measured.full_in < SHORT_DISK


def is_mail_late(mail: MailState, now: datetime) -> bool:
    """Whether a notice has been owed for longer than handing it over takes."""
    oldest = mail.standing.oldest_owed
    return oldest is not None and now - oldest > PATIENCE


def _count(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
