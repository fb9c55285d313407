"""Several exclusion endpoints: who is asked when, and what counts where they disagree."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

import pytest

from dashboard.domain.health.observation import ExclusionAnswer, ExclusionAnswers
from dashboard.domain.quantity import TxHash
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.upstream.exclusion_endpoints import ExclusionEndpoints
from tests.builders import a_hash, a_record
from tests.fake_clock import FakeClock
from tests.scripted_upstreams import SILENCE, ScriptedExclusion

ONE, OTHER = a_hash(1), a_hash(2)
BARE = a_record(timestamp=None, tx_rejection_stage=RejectionStage.UNKNOWN)


def who_said(answer: ExclusionAnswer) -> list[tuple[str, str]]:
    """Return what each endpoint said of a hash, the one that counts first."""
    return [
        (each.endpoint, "failed" if each.failure else "rejected" if each.record else "null")
        for each in (answer, *answer.beside)
    ]


async def test_next_endpoint_is_asked_only_about_what_those_before_did_not_answer() -> None:
    first, second, third = ScriptedExclusion(), ScriptedExclusion(), ScriptedExclusion()
    first.failing.add(ONE)
    second.reject(a_record(tx_hash=OTHER))

    answers = await ExclusionEndpoints({"a": first, "b": second, "c": third}).ask([ONE, OTHER])

    assert [who_said(each) for each in answers] == [
        [("b", "null"), ("a", "failed")],
        [("a", "null")],
    ]
    assert (second.asked, third.asked) == ([[ONE]], [])


async def test_failure_of_all_is_that_of_the_first() -> None:
    first, second = ScriptedExclusion(), ScriptedExclusion()
    first.is_down = second.is_down = True

    [answer] = await ExclusionEndpoints({"a": first, "b": second}).ask([ONE])

    assert who_said(answer) == [("a", "failed"), ("b", "failed")]


async def test_all_are_asked_and_a_rejection_counts_whoever_says_it_the_whole_one_first() -> None:
    null, bare, whole = ScriptedExclusion(), ScriptedExclusion(), ScriptedExclusion()
    bare.reject(BARE)
    whole.reject(a_record())

    clients = {"a": null, "b": bare, "c": whole}
    answers = await ExclusionEndpoints(clients, asks_all=True).ask([ONE, OTHER])
    both, none = answers

    assert [*answers.not_null] == [0]  # a null by all of them is no more than a count
    assert who_said(both) == [("c", "rejected"), ("a", "null"), ("b", "rejected")]
    assert who_said(none) == [("a", "null"), ("b", "null"), ("c", "null")]


@pytest.mark.parametrize("asks_all", [True, False])
async def test_silent_endpoint_fails_and_takes_no_other_answer_away(*, asks_all: bool) -> None:
    silent, rejecting = ScriptedExclusion(), ScriptedExclusion()
    silent.is_down = True
    rejecting.reject(a_record())

    clients = {"silent": silent, "b": rejecting}
    [answer] = await ExclusionEndpoints(clients, asks_all=asks_all).ask([ONE])

    assert who_said(answer) == [("b", "rejected"), ("silent", "failed")]
    assert [each.failure for each in answer.beside] == [SILENCE]


async def test_nothing_is_asked_about_nothing() -> None:
    client = ScriptedExclusion()

    assert not await ExclusionEndpoints({"a": client, "b": client}, asks_all=True).ask([])
    assert client.asked == []


class Scene:
    """Two endpoints in order, or both, and a clock."""

    def __init__(self, *, asks_all: bool = False) -> None:
        self.first, self.second = ScriptedExclusion(), ScriptedExclusion()
        self.clock = FakeClock()
        clients = {"a": self.first, "b": self.second}
        self.endpoints = ExclusionEndpoints(clients, self.clock.elapsed, asks_all=asks_all)

    async def asked(self, *hashes: TxHash) -> tuple[int, int]:
        """Ask, let what nobody waits for end; return how many hashes each endpoint was asked."""
        before = [client.questions.total() for client in (self.first, self.second)]
        await self.endpoints.ask(hashes or [ONE, OTHER])
        await asyncio.sleep(0)
        after = [client.questions.total() for client in (self.first, self.second)]
        return after[0] - before[0], after[1] - before[1]


async def test_endpoint_that_failed_is_left_and_tried_until_it_answers_again() -> None:
    scene = Scene()
    scene.first.is_down = True
    failing = [await scene.asked(), await scene.asked()]
    used = scene.endpoints.in_use()
    scene.clock.wait(timedelta(seconds=1))
    tried = [await scene.asked(), await scene.asked()]
    scene.clock.wait(timedelta(seconds=2))
    scene.first.is_down = False
    healed = [await scene.asked(), await scene.asked()]

    assert failing == [(2, 2), (0, 2)]
    assert used == ["b"]
    assert tried == [(1, 2), (0, 2)]
    assert healed == [(1, 2), (2, 0)]
    assert scene.endpoints.in_use() == ["a"]


async def test_endpoint_that_is_left_is_asked_where_nobody_else_answers() -> None:
    scene = Scene()
    scene.first.is_down = True
    await scene.asked()
    scene.second.is_down = True
    first, both = await scene.asked(), await scene.asked()
    scene.first.is_down = False

    assert (first, both) == ((2, 2), (2, 2))
    assert await scene.asked() == (2, 2)
    assert await scene.asked() == (2, 0)


async def test_endpoint_says_how_long_it_is_left() -> None:
    scene = Scene(asks_all=True)
    scene.first.silence = replace(scene.first.silence, retry_after=timedelta(minutes=1))
    scene.first.is_down = True

    began = await scene.asked(), scene.endpoints.in_use()
    scene.clock.wait(timedelta(seconds=59))
    left = await scene.asked()
    scene.clock.wait(timedelta(seconds=1))

    assert began == ((2, 2), ["b"])
    assert (left, await scene.asked()) == ((0, 2), (1, 2))


class Hanging(ScriptedExclusion):
    """Answers nothing at first, then never."""

    async def ask(self, hashes: Sequence[TxHash]) -> ExclusionAnswers:
        if self.asked:
            await asyncio.Event().wait()
        return await super().ask(hashes)


async def test_trial_holds_nobody_up_and_ends_with_the_endpoints() -> None:
    hanging, clock = Hanging(), FakeClock()
    hanging.is_down = True
    endpoints = ExclusionEndpoints({"a": hanging, "b": ScriptedExclusion()}, clock.elapsed)
    await endpoints.ask([ONE])
    clock.wait(timedelta(seconds=1))

    answers = [await endpoints.ask([ONE]) for _ in range(2)]
    await endpoints.aclose()

    assert [who_said(each) for [each] in answers] == [[("b", "null")]] * 2
