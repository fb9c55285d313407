"""A role that keeps dying, as `linewatch up` writes it down and the pages read it."""

from __future__ import annotations

from dashboard.domain.health.troubles import FailingRole
from tests.builders import A_MOMENT, seconds


def test_role_that_died_again_is_another_record() -> None:
    once = FailingRole("worker", 1, A_MOMENT, "ended with status 1", A_MOMENT + seconds(1))
    again = FailingRole("worker", 2, A_MOMENT, "ended with status 1", A_MOMENT + seconds(3))

    assert once == FailingRole("worker", 1, A_MOMENT, once.why, once.again_at)
    assert once != again
