"""The key limiter: rates are exact, rights are checked, and each call is counted once."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.domain.people.access import ApiKey
from dashboard.domain.secret import Secret
from dashboard.serve.keys.key_ring import KeyLimiter
from dashboard.wire.params import GET_STATUS, SAVE_REJECTED

FREE = ApiKey.of("free", Secret("free"))
SLOW = replace(ApiKey.of("slow", Secret("slow")), requests_per_second=10.0, burst=20)


class Clock:
    """A time that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def key_limiter(clock: Clock) -> KeyLimiter:
    return KeyLimiter(clock)


def test_key_without_a_rate_is_always_admitted(key_limiter: KeyLimiter) -> None:
    assert {key_limiter.admit(FREE, 1000) for _ in range(100)} == {0}


def test_burst_is_admitted_at_once_and_the_next_call_waits(key_limiter: KeyLimiter) -> None:
    assert [key_limiter.admit(SLOW, 1) for _ in range(21)] == [0] * 20 + [1]


def test_batch_counts_as_its_calls(key_limiter: KeyLimiter) -> None:
    assert key_limiter.admit(SLOW, 20) == 0
    assert key_limiter.admit(SLOW, 15) == 2


def test_wait_that_is_told_suffices(key_limiter: KeyLimiter, clock: Clock) -> None:
    key_limiter.admit(SLOW, 20)
    clock.now += key_limiter.admit(SLOW, 15)

    assert key_limiter.admit(SLOW, 15) == 0


def test_refusal_costs_nothing_of_the_rate(key_limiter: KeyLimiter, clock: Clock) -> None:
    key_limiter.admit(SLOW, 20)
    for _ in range(50):
        key_limiter.admit(SLOW, 1)
    clock.now += 0.1

    assert [key_limiter.admit(SLOW, 1), key_limiter.admit(SLOW, 1)] == [0, 1]


def test_burst_is_whole_again_after_a_rest_and_never_more(
    key_limiter: KeyLimiter, clock: Clock
) -> None:
    key_limiter.admit(SLOW, 20)
    clock.now += 86_400

    assert [key_limiter.admit(SLOW, 20), key_limiter.admit(SLOW, 1)] == [0, 1]


def test_keys_of_one_name_share_their_rate_while_one_takes_over(key_limiter: KeyLimiter) -> None:
    rotated = replace(SLOW, key_digest=b"another")
    key_limiter.admit(SLOW, 20)

    assert key_limiter.admit(rotated, 1) == 1


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0.0, 3.0), st.integers(1, 25)), min_size=1, max_size=8))
def test_calls_admitted_together_would_each_have_been_admitted(
    steps: list[tuple[float, int]],
) -> None:
    clock = Clock()
    together, one_by_one = KeyLimiter(clock), KeyLimiter(clock)

    for pause, calls in steps:
        clock.now += pause
        is_admitted = together.admit_together(SLOW, calls)
        alone = [one_by_one.admit(SLOW, 1) for _ in range(calls)]
        if not is_admitted:
            assert [together.admit(SLOW, 1) for _ in range(calls)] == alone
        assert is_admitted == (not any(alone))

    assert together.take_uses() == one_by_one.take_uses()


def test_callers_of_other_names_do_not_wait_for_each_other(key_limiter: KeyLimiter) -> None:
    key_limiter.admit(SLOW, 20)

    assert key_limiter.admit(replace(SLOW, name="other", key_digest=b"other"), 20) == 0


@settings(max_examples=50)
@given(st.lists(st.tuples(st.floats(0, 3), st.integers(1, 20)), max_size=60))
def test_no_second_ever_holds_more_than_burst_and_rate(steps: list[tuple[float, int]]) -> None:
    clock = Clock()
    key_limiter = KeyLimiter(clock)
    admitted: list[tuple[float, int]] = []

    for pause, calls in steps:
        clock.now += pause
        if key_limiter.admit(SLOW, calls) == 0:
            admitted.append((clock.now, calls))

    for start, _ in admitted:
        for end, _ in admitted:
            inside = sum(calls for at, calls in admitted if start <= at <= end)
            assert inside <= 20 + 10 * max(0.0, end - start) + 1e-6


@pytest.mark.parametrize(
    ("methods", "may_report", "allowed"),
    [
        (None, True, {GET_STATUS, SAVE_REJECTED, "busyThreshold", "rpc.discover", "unsubscribe"}),
        (None, False, {GET_STATUS, "busyThreshold", "rpc.discover", "unsubscribe"}),
        ({SAVE_REJECTED}, True, {SAVE_REJECTED, "rpc.discover", "unsubscribe"}),
        ({"busyThreshold"}, False, {"busyThreshold", "rpc.discover", "unsubscribe"}),
    ],
)
def test_key_may_call_what_its_methods_and_its_right_to_report_say(
    key_limiter: KeyLimiter,
    methods: set[str] | None,
    may_report: bool,  # noqa: FBT001 - a column of the table
    allowed: set[str],
) -> None:
    names = None if methods is None else frozenset(methods)
    caller = replace(FREE, methods=names, may_report=may_report)

    asked = [GET_STATUS, SAVE_REJECTED, "busyThreshold", "rpc.discover", "unsubscribe"]

    assert {name for name in asked if key_limiter.allows(caller, name)} == allowed


def test_calls_and_refusals_are_counted_once_with_the_time_of_the_last(
    key_limiter: KeyLimiter, clock: Clock
) -> None:
    key_limiter.admit(SLOW, 20)
    key_limiter.admit(SLOW, 5)
    key_limiter.admit(FREE, 3)
    key_limiter.count_refusals(FREE, 2)
    clock.now += 4

    uses = key_limiter.take_uses()

    assert uses == {SLOW.key_digest: (20, 5, 4.0), FREE.key_digest: (1, 2, 4.0)}
    assert key_limiter.take_uses() == {}


def test_counts_that_could_not_be_kept_are_counted_again(key_limiter: KeyLimiter) -> None:
    key_limiter.admit(FREE, 3)
    taken = key_limiter.take_uses()
    key_limiter.admit(FREE, 1)

    key_limiter.restore_uses(taken)

    assert key_limiter.take_uses()[FREE.key_digest].calls == 4


def test_counters_go_on_by_name_whatever_becomes_of_the_counts(key_limiter: KeyLimiter) -> None:
    key_limiter.admit(FREE, 3)
    key_limiter.count_refusals(FREE, 1)
    taken = key_limiter.take_uses()
    key_limiter.admit(replace(FREE, key_digest=b"renewed"), 4)
    key_limiter.restore_uses(taken)
    key_limiter.take_uses()
    key_limiter.admit(FREE, 1)

    assert key_limiter.call_counts() == {FREE.name: (2 + 4 + 1, 1)}
