"""Authentication: wrong keys of one address are limited, and accepted keys go on working."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from dashboard.domain.people.access import ApiKey
from dashboard.domain.secret import Secret
from dashboard.serve.keys.key_ring import AuthenticationThrottle
from tests.unit.serve.keys.test_key_rate_limits import Clock

HERE = "192.0.2.1"
WALLET = ApiKey.of("wallet", Secret("w"))
NODE = ApiKey.of("node", Secret("n"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def authentication_throttle(clock: Clock) -> AuthenticationThrottle:
    return AuthenticationThrottle(6, clock)


def test_address_has_so_many_attempts_and_then_waits(
    authentication_throttle: AuthenticationThrottle, clock: Clock
) -> None:
    waits = [authentication_throttle.wait(HERE, None) for _ in range(8)]

    assert waits == [0] * 6 + [10, 10]
    clock.now += 10
    assert [authentication_throttle.wait(HERE, None), authentication_throttle.wait(HERE, None)] == [
        0,
        10,
    ]


def test_address_that_waits_does_not_learn_which_key_is_right(
    authentication_throttle: AuthenticationThrottle,
) -> None:
    for _ in range(6):
        authentication_throttle.wait(HERE, None)

    assert (
        authentication_throttle.wait(HERE, WALLET) == authentication_throttle.wait(HERE, None) == 10
    )


def test_caller_who_was_let_in_before_goes_on_working(
    authentication_throttle: AuthenticationThrottle,
) -> None:
    authentication_throttle.wait(HERE, WALLET)
    for _ in range(9):
        authentication_throttle.wait(HERE, None)

    assert authentication_throttle.wait(HERE, WALLET) == 0
    assert authentication_throttle.wait(HERE, NODE) > 0


def test_right_keys_cost_no_attempts(authentication_throttle: AuthenticationThrottle) -> None:
    callers = [ApiKey(str(number), bytes([number])) for number in range(20)]

    assert {authentication_throttle.wait(HERE, caller) for caller in callers} == {0}
    assert authentication_throttle.wait(HERE, None) == 0


def test_addresses_are_bounded_apart_and_those_of_one_network_together(
    authentication_throttle: AuthenticationThrottle,
) -> None:
    for number in range(6):
        authentication_throttle.wait(f"2001:db8:1:2::{number:x}", None)

    assert authentication_throttle.wait("2001:db8:1:2:ffff::1", None) > 0
    assert authentication_throttle.wait("2001:db8:1:3::1", None) == 0
    assert authentication_throttle.wait(HERE, None) == 0


@pytest.mark.parametrize("address", [None, "", "a-socket"])
def test_server_that_knows_no_address_has_one_bound_for_all(
    authentication_throttle: AuthenticationThrottle, address: str | None
) -> None:
    assert [authentication_throttle.wait(address, None) for _ in range(7)] == [0] * 6 + [10]


def test_bound_of_nothing_is_none(clock: Clock) -> None:
    authentication_throttle = AuthenticationThrottle(0, clock)

    assert {authentication_throttle.wait(HERE, None) for _ in range(1000)} == {0}
    assert authentication_throttle.attempts == 1000


def test_memory_is_bounded_whoever_knocks(authentication_throttle: AuthenticationThrottle) -> None:
    for number in range(10_500):
        authentication_throttle.wait(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", None)

    assert authentication_throttle.remembered == 10_000


def test_log_names_the_address_once_a_minute(
    authentication_throttle: AuthenticationThrottle, clock: Clock
) -> None:
    with capture_logs() as lines:
        for _ in range(6 * 20):
            authentication_throttle.wait(HERE, None)
            clock.now += 1

    assert [line["address"] for line in lines] == [HERE] * 2
