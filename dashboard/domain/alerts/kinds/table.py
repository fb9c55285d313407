"""The table of all kinds of rules."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from dashboard.domain.alerts.condition import DigestGrounds, Grounds, State, SubjectKind, Transition
from dashboard.domain.alerts.kinds.busy import BUSY
from dashboard.domain.alerts.kinds.coverage import COVERAGE_GAP, WORKER_SILENT
from dashboard.domain.alerts.kinds.credit_budget import CREDITS_SHORT
from dashboard.domain.alerts.kinds.delivery import DELIVERY_FAILING
from dashboard.domain.alerts.kinds.disk import DISK_FILLING
from dashboard.domain.alerts.kinds.expiry import EXPIRY
from dashboard.domain.alerts.kinds.fee_limit import FEE
from dashboard.domain.alerts.kinds.kind import Judged, Kind, RuleKind
from dashboard.domain.alerts.kinds.limits_end import LIMITS_END
from dashboard.domain.alerts.kinds.rejection_rate import REJECTION_RATE
from dashboard.domain.alerts.kinds.rejections import CHANGED, INCLUDED, REJECTED
from dashboard.domain.alerts.kinds.stale_fees import DATA_STALE
from dashboard.domain.alerts.kinds.upstream import UPSTREAM_SILENT

KINDS: Final[Mapping[RuleKind, Kind]] = {
    RuleKind.REJECTED: REJECTED,
    RuleKind.CHANGED: CHANGED,
    RuleKind.INCLUDED: INCLUDED,
    RuleKind.REJECTION_RATE: REJECTION_RATE,
    RuleKind.BUSY: BUSY,
    RuleKind.FEE: FEE,
    RuleKind.COVERAGE_GAP: COVERAGE_GAP,
    RuleKind.WORKER_SILENT: WORKER_SILENT,
    RuleKind.DELIVERY_FAILING: DELIVERY_FAILING,
    RuleKind.CREDITS_SHORT: CREDITS_SHORT,
    RuleKind.EXPIRY: EXPIRY,
    RuleKind.UPSTREAM_SILENT: UPSTREAM_SILENT,
    RuleKind.DATA_STALE: DATA_STALE,
    RuleKind.DISK_FILLING: DISK_FILLING,
    RuleKind.LIMITS_END: LIMITS_END,
}

JUDGED: Final[Mapping[SubjectKind, Judged]] = {
    subject: judged for kind in KINDS.values() for subject, judged in kind.subjects.items()
}
"""The states of each kind of subject except transactions."""

GROUNDS: Final[Mapping[str, type[Grounds]]] = {
    "digest": DigestGrounds,
    **{name: grounds for kind in KINDS.values() for name, grounds in kind.grounds.items()},
}
"""The types of grounds, by the name that the store uses."""

_OF_SUBJECT: Final = {subject: name for name, kind in KINDS.items() for subject in kind.subjects}


def subject_kinds(kind: RuleKind) -> tuple[SubjectKind, ...]:
    """Return the kinds of subjects that a kind of rule is about; empty for transactions."""
    return tuple(KINDS[kind].subjects)


def kind_of(transition: Transition) -> RuleKind:
    """Return the kind of rule that a change is about."""
    if transition.subject.kind is SubjectKind.TRANSACTION:
        is_known = transition.before is State.REJECTED
        return RuleKind.CHANGED if is_known else RuleKind.REJECTED
    return _OF_SUBJECT[transition.subject.kind]
