"""The end of line limits: what is asked for after it, and what is told of the silence."""

from __future__ import annotations

from datetime import timedelta

from msgspec.structs import replace

from dashboard.domain.alerts.condition import State, SubjectKind
from dashboard.domain.alerts.kinds.limits_end import EndGrounds
from dashboard.domain.health.coverage import GapCause, Watched
from dashboard.domain.health.observation import Operation
from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.errors import UpstreamUnavailable
from dashboard.poll.end_of_line_limits import EndBlockPoll
from dashboard.poll.lease import NetworkStore
from dashboard.poll.network_conditions import Conditions, CoverageWatch
from dashboard.store.engine.engine import Store
from dashboard.store.monitoring.answer_counts import note_failure
from dashboard.store.monitoring.coverage import gaps
from dashboard.store.rejections.limits_end import known_end, save_end_block
from tests.builders import A_MOMENT, A_NETWORK, DAY, MINUTE, a_hash, a_record, seconds
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import SILENCE, ScriptedExclusion
from tests.unit.poll.condition_scene import a_term, conditions_of, told
from tests.unit.poll.exclusion_poll_scene import a_poll, let_pass, news, watch

END = LimitsEnd(A_MOMENT + MINUTE)
BLOCK = LimitsEnd(block_number=31_000_000)


async def test_what_is_first_seen_after_the_end_is_asked_about_once_a_day(
    store: Store, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    poll = a_poll(store, upstream, fake_clock, END)
    watch(store, fake_clock, 1)
    fake_clock.wait(MINUTE)
    watch(store, fake_clock, 2)
    watch(store, fake_clock, 3, attempted_at=A_MOMENT)

    await let_pass(poll, fake_clock, DAY)
    await let_pass(poll, fake_clock, 9 * DAY)

    before, after, attempted_before = (upstream.questions[a_hash(each)] for each in (1, 2, 3))
    assert min(before, attempted_before) > 30
    assert 5 < after < 10


async def test_what_is_first_seen_after_the_end_is_never_asked_about_if_settings_say_so(
    store: Store, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    fake_clock.wait(MINUTE)
    watch(store, fake_clock, 1)

    await let_pass(a_poll(store, upstream, fake_clock, END, None), fake_clock, 9 * DAY)

    assert upstream.asked == []


async def test_end_that_is_put_off_lets_be_asked_what_was_missed_within_the_window(
    store: Store, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    fake_clock.wait(MINUTE)
    watch(store, fake_clock, 1)
    await let_pass(a_poll(store, upstream, fake_clock, END, None), fake_clock, 5 * DAY)
    upstream.reject(a_record())

    await a_poll(store, upstream, fake_clock, replace(END, at=A_MOMENT + 30 * DAY)).tick()

    assert news(store) == [(a_hash(1), State.REJECTED)]


async def test_rejection_in_spite_of_the_end_counts(
    store: Store, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    fake_clock.wait(MINUTE)
    watch(store, fake_clock, 1)
    upstream.reject(a_record(timestamp=fake_clock.now()))

    await a_poll(store, upstream, fake_clock, END).tick()

    assert news(store) == [(a_hash(1), State.REJECTED)]


async def test_block_thins_out_what_was_asked_about_until_its_time_was_known(
    store: Store, upstream: ScriptedExclusion, fake_clock: FakeClock
) -> None:
    poll = a_poll(store, upstream, fake_clock, BLOCK)
    watch(store, fake_clock, 1)
    save(store, replace(BLOCK, at=A_MOMENT, is_expected=True))
    await let_pass(poll, fake_clock, MINUTE)
    asked = upstream.questions[a_hash(1)]

    save(store, replace(BLOCK, at=A_MOMENT))
    await let_pass(poll, fake_clock, DAY - 2 * MINUTE)

    assert asked > 5
    assert upstream.questions[a_hash(1)] == asked


async def test_time_of_a_block_is_asked_for_until_it_cannot_change(
    store: Store, fake_clock: FakeClock
) -> None:
    chain = Chain(fake_clock, timedelta(hours=8))
    term = a_term(store, fake_clock)
    own = NetworkStore(store, A_NETWORK, term)
    poll = EndBlockPoll(chain, own, 31_000_000, fake_clock.clocks)

    await poll.tick()
    with store.read() as connection:
        assert known_end(connection, A_NETWORK, BLOCK) == (
            LimitsEnd(A_MOMENT + timedelta(hours=8), 31_000_000, is_expected=True)
        )
    for _ in range(24 * 60):
        fake_clock.wait(MINUTE)
        await poll.tick()

    with store.read() as connection:
        found = known_end(connection, A_NETWORK, BLOCK)
    assert found == LimitsEnd(A_MOMENT + timedelta(hours=8), 31_000_000)
    assert chain.asked < 60


async def test_final_block_is_not_taken_back_by_a_node_that_is_behind(
    store: Store, fake_clock: FakeClock
) -> None:
    chain = Chain(fake_clock, -DAY)
    own = NetworkStore(store, A_NETWORK, a_term(store, fake_clock))
    await EndBlockPoll(chain, own, 31_000_000, fake_clock.clocks).tick()

    chain.at = fake_clock.now() + timedelta(hours=8)
    restarted = EndBlockPoll(chain, own, 31_000_000, fake_clock.clocks)
    await restarted.tick()
    asked = chain.asked

    with store.read() as connection:
        assert known_end(connection, A_NETWORK, BLOCK) == LimitsEnd(A_MOMENT - DAY, 31_000_000)
    fake_clock.wait(timedelta(hours=4))
    await restarted.tick()
    assert (asked, chain.asked) == (2, 3)  # it is asked until the node has the block


def test_end_is_told_once_and_not_again_when_the_clock_is_set_back(
    store: Store, fake_clock: FakeClock
) -> None:
    conditions = conditions_of(fake_clock, END)

    update(store, fake_clock, conditions)
    fake_clock.wait(2 * MINUTE)
    update(store, fake_clock, conditions)
    fake_clock.set_clock(-DAY)
    update(store, fake_clock, conditions)
    fake_clock.set_clock(DAY)
    update(store, fake_clock, conditions)

    [end] = told(store)
    assert (end.subject.kind, end.after) == (SubjectKind.LINE_LIMITS, State.NO_LINE_LIMITS)
    assert end.grounds == EndGrounds(A_MOMENT + MINUTE)
    assert end.began_at == A_MOMENT + MINUTE


def test_end_that_was_removed_is_told_again_when_it_comes_after_all(
    store: Store, fake_clock: FakeClock
) -> None:
    for end in (END, None, replace(END, at=A_MOMENT + DAY)):
        fake_clock.wait(2 * MINUTE)
        update(store, fake_clock, conditions_of(fake_clock, end))
    fake_clock.wait(DAY)
    update(store, fake_clock, conditions_of(fake_clock, replace(END, at=A_MOMENT + DAY)))

    assert [each.grounds for each in told(store)] == [
        EndGrounds(A_MOMENT + MINUTE),
        EndGrounds(A_MOMENT + DAY),
    ]


def test_silence_after_the_end_is_no_outage_and_one_that_lasts_is_over(
    store: Store, fake_clock: FakeClock
) -> None:
    end = LimitsEnd(A_MOMENT + 10 * MINUTE)
    conditions = conditions_of(fake_clock, end)
    for _ in range(60):
        fake_clock.wait(MINUTE)
        with store.write() as connection:
            note_failure(
                connection, A_NETWORK, fake_clock.now(), (Operation.EXCLUSION_STATUS, SILENCE)
            )
        update(store, fake_clock, conditions)

    silent, ended, over = told(store)
    assert [each.after for each in (silent, ended)] == [State.SILENT, State.NO_LINE_LIMITS]
    assert (over.after, over.grounds) == (State.ANSWERING, EndGrounds(A_MOMENT + 10 * MINUTE))


def test_nothing_is_missed_after_the_end_and_what_was_missed_until_then_stays(
    store: Store, fake_clock: FakeClock
) -> None:
    ended_at = A_MOMENT + 10 * MINUTE
    for wait in (timedelta(), 20 * MINUTE, seconds(5), 20 * MINUTE):
        fake_clock.wait(wait)
        coverage = CoverageWatch(A_NETWORK, [Watched.REJECTIONS], fake_clock.clocks)
        with store.write() as connection:
            coverage.visit(connection, ended_at if fake_clock.now() > ended_at else None)

    with store.read() as connection:
        [gap] = gaps(connection, [A_NETWORK])
    assert (gap.begins_at, gap.ends_at, gap.cause) == (A_MOMENT, ended_at, GapCause.NOT_WATCHED)


def update(store: Store, fake_clock: FakeClock, conditions: Conditions) -> None:
    """Conclude from what is stored, as a job of the worker does."""
    with store.write() as connection:
        conditions.update_line_limits(connection, fake_clock.now())
        conditions.update_exclusion_outage(connection, fake_clock.now())


def save(store: Store, end: LimitsEnd) -> None:
    with store.write() as connection:
        save_end_block(connection, A_NETWORK, end)


class Chain:
    """A chain whose block comes in time, and whose node fails every third question."""

    def __init__(self, fake_clock: FakeClock, away: timedelta) -> None:
        self.fake_clock = fake_clock
        self.at = fake_clock.now() + away
        self.asked = 0

    async def end_with(self, block_number: int) -> LimitsEnd:
        """Return when the block comes."""
        self.asked += 1
        if self.asked % 3 == 0:
            raise UpstreamUnavailable("node did not answer")
        return LimitsEnd(self.at, block_number, is_expected=self.fake_clock.now() < self.at)
