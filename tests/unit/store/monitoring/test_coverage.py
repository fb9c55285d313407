"""Coverage and gaps are held as they were concluded, and found again by network and time."""

from __future__ import annotations

from msgspec.structs import replace

from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.health.coverage import CoverageChange, Covered, Gap, GapCause, Watched
from dashboard.domain.quantity import NetworkId
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from dashboard.store.monitoring.coverage import (
    PRECISION,
    as_last_seen,
    covered,
    gaps,
    save_coverage,
    watch_earlier,
    watched_from,
    watched_time,
    watched_times,
)
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    HOUR,
    seconds,
    suggested_gas_fees,
)

HELD = Covered(A_NETWORK, Watched.FEES, A_MOMENT, A_MOMENT)
MISSED = Gap(A_NETWORK, Watched.FEES, A_MOMENT, A_MOMENT + HOUR, GapCause.NOT_WATCHED)
SILENCE = Gap(
    A_NETWORK, Watched.FEES, A_MOMENT + HOUR, None, GapCause.NOT_ANSWERED, "did not\\answer\0"
)


def keep(store: Store, before: Covered | None, change: CoverageChange) -> Covered:
    """Write a change down and return what is held then."""
    with store.write() as connection:
        save_coverage(connection, before, change)
        [held] = covered(connection, [A_NETWORK])
        return held


def stored_gaps(store: Store, *networks: NetworkId) -> list[Gap]:
    with store.read() as connection:
        return gaps(connection, networks)


def test_parts_and_networks_are_covered_each_for_itself(store: Store) -> None:
    silent = replace(HELD, open_gap=SILENCE)
    others = [
        replace(HELD, watched=Watched.REJECTIONS),
        replace(HELD, network_id=ANOTHER_NETWORK),
    ]
    with store.write() as connection:
        for each in (silent, *others):
            save_coverage(connection, None, CoverageChange(each))
        found = covered(connection, [A_NETWORK, ANOTHER_NETWORK])
        assert covered(connection, [ANOTHER_NETWORK]) == [others[1]]

    assert len(found) == 3
    assert {(each.network_id, each.watched): each for each in found} == {
        (each.network_id, each.watched): each for each in (silent, *others)
    }


def test_first_moment_of_watching_is_held_through_gaps(store: Store) -> None:
    again = replace(HELD, since=A_MOMENT + HOUR, until=A_MOMENT + HOUR)
    keep(store, None, CoverageChange(HELD))
    keep(store, HELD, CoverageChange(again, (MISSED,)))

    with store.read() as connection:
        assert watched_from(connection, [A_NETWORK, ANOTHER_NETWORK], Watched.FEES) == {
            A_NETWORK: A_MOMENT
        }
        assert watched_from(connection, [A_NETWORK], Watched.REJECTIONS) == {}


def test_coverage_is_held_to_the_half_minute(store: Store) -> None:
    first = keep(store, None, CoverageChange(HELD))
    soon = keep(store, HELD, CoverageChange(replace(HELD, until=A_MOMENT + PRECISION / 2)))
    later = keep(store, HELD, CoverageChange(replace(HELD, until=A_MOMENT + PRECISION)))
    back = keep(store, later, CoverageChange(replace(HELD, until=A_MOMENT - HOUR)))

    assert first == soon == HELD
    assert later == replace(HELD, until=A_MOMENT + PRECISION)
    assert back == replace(HELD, until=A_MOMENT - HOUR)


def test_open_gap_is_held_and_ends_in_its_own_row(store: Store) -> None:
    open_, ended = replace(HELD, open_gap=SILENCE), replace(SILENCE, ends_at=A_MOMENT + 2 * HOUR)

    assert keep(store, HELD, CoverageChange(open_, (MISSED,))) == open_
    assert keep(store, open_, CoverageChange(HELD, (ended,))) == HELD
    assert stored_gaps(store, A_NETWORK) == [ended, MISSED]


def test_same_change_again_adds_nothing(store: Store) -> None:
    for _ in range(2):
        keep(store, HELD, CoverageChange(replace(HELD, open_gap=SILENCE), (MISSED,)))

    assert stored_gaps(store, A_NETWORK) == [SILENCE, MISSED]


def test_gaps_are_those_of_the_networks_that_are_asked_for(store: Store) -> None:
    keep(store, HELD, CoverageChange(HELD, (MISSED,)))

    assert stored_gaps(store, ANOTHER_NETWORK) == []
    assert stored_gaps(store, ANOTHER_NETWORK, A_NETWORK) == [MISSED]


def test_gaps_that_ended_before_a_time_are_left_out(store: Store) -> None:
    keep(store, HELD, CoverageChange(replace(HELD, open_gap=SILENCE), (MISSED,)))

    with store.read() as connection:
        found = gaps(connection, [A_NETWORK], since=A_MOMENT + HOUR)
        first = gaps(connection, [A_NETWORK], since=A_MOMENT + HOUR - seconds(1))
    assert (found, first) == ([SILENCE], [SILENCE, MISSED])


def test_time_before_the_first_look_and_gaps_of_any_network_are_not_watched(store: Store) -> None:
    began = replace(HELD, network_id=ANOTHER_NETWORK, since=A_MOMENT - HOUR, until=A_MOMENT + HOUR)
    keep(store, None, CoverageChange(replace(HELD, until=A_MOMENT + 3 * HOUR), (MISSED,)))
    times = A_MOMENT - 2 * HOUR, A_MOMENT + 3 * HOUR

    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(began))
        one = watched_time(connection, [A_NETWORK], Watched.FEES, *times)
        both = watched_time(connection, [A_NETWORK, ANOTHER_NETWORK], Watched.FEES, *times)
        each = watched_times(connection, [A_NETWORK, ANOTHER_NETWORK], Watched.FEES, *times)
        other = watched_time(connection, [ANOTHER_NETWORK], Watched.FEES, *times)
        never = watched_time(connection, [A_NETWORK], Watched.REJECTIONS, *times)
    assert each == {A_NETWORK: one, ANOTHER_NETWORK: other}
    assert one.missed == ((times[0], A_MOMENT + HOUR),)
    assert both.missed == (times,)
    assert never.missed == (times,)


def test_history_that_was_put_in_counts_as_watched(store: Store) -> None:
    keep(store, None, CoverageChange(HELD))

    with store.write() as connection:
        watch_earlier(connection, [A_NETWORK], A_MOMENT - HOUR, A_MOMENT)
        watch_earlier(connection, [A_NETWORK], A_MOMENT - HOUR / 2, A_MOMENT)
        began = [watched_from(connection, [A_NETWORK], each) for each in Watched]
        held = covered(connection, [A_NETWORK])

    assert began == [{A_NETWORK: A_MOMENT - HOUR}] * 2
    assert {(each.watched, each.until) for each in held} == {(each, A_MOMENT) for each in Watched}
    assert HELD in held


def test_coverage_lasts_to_the_last_fees_within_a_minute_of_its_end(store: Store) -> None:
    ends = (0, 40, 60, 1000, 2000)
    several = [replace(HELD, until=A_MOMENT + seconds(each)) for each in ends]
    with store.write() as connection:
        save_coverage(connection, None, CoverageChange(HELD))
        for at in (12, 59, 101, 130, 999, 1060, 2061):
            saved = GasObservation(A_NETWORK, A_MOMENT + seconds(at), suggested_gas_fees())
            save_gas(connection, saved)
        found = as_last_seen(connection, several)
        alone = [as_last_seen(connection, [each]) for each in several]

        assert as_last_seen(connection, []) == []
    last = (59, 59, 101, 1060, 2000)
    assert found == [replace(HELD, until=A_MOMENT + seconds(each)) for each in last]
    assert alone == [[each] for each in found]
