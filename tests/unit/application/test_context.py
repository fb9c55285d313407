"""Answers shared by all viewers: one question for many, never twice as old as promised."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from itertools import count
from threading import Event
from weakref import ref

import pytest

from dashboard.application.context import TtlCache
from tests.fake_clock import FakeClock
from tests.waiting import PATIENCE


def test_answer_is_made_again_after_its_lifetime(fake_clock: FakeClock) -> None:
    fresh = TtlCache[str](timedelta(seconds=1), fake_clock.now)
    fresh.get("key", lambda: "old")
    assert fresh.get("key", lambda: "new") == "old"

    fake_clock.wait(timedelta(seconds=1))

    assert fresh.get("key", lambda: "new") == "new"


def test_answer_from_the_future_is_not_trusted_after_a_clock_jump(fake_clock: FakeClock) -> None:
    fresh = TtlCache[str](timedelta(seconds=1), fake_clock.now)
    fresh.get("key", lambda: "old")

    fake_clock.set_clock(-timedelta(days=7))

    assert fresh.get("key", lambda: "new") == "new"


def test_failure_is_not_kept_for_the_next_viewer(fake_clock: FakeClock) -> None:
    fresh = TtlCache[str](timedelta(seconds=1), fake_clock.now)

    with pytest.raises(ZeroDivisionError):
        fresh.get("key", lambda: str(1 // 0))

    assert fresh.get("key", lambda: "fine") == "fine"


def test_each_key_has_an_answer_of_its_own(fake_clock: FakeClock) -> None:
    fresh = TtlCache[str](timedelta(seconds=1), fake_clock.now)

    fresh.get("a", lambda: "of a")

    assert fresh.get("b", lambda: "of b") == "of b"


def test_nobody_waits_for_the_answer_of_another_key(fake_clock: FakeClock) -> None:
    fresh = TtlCache[str](timedelta(seconds=1), fake_clock.now)

    def slow() -> str:
        return f"after {fresh.get('quick', lambda: 'quick')}"  # would wait for ever for its own key

    assert fresh.get("slow", slow) == "after quick"


def test_viewers_who_come_meanwhile_wait_for_one_answer(fake_clock: FakeClock) -> None:
    fresh = TtlCache[int](timedelta(seconds=1), fake_clock.now)
    numbers, begun, may_end = count(1), Event(), Event()

    def slow() -> int:
        begun.set()
        assert may_end.wait(PATIENCE)
        return next(numbers)

    with ThreadPoolExecutor(4) as viewers:
        first = viewers.submit(fresh.get, "key", slow)
        assert begun.wait(PATIENCE)
        others = [viewers.submit(fresh.get, "key", slow) for _ in range(3)]
        may_end.set()

        assert {each.result(10) for each in (first, *others)} == {1}


@pytest.mark.parametrize(("age", "given"), [(1.5, "old"), (2, "new")])
def test_viewers_who_come_meanwhile_get_the_old_answer_unless_too_old(
    fake_clock: FakeClock, age: float, given: str
) -> None:
    fresh = TtlCache[str](timedelta(seconds=1), fake_clock.now)
    begun, may_end = Event(), Event()
    fresh.get("key", lambda: "old")
    fake_clock.wait(timedelta(seconds=age))

    def slow() -> str:
        begun.set()
        assert may_end.wait(PATIENCE)
        return "new"

    with ThreadPoolExecutor(2) as viewers:
        first = viewers.submit(fresh.get, "key", slow)
        assert begun.wait(PATIENCE)
        other = viewers.submit(fresh.get, "key", slow)
        if given == "old":
            assert other.result(10) == "old"
        may_end.set()

        assert (first.result(10), other.result(10)) == ("new", given)


def test_what_has_expired_is_not_kept(fake_clock: FakeClock) -> None:
    fresh = TtlCache[object](timedelta(seconds=1), fake_clock.now)
    kept = [fresh.get(key, _Answer) for key in range(100)]
    held = [ref(each) for each in kept]
    kept.clear()

    fake_clock.wait(timedelta(seconds=2))
    fresh.get("another", _Answer)

    assert not any(each() for each in held)


class _Answer:
    """One that can be seen to go."""
