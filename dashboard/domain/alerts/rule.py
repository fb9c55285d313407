"""Rules: which changes people want to hear of, who gets them, how urgent they are and when."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from typing import Final, TypeAlias

from dashboard.domain.alerts.condition import State, SubjectKind, Transition
from dashboard.domain.alerts.grounds import RateGrounds, Signal
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.people.active_hours import ActiveHours
from dashboard.domain.quantity import Address, NetworkId, Wei
from dashboard.domain.rejections.exclusion import RejectionStage, StoredRejection
from dashboard.domain.rejections.reasons import parse_reason

GROUP_WAIT: Final = timedelta(seconds=30)
"""How long the followers of a first notification are gathered, unless a rule says otherwise."""

LONGEST_GROUP_WAIT: Final = timedelta(hours=1)


class RuleKind(StrEnum):
    """What a rule is about.

    REJECTED: a transaction is rejected for the first time. CHANGED: a rejected one has another
    record. INCLUDED: a rejected one is in a block all the same. REJECTION_RATE: more rejections
    than usual arrive within a time. BUSY: a network is busy, and calm again. FEE: a fee is above
    or below a value. COVERAGE_GAP: a network was not watched. WORKER_SILENT: no worker was running.
    DELIVERY_FAILING: a channel accepts no notifications, or mails to an address come back.
    CREDITS_SHORT: much of a budget is spent.
    EXPIRY: a key or a certificate ends soon.
    """

    REJECTED = "rejected"
    CHANGED = "changed"
    INCLUDED = "included"
    REJECTION_RATE = "rejection-rate"
    BUSY = "busy"
    FEE = "fee"
    COVERAGE_GAP = "coverage-gap"
    WORKER_SILENT = "worker-silent"
    DELIVERY_FAILING = "delivery-failing"
    CREDITS_SHORT = "credits-short"
    EXPIRY = "expiry"
    UPSTREAM_SILENT = "upstream-silent"
    DATA_STALE = "data-stale"
    DISK_FILLING = "disk-filling"

    @property
    def is_of_rejections(self) -> bool:
        """Whether modules, stages, senders, labels and tags can narrow it."""
        return self in _OF_REJECTIONS

    @property
    def is_lasting(self) -> bool:
        """Whether what it is about lasts and ends, so that it can be pending."""
        return self not in _OF_TRANSACTIONS

    @property
    def is_of_networks(self) -> bool:
        """Whether it is about networks; otherwise about the installation itself."""
        return self not in _OF_INSTALLATION

    @property
    def is_measured(self) -> bool:
        """Whether the worker measures it for each rule, with the rule's own hold periods."""
        return self in _MEASURED


_OF_REJECTIONS: Final = frozenset(
    {RuleKind.REJECTED, RuleKind.CHANGED, RuleKind.INCLUDED, RuleKind.REJECTION_RATE}
)
_OF_TRANSACTIONS: Final = frozenset({RuleKind.REJECTED, RuleKind.CHANGED, RuleKind.INCLUDED})
_OF_INSTALLATION: Final = frozenset(
    {RuleKind.DISK_FILLING, RuleKind.WORKER_SILENT, RuleKind.DELIVERY_FAILING}
    | {RuleKind.CREDITS_SHORT, RuleKind.EXPIRY}
)
_MEASURED: Final = frozenset(
    {RuleKind.REJECTION_RATE, RuleKind.FEE, RuleKind.COVERAGE_GAP, RuleKind.WORKER_SILENT}
    | {RuleKind.DELIVERY_FAILING, RuleKind.CREDITS_SHORT, RuleKind.EXPIRY}
)

_KINDS: Final = {
    SubjectKind.BUSYNESS: RuleKind.BUSY,
    SubjectKind.FEES: RuleKind.DATA_STALE,
    SubjectKind.GAS_API: RuleKind.UPSTREAM_SILENT,
    SubjectKind.EXCLUSION_API: RuleKind.UPSTREAM_SILENT,
    SubjectKind.DISK: RuleKind.DISK_FILLING,
    SubjectKind.REJECTION_RATE: RuleKind.REJECTION_RATE,
    SubjectKind.FEE_LIMIT: RuleKind.FEE,
    SubjectKind.INCLUSION: RuleKind.INCLUDED,
    SubjectKind.COVERAGE: RuleKind.COVERAGE_GAP,
    SubjectKind.WORKER: RuleKind.WORKER_SILENT,
    SubjectKind.DELIVERY: RuleKind.DELIVERY_FAILING,
    SubjectKind.ADDRESS: RuleKind.DELIVERY_FAILING,
    SubjectKind.CREDITS: RuleKind.CREDITS_SHORT,
    SubjectKind.EXPIRY: RuleKind.EXPIRY,
}
"""The kind of rule that a change of each kind of subject concerns, transactions aside."""


class Severity(StrEnum):
    """How urgent what a rule reports is."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


URGENCY: Final = {each.value: rank for rank, each in enumerate(Severity)}
"""How urgent a severity is: the most urgent has the largest number."""


class Dimension(StrEnum):
    """What changes are grouped by: those of one group are equal in each dimension of their rule.

    TAG is all the tags of a transaction; a rate counts a rejection for each of them.
    """

    NETWORK = "network"
    MODULE = "module"
    STAGE = "stage"
    SENDER = "sender"
    LABEL = "label"
    TAG = "tag"


class BudgetPeriod(StrEnum):
    """For how long a budget of credits is meant."""

    DAY = "day"
    MONTH = "month"


@dataclass(frozen=True, slots=True)
class RateMeasure:
    """More than so many rejections within a time, on each network by itself.

    With `by`, also of each module, stage, sender, label or tag by itself.
    """

    more_than: int
    window: timedelta
    by: Dimension | None = None


@dataclass(frozen=True, slots=True)
class FeeMeasure:
    """A fee strictly above its upper limit, or strictly below its lower one."""

    signal: Signal
    limit: Wei
    is_upper: bool


@dataclass(frozen=True, slots=True)
class CreditMeasure:
    """A share, in percent, of a budget of credits for a day or a month of UTC."""

    budget: int
    per: BudgetPeriod
    percent: int


@dataclass(frozen=True, slots=True)
class ExpiryMeasure:
    """Less than so long until something ends."""

    within: timedelta


RuleMeasure: TypeAlias = RateMeasure | FeeMeasure | CreditMeasure | ExpiryMeasure

DEFAULT_GROUP: Final = (Dimension.NETWORK, Dimension.MODULE, Dimension.STAGE)


@dataclass(frozen=True, slots=True)
class ObservedChange:
    """A transition with what rules look at: its rejection, and what people wrote at the hash.

    `label` is foreign text; `is_tracked`: somebody asked to watch the transaction.
    """

    transition: Transition
    rejection: StoredRejection | None = None
    label: str = ""
    tags: frozenset[str] = frozenset()
    is_tracked: bool = True

    @property
    def module(self) -> str:
        """Return the prover module that the reason names; empty where it names none."""
        if self.rejection is None:
            return ""
        return parse_reason(self.rejection.record.reason_message).module or ""

    def value_of(self, dimension: Dimension) -> str:
        """Return what it is in one dimension; empty where that says nothing of it."""
        if dimension is Dimension.NETWORK:
            return str(self.transition.subject.network_id)
        grounds = self.transition.grounds
        if isinstance(grounds, RateGrounds) and grounds.by == dimension.value:
            return grounds.value
        return self._of_rejection(dimension)

    def _of_rejection(self, dimension: Dimension) -> str:
        if dimension is Dimension.MODULE:
            return self.module
        if dimension is Dimension.LABEL:
            return self.label
        if dimension is Dimension.TAG:
            return " ".join(sorted(self.tags))
        if self.rejection is None:
            return ""
        record = self.rejection.record
        if dimension is Dimension.STAGE:
            return record.tx_rejection_stage.value
        return str(record.sender)


@dataclass(frozen=True, slots=True)
class RuleScope:
    """Which changes a rule takes; what is empty takes any.

    Of tags one is enough. `takes_all_reports`: also of transactions that nobody tracks, which
    nodes report to our own serve.
    """

    networks: tuple[NetworkId, ...] = ()
    modules: tuple[str, ...] = ()
    stages: tuple[RejectionStage, ...] = ()
    senders: tuple[Address, ...] = ()
    labels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    takes_all_reports: bool = False

    def fits(self, change: ObservedChange) -> bool:
        """Whether a change is one of these."""
        if self.networks and change.transition.subject.network_id not in self.networks:
            return False
        return change.rejection is None or self._fits_rejection(change, change.rejection)

    def _fits_rejection(self, change: ObservedChange, rejection: StoredRejection) -> bool:
        record = rejection.record
        return (
            (self.takes_all_reports or change.is_tracked)
            and (not self.stages or record.tx_rejection_stage in self.stages)
            and (not self.senders or record.sender in self.senders)
            and (not self.labels or change.label in self.labels)
            and (not self.tags or not change.tags.isdisjoint(self.tags))
            and (not self.modules or change.module in self.modules)
        )


ANYTHING: Final = RuleScope()


@dataclass(frozen=True, slots=True)
class Rule:
    """Which changes people are notified of, under a name that they chose.

    No `recipients`: those of [mail]. An incident opens after `pending` and ends `keep_firing` after
    its cause. Changes that are equal in all of `group_by` are one group, whose first notification
    goes at once and whose followers are gathered for `group_wait`. An open incident that nobody
    acknowledged is repeated every `remind_every`, and sent to `escalate_to` after
    `escalate_after`. Outside of `active_hours` notifications are held. A critical rule that
    `pierces` heeds neither quiet hours nor the cap.
    """

    name: str
    kind: RuleKind
    severity: Severity = Severity.WARNING
    is_enabled: bool = True
    scope: RuleScope = ANYTHING
    measure: RuleMeasure | None = None
    recipients: tuple[Recipient, ...] = ()
    pending: timedelta = timedelta()
    keep_firing: timedelta = timedelta()
    group_by: tuple[Dimension, ...] = DEFAULT_GROUP
    group_wait: timedelta = GROUP_WAIT
    remind_every: timedelta | None = None
    escalate_after: timedelta | None = None
    escalate_to: tuple[Recipient, ...] = ()
    active_hours: ActiveHours | None = None
    pierces: bool = False

    @property
    def incident_pending(self) -> timedelta:
        """How long an incident lasts before anybody is notified: what is measured has lasted."""
        return timedelta() if self.kind.is_measured else self.pending

    @property
    def incident_keep_firing(self) -> timedelta:
        """How long an incident goes on after its cause ended: not where what is measured did."""
        return timedelta() if self.kind.is_measured else self.keep_firing

    def group_of(self, change: ObservedChange) -> tuple[tuple[Dimension, str], ...]:
        """Return the group that a change belongs to: its value in each dimension of the rule."""
        return tuple((each, change.value_of(each)) for each in self.group_by)


def fits(rule: Rule, change: ObservedChange) -> bool:
    """Whether a change concerns a rule: it is on, of this kind, and takes it."""
    return (
        rule.is_enabled
        and change.transition.subject.rule in {"", rule.name}
        and change.transition.is_notifiable
        and kind_of(change.transition) is rule.kind
        and rule.scope.fits(change)
    )


def takes_all_reports(rule: Rule) -> bool:
    """Whether a rule asks for the rejection of each transaction that any node reports."""
    is_of_each = rule.kind in {RuleKind.REJECTED, RuleKind.CHANGED}
    return rule.is_enabled and is_of_each and rule.scope.takes_all_reports


def subject_kinds(kind: RuleKind) -> tuple[SubjectKind, ...]:
    """Return the kinds of subjects whose changes concern a kind of rule, transactions aside."""
    return tuple(subject for subject, of_rule in _KINDS.items() if of_rule is kind)


def kind_of(transition: Transition) -> RuleKind | None:
    """Return the kind of rule that a change concerns."""
    if transition.subject.kind is SubjectKind.TRANSACTION:
        is_known = transition.before is State.REJECTED
        return RuleKind.CHANGED if is_known else RuleKind.REJECTED
    return _KINDS[transition.subject.kind]


DEFAULT_RULES: Final = (
    Rule("rejections", RuleKind.REJECTED),
    Rule("changed-records", RuleKind.CHANGED),
    Rule("included", RuleKind.INCLUDED, Severity.INFO),
    Rule("busy", RuleKind.BUSY, Severity.INFO),
    Rule("upstream", RuleKind.UPSTREAM_SILENT, remind_every=timedelta(hours=12)),
    Rule("stale-fees", RuleKind.DATA_STALE),
    Rule(
        "worker",
        RuleKind.WORKER_SILENT,
        Severity.CRITICAL,
        pending=timedelta(minutes=2),
        pierces=True,
    ),
    Rule(
        "delivery",
        RuleKind.DELIVERY_FAILING,
        pending=timedelta(minutes=10),
        keep_firing=timedelta(minutes=1),
    ),
    Rule("expiry", RuleKind.EXPIRY, measure=ExpiryMeasure(timedelta(days=14))),
    Rule(
        "disk",
        RuleKind.DISK_FILLING,
        Severity.CRITICAL,
        remind_every=timedelta(hours=6),
        pierces=True,
    ),
)
"""The rules of an installation that has none of its own."""
