"""Connection limits: who is admitted, who is refused, and who counts as one client."""

from __future__ import annotations

from msgspec.structs import replace

from dashboard.transport.connection_limits import (
    ConnectionLimiter,
    ConnectionLimits,
    ConnectionPhase,
)

LIMITS = ConnectionLimits(largest_connections=3, largest_connections_per_address=2)


class Guest:
    """A connection that stands where it is."""

    def phase(self) -> tuple[ConnectionPhase, object]:
        return ConnectionPhase.OPEN, None

    def drop(self, step: ConnectionPhase) -> None:
        raise AssertionError(step)


async def test_more_connections_than_the_limit_are_refused() -> None:
    connection_limiter = ConnectionLimiter(LIMITS)

    admitted = [connection_limiter.admit(Guest(), f"10.0.0.{number}") for number in range(4)]

    assert admitted == [True, True, True, False]
    assert (connection_limiter.open_connections, connection_limiter.refused) == (4, 1)


async def test_client_with_too_many_connections_does_not_shut_out_another() -> None:
    connection_limiter = ConnectionLimiter(LIMITS)

    admitted = [connection_limiter.admit(Guest(), each) for each in ("a", "a", "a", "b")]

    assert admitted[:3] == [True, True, False]
    assert ConnectionLimiter(LIMITS).admit(Guest(), "b") is True


async def test_connection_that_left_makes_room() -> None:
    connection_limiter = ConnectionLimiter(replace(LIMITS, largest_connections=1))
    guest = Guest()
    connection_limiter.admit(guest, "a")

    connection_limiter.release(guest, "a")

    assert connection_limiter.admit(Guest(), "a") is True
    assert connection_limiter.open_connections == 1


async def test_flood_is_cut_off_without_an_answer() -> None:
    connection_limiter = ConnectionLimiter(replace(LIMITS, largest_connections_per_address=0))
    room = LIMITS.largest_connections + LIMITS.refusable

    admitted = [connection_limiter.admit(Guest(), "a") for _ in range(room + 1)]

    assert admitted.count(None) == 1
    assert admitted[-1] is None


async def test_limit_of_zero_for_an_address_is_none() -> None:
    connection_limiter = ConnectionLimiter(replace(LIMITS, largest_connections_per_address=0))

    assert [connection_limiter.admit(Guest(), "a") for _ in range(3)] == [True] * 3
