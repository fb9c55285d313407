"""Followed networks: replies are kept ready, and a failing node affects its own network alone."""

from __future__ import annotations

import json
from datetime import timedelta

import anyio
import pytest

from dashboard.errors import UpstreamRefused, UpstreamThrottled, UpstreamUnavailable
from dashboard.serve.gas import FollowedNetwork, block_time
from tests.builders import GWEI
from tests.fake_clock import FakeClock
from tests.unit.serve.scripted_follower import ScriptedFollower, a_header

SECOND = timedelta(seconds=1)


def network_fees(follower: ScriptedFollower) -> FollowedNetwork:
    return FollowedNetwork("testnet", follower, SECOND)


async def test_refresh_encodes_all_four_operations() -> None:
    fees = network_fees(ScriptedFollower(FakeClock().now))

    wait = await fees.refresh()

    assert wait == SECOND
    assert fees.replies is not None
    bodies = {name: json.loads(reply.body) for name, reply in fees.replies.ready.items()}
    assert bodies["suggestedGasFees"]["estimatedBaseFee"] == "7"
    assert bodies["baseFeeHistory"] == ["1", "7"]
    assert bodies["baseFeePercentile"] == {"baseFeePercentile": "1"}
    assert bodies["busyThreshold"] == {"busyThreshold": "7"}


async def test_part_of_a_window_is_not_told_and_the_rest_is_read_without_a_pause() -> None:
    follower = ScriptedFollower(FakeClock().now)
    follower.is_complete, follower.window_blocks = False, 5_000
    fees = network_fees(follower)

    follower.reads = [2_248]
    assert await fees.refresh() == timedelta(0)
    assert fees.replies is None
    assert fees.loading == "The window of testnet is being read: 2,248 of 5,000 blocks."
    assert await fees.refresh() == SECOND, "nothing more was read: the node is left alone"


async def test_window_is_told_once_it_is_whole() -> None:
    follower = ScriptedFollower(FakeClock().now)
    follower.is_complete = False
    fees = network_fees(follower)
    await fees.refresh()

    follower.is_complete = True
    await fees.refresh()

    assert fees.replies is not None
    assert fees.loading is None


async def test_failing_node_leaves_its_last_replies_with_their_time() -> None:
    clock = FakeClock()
    follower = ScriptedFollower(clock.now)
    fees = network_fees(follower)
    await fees.refresh()
    before = fees.replies
    clock.wait(SECOND)
    follower.trouble = UpstreamUnavailable("gone")

    await fees.refresh()

    assert fees.replies is before


async def test_nothing_new_is_encoded_once_and_keeps_only_its_age_up_to_date() -> None:
    clock = FakeClock()
    fees = network_fees(ScriptedFollower(clock.now))
    await fees.refresh()
    before = fees.replies
    clock.wait(SECOND)

    await fees.refresh()

    assert before is not None
    assert fees.replies is not None
    assert fees.replies.ready is before.ready
    assert fees.replies.read_at == before.read_at + SECOND


async def test_window_that_grew_is_encoded_anew_at_the_same_head() -> None:
    follower = ScriptedFollower(FakeClock().now)
    fees = network_fees(follower)
    await fees.refresh()
    follower.busy_threshold = 9 * GWEI

    await fees.refresh()

    assert fees.replies is not None
    assert json.loads(fees.replies.ready["busyThreshold"].body) == {"busyThreshold": "9"}


@pytest.mark.parametrize("trouble", [UpstreamRefused("401"), ZeroDivisionError("a mistake")])
async def test_node_that_answers_again_is_told_anew(trouble: Exception) -> None:
    follower = ScriptedFollower(FakeClock().now)
    fees = network_fees(follower)
    follower.trouble = trouble
    await fees.refresh()
    follower.trouble = None

    assert await fees.refresh() == SECOND
    assert fees.replies is not None


async def test_failing_node_is_left_alone_longer_each_time_up_to_a_limit() -> None:
    follower = ScriptedFollower(FakeClock().now)
    follower.trouble = UpstreamUnavailable("gone")
    fees = network_fees(follower)

    waits = [(await fees.refresh()).total_seconds() for _ in range(7)]

    assert waits == [1, 2, 4, 8, 15, 15, 15]


async def test_throttling_node_is_left_alone_as_long_as_it_asks() -> None:
    follower = ScriptedFollower(FakeClock().now)
    follower.trouble = UpstreamThrottled("slower", retry_after=timedelta(seconds=40))

    assert await network_fees(follower).refresh() == timedelta(seconds=40)


@pytest.mark.parametrize(
    ("pace", "passed", "wait"),
    [
        (2.0, 0.0, 2.0),  # the next block is due in two seconds
        (2.0, 0.3, 1.7),
        (12.0, 0.0, 3.0),  # but the node is asked now and then whether it is there
        (2.0, 1.9, 0.25),
        (2.0, 3.0, 0.25),  # the block is late
        (2.0, 4.1, 1.0),  # they come no more, or at another pace
        (0.1, 0.0, 0.25),
    ],
)
async def test_node_is_asked_when_the_next_block_is_due(
    pace: float, passed: float, wait: float
) -> None:
    follower = ScriptedFollower(FakeClock().now, pace)
    seconds = 100.0
    fees = FollowedNetwork("testnet", follower, SECOND, now=lambda: seconds)
    for follower.next_head in (1, 2, 3):
        await fees.refresh()
    seconds += passed

    assert (await fees.refresh()).total_seconds() == pytest.approx(wait)


async def test_following_goes_on_after_trouble_of_any_kind() -> None:
    follower = ScriptedFollower(FakeClock().now)
    waited: list[float] = []
    troubles = [UpstreamUnavailable("gone"), RuntimeError("a mistake"), None]

    async def pause(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == len(troubles):
            tasks.cancel_scope.cancel()
            await anyio.lowlevel.checkpoint()
        follower.trouble = troubles[len(waited)]

    follower.trouble = troubles[0]
    fees = FollowedNetwork("testnet", follower, SECOND, pause)
    async with anyio.create_task_group() as tasks:
        await fees.follow()

    assert waited == [1, 15, 1]
    assert fees.replies is not None


async def test_block_time_is_the_mean_over_the_blocks_seen() -> None:
    heads = [a_header(10, seconds=2.5), a_header(11, seconds=2.5), a_header(14, seconds=2.5)]

    assert block_time(heads, SECOND) == timedelta(seconds=2.5)


@pytest.mark.parametrize("numbers", [(), (5,), (5, 5), (6, 5)])
async def test_block_time_is_unknown_without_progress(numbers: tuple[int, ...]) -> None:
    assert block_time([a_header(number) for number in numbers], SECOND) == SECOND
