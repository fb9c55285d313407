"""Addresses that are off: the reason that is shown wherever nothing was sent."""

from __future__ import annotations

import pytest

from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.people.recipients import AddressOff, OffCause
from tests.builders import A_MOMENT


@pytest.mark.parametrize("cause", OffCause)
def test_reason_names_the_cause_and_since_when(cause: OffCause) -> None:
    off = AddressOff(Recipient("mail", "dev@example.org"), cause, A_MOMENT, "dev")

    assert off.reason == f"this address is off since 2026-11-20 12:00:00 UTC: {cause}"
