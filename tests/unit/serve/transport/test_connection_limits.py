"""The doorman: who is let in, who is turned away, and who is one client."""

from __future__ import annotations

from dataclasses import replace

import pytest

from dashboard.serve.transport.connection_limits import ConnectionLimits, Doorman, Step

pytestmark = pytest.mark.anyio

LIMITS = ConnectionLimits(total=3, per_address=2)


class Guest:
    """A connection that stands where it is."""

    def standing(self) -> tuple[Step, object]:
        return Step.OPEN, None

    def drop(self, step: Step) -> None:
        raise AssertionError(step)


async def test_more_connections_than_the_limit_are_turned_away() -> None:
    doorman = Doorman(LIMITS)

    admitted = [doorman.enter(Guest(), f"10.0.0.{number}") for number in range(4)]

    assert admitted == [True, True, True, False]
    assert (doorman.inside, doorman.turned_away) == (4, 1)


async def test_client_with_too_many_connections_does_not_shut_out_another() -> None:
    doorman = Doorman(LIMITS)

    admitted = [doorman.enter(Guest(), each) for each in ("a", "a", "a", "b")]

    assert admitted[:3] == [True, True, False]
    assert Doorman(LIMITS).enter(Guest(), "b") is True


async def test_connection_that_left_makes_room() -> None:
    doorman = Doorman(replace(LIMITS, total=1))
    guest = Guest()
    doorman.enter(guest, "a")

    doorman.leave(guest, "a")

    assert doorman.enter(Guest(), "a") is True
    assert doorman.inside == 1


async def test_flood_is_cut_off_without_an_answer() -> None:
    doorman = Doorman(replace(LIMITS, per_address=0))
    room = LIMITS.total + LIMITS.turned_away

    admitted = [doorman.enter(Guest(), "a") for _ in range(room + 1)]

    assert admitted.count(None) == 1
    assert admitted[-1] is None


async def test_limit_of_zero_for_an_address_is_none() -> None:
    doorman = Doorman(replace(LIMITS, per_address=0))

    assert [doorman.enter(Guest(), "a") for _ in range(3)] == [True] * 3
