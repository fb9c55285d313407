"""An outage is one that lasted for long enough and holds mail back."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.health.troubles import MailTrouble
from tests.builders import A_MOMENT, seconds


@pytest.mark.parametrize(
    ("pending", "after", "is_outage"), [(1, 600, True), (1, 599, False), (0, 9999, False)]
)
def test_trouble_is_an_outage_once_it_lasted_and_holds_mail_back(
    pending: int, after: int, *, is_outage: bool
) -> None:
    trouble = MailTrouble(7, A_MOMENT, pending, "421 later")

    assert trouble.is_outage(A_MOMENT + seconds(after), timedelta(minutes=10)) is is_outage
