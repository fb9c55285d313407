"""What the sample mails are about: conditions of every kind, and what people do about incidents."""

from __future__ import annotations

from datetime import timedelta
from functools import partial
from typing import Final

from dashboard.domain.alerts.condition import Grounds, Signal, State, SubjectKind
from dashboard.domain.alerts.incident import IncidentEvent, IncidentEventKind, IncidentState
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.coverage import GapGrounds
from dashboard.domain.alerts.kinds.credit_budget import CreditGrounds
from dashboard.domain.alerts.kinds.delivery import DeliveryGrounds
from dashboard.domain.alerts.kinds.expiry import ExpiryGrounds
from dashboard.domain.alerts.kinds.fee_limit import FeeLimitGrounds
from dashboard.domain.alerts.kinds.rejection_rate import RateGrounds
from dashboard.domain.alerts.kinds.rejections import InclusionGrounds
from dashboard.domain.alerts.kinds.upstream import OutageGrounds
from dashboard.domain.alerts.notification import NotificationKind
from dashboard.domain.health.coverage import GapCause
from dashboard.domain.quantity import Wei
from tests.builders import (
    A_MOMENT,
    GWEI,
    seconds,
)

ABOVE: Final = FeeGrounds(Signal.BASE_FEE, Wei(23_123_456_789), Wei(19_600_000_000))
SILENCE: Final = OutageGrounds(
    A_MOMENT - seconds(120), "Linea exclusion endpoint: no answer in 5 s"
)
RATE: Final = RateGrounds(42, 20, timedelta(minutes=10), "module", "ADD")
LIMIT: Final = FeeLimitGrounds(Signal.BASE_FEE, Wei(31 * GWEI), Wei(30 * GWEI), is_upper=True)
BELOW: Final = FeeGrounds(Signal.BASE_FEE, Wei(15_200_000_000), Wei(19_600_000_000))


OF_RULES: Final = {
    SubjectKind.REJECTION_RATE,
    SubjectKind.FEE_LIMIT,
    SubjectKind.COVERAGE,
    SubjectKind.WORKER,
    SubjectKind.DELIVERY,
    SubjectKind.CREDITS,
    SubjectKind.EXPIRY,
}
MEASURED: Final[dict[str, tuple[SubjectKind, State, Grounds]]] = {
    "rate": (SubjectKind.REJECTION_RATE, State.BEYOND_LIMITS, RATE),
    "fee limit": (SubjectKind.FEE_LIMIT, State.BEYOND_LIMITS, LIMIT),
    "coverage gap": (
        SubjectKind.COVERAGE,
        State.BEYOND_LIMITS,
        GapGrounds(
            A_MOMENT - timedelta(hours=1), A_MOMENT, GapCause.NOT_ANSWERED, "no answer in 5 s"
        ),
    ),
    "worker silent": (
        SubjectKind.WORKER,
        State.BEYOND_LIMITS,
        GapGrounds(A_MOMENT - timedelta(hours=1), A_MOMENT, GapCause.NOT_WATCHED),
    ),
    "mail failing": (
        SubjectKind.DELIVERY,
        State.BEYOND_LIMITS,
        DeliveryGrounds(7, A_MOMENT - timedelta(minutes=9), "451 4.3.0 try again later"),
    ),
    "credits": (
        SubjectKind.CREDITS,
        State.BEYOND_LIMITS,
        CreditGrounds(2_450_000, 3_000_000, "day"),
    ),
    "expiry": (
        SubjectKind.EXPIRY,
        State.BEYOND_LIMITS,
        ExpiryGrounds("key wallet", A_MOMENT + timedelta(days=6)),
    ),
    "included": (
        SubjectKind.INCLUSION,
        State.INCLUDED,
        InclusionGrounds(16_123_460, is_successful=True),
    ),
}


BY_ADA: Final = partial(IncidentEvent, A_MOMENT, actor="Ada")
ACTIONS: Final[dict[str, tuple[NotificationKind, IncidentState, IncidentEvent | None]]] = {
    "reminder": (NotificationKind.REMINDER, IncidentState.FIRING, None),
    "escalation": (NotificationKind.ESCALATION, IncidentState.FIRING, None),
    "acknowledged": (
        NotificationKind.ACKNOWLEDGED,
        IncidentState.ACKNOWLEDGED,
        BY_ADA(IncidentEventKind.ACKNOWLEDGED, note="looking"),
    ),
    "handed over": (
        NotificationKind.HANDED_OVER,
        IncidentState.ACKNOWLEDGED,
        BY_ADA(IncidentEventKind.HANDED_OVER, note="your shift", owner="Bob"),
    ),
    "unacknowledged": (
        NotificationKind.UNACKNOWLEDGED,
        IncidentState.FIRING,
        BY_ADA(IncidentEventKind.UNACKNOWLEDGED),
    ),
    "resolved by hand": (
        NotificationKind.RESOLVED,
        IncidentState.RESOLVED,
        BY_ADA(IncidentEventKind.RESOLVED, note="fixed in release 12"),
    ),
    "closed": (
        NotificationKind.CLOSED,
        IncidentState.RESOLVED,
        BY_ADA(IncidentEventKind.RESOLVED, note="its rule was removed"),
    ),
}
"""What becomes of an incident, its state then, and what a person did."""
