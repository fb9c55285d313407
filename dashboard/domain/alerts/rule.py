"""Rules: which changes people want to hear of, how urgent they are, who gets them and when."""

from __future__ import annotations

from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

from msgspec import Struct

from dashboard.domain.alerts.condition import Transition
from dashboard.domain.alerts.incident import QUIET_AFTER
from dashboard.domain.alerts.kinds.expiry import ExpiryMeasure
from dashboard.domain.alerts.kinds.kind import Dimension, Measure, RuleKind
from dashboard.domain.alerts.kinds.rejection_rate import RateGrounds
from dashboard.domain.alerts.kinds.table import KINDS, kind_of
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.people.active_hours import ActiveHours
from dashboard.domain.quantity import Address, NetworkId
from dashboard.domain.rejections.exclusion import RejectionStage, StoredRejection
from dashboard.domain.rejections.reasons import Reason, ReasonKind, parse_reason

GROUP_WAIT: Final = timedelta(seconds=30)
"""How long changes that follow a first notification are grouped, unless the rule sets another time.
"""

LONGEST_GROUP_WAIT: Final = timedelta(hours=1)

MOST_RULES: Final = 200
"""The most rules in force: the worker tries each on every change, and measures some every few
seconds."""

DEFAULT_GROUP: Final = (Dimension.NETWORK, Dimension.MODULE, Dimension.STAGE)

CAUSE: Final = "cause"
"""The name in a group for the kind of reason, if a module is named for another reason than its
limit."""


class Severity(StrEnum):
    """How urgent the reports of a rule are."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


DEFAULT_SEVERITY: Final = Severity.WARNING
"""The severity of a rule that sets none."""

URGENCY: Final = {each.value: rank for rank, each in enumerate(Severity)}
"""The rank of each severity; the most urgent has the largest number."""


class ObservedChange(Struct, frozen=True):
    """A transition with what rules compare: its rejection, and the transaction's label and tags.

    `label` is foreign text; `is_tracked`: somebody asked to watch the transaction.
    """

    transition: Transition
    rejection: StoredRejection | None = None
    label: str = ""
    tags: frozenset[str] = frozenset()
    is_tracked: bool = True

    @property
    def reason(self) -> Reason | None:
        """The reason of the rejection, without values from a table of limits."""
        record = None if self.rejection is None else self.rejection.record
        return None if record is None else parse_reason(record.reason_message)

    @property
    def cause(self) -> str:
        """The kind of its reason if the limits file lacks the module; otherwise empty."""
        reason = self.reason
        is_undefined = reason is not None and reason.kind is ReasonKind.MODULE_UNDEFINED
        return ReasonKind.MODULE_UNDEFINED if is_undefined else ""

    @property
    def module(self) -> str:
        """The prover module that the reason names; empty if it names none."""
        reason = self.reason
        return "" if reason is None else reason.module or ""

    def value_of(self, dimension: Dimension) -> str:
        """Return its value in one dimension; empty if it has none."""
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
        return "" if record.sender is None else str(record.sender)


class RuleScope(Struct, frozen=True):
    """Which changes a rule takes; an empty field takes any.

    One matching tag is enough. `takes_all_reports`: the rule also takes rejections of transactions
    that nobody tracks, which nodes report to our own serve.
    """

    networks: tuple[NetworkId, ...] = ()
    modules: tuple[str, ...] = ()
    stages: tuple[RejectionStage, ...] = ()
    senders: tuple[Address, ...] = ()
    labels: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    takes_all_reports: bool = False

    def fits(self, change: ObservedChange) -> bool:
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
            and (not self.modules or change.module.upper() in self.modules)
        )


ANYTHING: Final = RuleScope()


class Rule(Struct, frozen=True):
    """Which changes people are notified of, and how.

    If `recipients` is empty, those of [mail] apply. An incident opens after `pending` and ends
    `keep_firing` after its cause. Changes that are equal in all of `group_by` are one group: its
    first notification is sent at once, and its followers are grouped for `group_wait`. People are
    reminded of an open incident that nobody acknowledged every `remind_every`, and it escalates to
    `escalate_to` after `escalate_after`. Outside `active_hours` notifications are held. A critical
    rule that `pierces` ignores quiet hours and the cap. At `until` the rule ends by itself.
    """

    name: str
    kind: RuleKind
    severity: Severity = DEFAULT_SEVERITY
    is_enabled: bool = True
    scope: RuleScope = ANYTHING
    measure: Measure | None = None
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
    until: datetime | None = None

    def is_over(self, at: datetime) -> bool:
        """Whether its `until` has passed."""
        return self.until is not None and at >= self.until

    @property
    def incident_pending(self) -> timedelta:
        """How long an incident waits before people are notified; zero if measuring waits."""
        return timedelta() if KINDS[self.kind].is_measured else self.pending

    @property
    def quiet_after(self) -> timedelta:
        """How long an incident outlasts its cause; the usual time if measuring waits."""
        keep_firing = timedelta() if KINDS[self.kind].is_measured else self.keep_firing
        return keep_firing or QUIET_AFTER

    def group_of(self, change: ObservedChange) -> tuple[tuple[str, str], ...]:
        """Return the group of a change: its value in each dimension of the rule.

        A module that the limits file does not know is grouped apart from the same module over its
        limit.
        """
        group = tuple((each, change.value_of(each)) for each in self.group_by)
        if Dimension.MODULE in self.group_by and (cause := change.cause):
            return (*group, (CAUSE, cause))
        return group


def fits(rule: Rule, change: ObservedChange) -> bool:
    """Whether an enabled rule of the right kind takes a change."""
    return (
        rule.is_enabled
        and not rule.is_over(change.transition.at)
        and change.transition.subject.rule in {"", rule.name}
        and change.transition.is_notifiable
        and kind_of(change.transition) is rule.kind
        and rule.scope.fits(change)
    )


def takes_all_reports(rule: Rule, at: datetime) -> bool:
    """Whether a rule also wants the rejections of untracked transactions that nodes report."""
    is_of_each = rule.kind in {RuleKind.REJECTED, RuleKind.CHANGED}
    is_on = rule.is_enabled and not rule.is_over(at)
    return is_on and is_of_each and rule.scope.takes_all_reports


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
    Rule("limits-end", RuleKind.LIMITS_END, Severity.INFO),
)
"""The rules of an installation that has none of its own."""
