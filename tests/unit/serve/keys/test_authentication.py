"""Wrong keys from one address are bounded, and nobody who was let in pays for them."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from dashboard.domain.secret import Secret
from dashboard.serve.keys.authentication import Strangers
from dashboard.serve.keys.key_ring import ApiKey
from tests.unit.serve.keys.test_rate_limits import Clock

HERE = "192.0.2.1"
WALLET = ApiKey.of("wallet", Secret("w"))
NODE = ApiKey.of("node", Secret("n"))


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def strangers(clock: Clock) -> Strangers:
    return Strangers(6, clock)


def test_address_has_so_many_attempts_and_then_waits(strangers: Strangers, clock: Clock) -> None:
    waits = [strangers.wait(HERE, None) for _ in range(8)]

    assert waits == [0] * 6 + [10, 10]
    clock.now += 10
    assert [strangers.wait(HERE, None), strangers.wait(HERE, None)] == [0, 10]


def test_address_that_waits_does_not_learn_which_key_is_right(strangers: Strangers) -> None:
    for _ in range(6):
        strangers.wait(HERE, None)

    assert strangers.wait(HERE, WALLET) == strangers.wait(HERE, None) == 10


def test_caller_who_was_let_in_before_goes_on_working(strangers: Strangers) -> None:
    strangers.wait(HERE, WALLET)
    for _ in range(9):
        strangers.wait(HERE, None)

    assert strangers.wait(HERE, WALLET) == 0
    assert strangers.wait(HERE, NODE) > 0


def test_right_keys_cost_no_attempts(strangers: Strangers) -> None:
    callers = [ApiKey(str(number), bytes([number])) for number in range(20)]

    assert {strangers.wait(HERE, caller) for caller in callers} == {0}
    assert strangers.wait(HERE, None) == 0


def test_addresses_are_bounded_apart_and_those_of_one_household_together(
    strangers: Strangers,
) -> None:
    for number in range(6):
        strangers.wait(f"2001:db8:1:2::{number:x}", None)

    assert strangers.wait("2001:db8:1:2:ffff::1", None) > 0
    assert strangers.wait("2001:db8:1:3::1", None) == 0
    assert strangers.wait(HERE, None) == 0


@pytest.mark.parametrize("address", [None, "", "a-socket"])
def test_server_that_knows_no_address_has_one_bound_for_all(
    strangers: Strangers, address: str | None
) -> None:
    assert [strangers.wait(address, None) for _ in range(7)] == [0] * 6 + [10]


def test_bound_of_nothing_is_none(clock: Clock) -> None:
    strangers = Strangers(0, clock)

    assert {strangers.wait(HERE, None) for _ in range(1000)} == {0}
    assert strangers.attempts == 1000


def test_memory_is_bounded_whoever_knocks(strangers: Strangers) -> None:
    for number in range(10_500):
        strangers.wait(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}", None)

    assert strangers.remembered == 10_000


def test_log_names_the_address_once_a_minute(strangers: Strangers, clock: Clock) -> None:
    with capture_logs() as lines:
        for _ in range(6 * 20):
            strangers.wait(HERE, None)
            clock.now += 1

    assert [line["address"] for line in lines] == [HERE] * 2
