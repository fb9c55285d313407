"""Grounds come back as they were kept, whatever kind of number settings gave."""

from __future__ import annotations

import pytest

from dashboard.domain.alerts.condition import Grounds, Signal
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.coverage import GapGrounds
from dashboard.domain.alerts.kinds.credit_budget import CreditGrounds
from dashboard.domain.alerts.kinds.delivery import BounceGrounds, DeliveryGrounds
from dashboard.domain.alerts.kinds.disk import SpaceGrounds
from dashboard.domain.alerts.kinds.expiry import ExpiryGrounds
from dashboard.domain.alerts.kinds.fee_limit import FeeLimitGrounds
from dashboard.domain.alerts.kinds.rejection_rate import RateGrounds
from dashboard.domain.alerts.kinds.rejections import InclusionGrounds
from dashboard.domain.alerts.kinds.stale_fees import AgeGrounds
from dashboard.domain.alerts.kinds.upstream import OutageGrounds
from dashboard.domain.health.coverage import GapCause
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import Wei
from dashboard.settings.values import parse_duration, parse_size
from dashboard.store.alerts.conditions import grounds_of_row, row_of_grounds
from tests.builders import A_MOMENT

GROUNDS = (
    FeeGrounds(Signal.BASE_FEE, Wei(10**30), Wei(7)),
    OutageGrounds(A_MOMENT, "no answer"),
    AgeGrounds(Operation.SUGGESTED_GAS_FEES, A_MOMENT, parse_duration("4s")),
    SpaceGrounds(41_000, parse_size("500MB")),
    RateGrounds(51, 50, parse_duration("10m"), "label", "a\u202e"),
    InclusionGrounds(7, None),
    GapGrounds(A_MOMENT, None, GapCause.NOT_ANSWERED, "refused"),
    DeliveryGrounds(3, A_MOMENT, "451"),
    BounceGrounds(A_MOMENT, "550", is_off=True),
    CreditGrounds(1, 2, "day"),
    ExpiryGrounds("key wallet", A_MOMENT),
    FeeLimitGrounds(Signal.PRIORITY_FEE, Wei(8), Wei(7), is_upper=True),
)


@pytest.mark.parametrize("grounds", GROUNDS, ids=lambda each: type(each).__name__)
def test_grounds_come_back_as_they_were_kept(grounds: Grounds) -> None:
    assert grounds_of_row(row_of_grounds(grounds)) == grounds


def test_change_without_grounds_keeps_none() -> None:
    assert grounds_of_row(row_of_grounds(None)) is None
