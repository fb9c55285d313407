"""What was not covered is concluded from visits, through restarts, silence and jumping clocks."""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from dashboard.detect.outage import Visit, conclude_coverage
from dashboard.domain.health.coverage import (
    SHORTEST_GAP,
    CoverageChange,
    Covered,
    Gap,
    GapCause,
    Watched,
    without_worker,
)
from tests.builders import A_MOMENT, A_NETWORK, ANOTHER_NETWORK, HOUR, seconds

TICK = seconds(5)
HELD = Covered(A_NETWORK, Watched.FEES, A_MOMENT - HOUR, A_MOMENT)


def a_gap(begins: timedelta, ends: timedelta | None, cause: GapCause, reason: str = "") -> Gap:
    """Return a gap in the fees, told by its distances from `A_MOMENT`."""
    ends_at = None if ends is None else A_MOMENT + ends
    return Gap(A_NETWORK, Watched.FEES, A_MOMENT + begins, ends_at, cause, reason)


def failing(at: timedelta, since: timedelta) -> Visit:
    return Visit(A_MOMENT + at, TICK, A_MOMENT + since, "no answer")


OPEN = a_gap(seconds(0), None, GapCause.NOT_ANSWERED, "no answer")
SILENT = replace(HELD, until=A_MOMENT + HOUR, open_gap=OPEN)


def test_look_after_look_covers_the_time_between() -> None:
    change = conclude_coverage(HELD, Visit(A_MOMENT + TICK, TICK))

    assert change == CoverageChange(replace(HELD, until=A_MOMENT + TICK))


def test_restart_makes_no_gap() -> None:
    change = conclude_coverage(HELD, Visit(A_MOMENT + SHORTEST_GAP - TICK))

    assert (change.ended, change.covered.since) == ((), HELD.since)


def test_time_without_a_worker_is_a_gap() -> None:
    change = conclude_coverage(HELD, Visit(A_MOMENT + HOUR))

    assert change.ended == (a_gap(seconds(0), HOUR, GapCause.NOT_WATCHED),)
    assert change.covered == Covered(A_NETWORK, Watched.FEES, A_MOMENT + HOUR, A_MOMENT + HOUR)


def test_clock_that_jumps_makes_no_gap_while_the_worker_looks() -> None:
    for jump in (timedelta(days=7), -timedelta(days=7)):
        change = conclude_coverage(HELD, Visit(A_MOMENT + jump, TICK))

        assert (change.ended, change.covered.until) == ((), A_MOMENT + jump)


def test_clock_that_was_set_back_before_a_start_tells_of_no_gap() -> None:
    change = conclude_coverage(HELD, Visit(A_MOMENT - timedelta(days=7)))

    assert change.ended == ()


def test_worker_that_stood_still_missed_that_time() -> None:
    change = conclude_coverage(HELD, Visit(A_MOMENT + HOUR, HOUR - TICK))

    assert change.ended == (a_gap(TICK, HOUR, GapCause.NOT_WATCHED),)


def test_short_silence_makes_no_gap() -> None:
    change = conclude_coverage(HELD, failing(SHORTEST_GAP - TICK, seconds(0)))

    assert change.covered.open_gap is None


def test_silence_is_a_gap_from_the_first_failure_on() -> None:
    change = conclude_coverage(HELD, failing(SHORTEST_GAP, seconds(0)))

    assert change.covered.open_gap == OPEN
    assert conclude_coverage(change.covered, failing(HOUR, seconds(0))).covered.open_gap == OPEN


def test_silence_ends_with_an_answer() -> None:
    change = conclude_coverage(SILENT, Visit(A_MOMENT + HOUR + TICK, TICK))

    assert change.ended == (replace(OPEN, ends_at=A_MOMENT + HOUR + TICK),)
    assert change.covered.open_gap is None


def test_silence_after_an_answer_that_nobody_saw_is_another_gap() -> None:
    change = conclude_coverage(SILENT, failing(2 * HOUR, HOUR))

    assert change.ended == (replace(OPEN, ends_at=A_MOMENT + HOUR),)
    assert change.covered.open_gap == replace(OPEN, begins_at=A_MOMENT + HOUR)


def test_silence_and_a_stop_are_gaps_one_after_the_other() -> None:
    visit = replace(failing(3 * HOUR, seconds(0)), since_last=None)
    change = conclude_coverage(SILENT, visit)
    later = conclude_coverage(change.covered, failing(4 * HOUR, seconds(0)))

    assert change.ended == (
        replace(OPEN, ends_at=A_MOMENT + HOUR),
        a_gap(HOUR, 3 * HOUR, GapCause.NOT_WATCHED),
    )
    assert later.covered.open_gap == replace(OPEN, begins_at=A_MOMENT + 3 * HOUR)


def test_silence_that_ends_by_a_clock_set_back_has_no_length() -> None:
    change = conclude_coverage(SILENT, Visit(A_MOMENT - HOUR, TICK))

    assert change.ended == (replace(OPEN, ends_at=OPEN.begins_at),)


visits = st.lists(
    st.tuples(st.integers(1, 400), st.booleans(), st.booleans()), min_size=1, max_size=30
)


@settings(max_examples=50)
@given(visits=visits)
def test_gaps_never_overlap_while_the_clock_goes_on(
    visits: list[tuple[int, bool, bool]],
) -> None:
    held, at, failing_since = HELD, A_MOMENT, None
    ended: list[Gap] = []
    for wait, is_restarted, is_silent in visits:
        at += seconds(wait)
        failing_since = (failing_since or at) if is_silent else None
        visit = Visit(at, None if is_restarted else seconds(wait), failing_since, "no answer")
        change = conclude_coverage(held, visit)
        held = change.covered
        ended += change.ended
        again = conclude_coverage(held, replace(visit, since_last=seconds(0)))

        assert again == CoverageChange(held)

    if held.open_gap is not None:
        ended.append(replace(held.open_gap, ends_at=at))
    ends = [gap.ends_at for gap in ended[:-1]]
    assert all(
        end is not None and end <= gap.begins_at for end, gap in zip(ends, ended[1:], strict=True)
    )


OURS, OTHERS = (A_NETWORK, Watched.FEES), (ANOTHER_NETWORK, Watched.REJECTIONS)
ALL = (A_MOMENT - HOUR, A_MOMENT + HOUR)


def test_no_worker_was_running_while_nothing_at_all_was_watched() -> None:
    ours = a_gap(seconds(0), seconds(300), GapCause.NOT_WATCHED)
    theirs = replace(ours, network_id=ANOTHER_NETWORK, watched=Watched.REJECTIONS)
    later = replace(theirs, begins_at=ours.begins_at + seconds(60))
    soon_after = replace(later, begins_at=ours.begins_at + seconds(181))
    both = {OURS: ALL, OTHERS: ALL}

    assert without_worker([ours], {OURS: ALL}) == [ours]
    assert without_worker([ours, theirs], both) == [ours, theirs]
    assert without_worker([ours, later], both) == [replace(ours, begins_at=later.begins_at), later]
    assert without_worker([ours, soon_after], both) == []


def test_worker_was_running_while_it_watched_anything_else_or_nobody_answered() -> None:
    again = a_gap(seconds(0), seconds(300), GapCause.NOT_WATCHED)
    unanswered = [a_gap(seconds(0), each, GapCause.NOT_ANSWERED) for each in (None, seconds(300))]

    assert without_worker([again, *unanswered], {OURS: ALL, OTHERS: ALL}) == []
    assert without_worker(unanswered, {OURS: ALL}) == []


def test_what_was_not_watched_yet_or_no_more_says_nothing_of_a_worker() -> None:
    gap = a_gap(seconds(0), seconds(300), GapCause.NOT_WATCHED)
    new, removed = (A_MOMENT + seconds(300), ALL[1]), (ALL[0], gap.begins_at)

    for other in (new, removed):
        assert without_worker([gap], {OURS: ALL, OTHERS: other}) == [gap]
