"""Several exclusion endpoints: who is asked when, and what counts where they disagree."""

from __future__ import annotations

from datetime import timedelta

import pytest

from dashboard.domain.health.observation import ExclusionAnswer, FailureKind
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.upstream.exclusion_endpoints import ExclusionEndpoint, ExclusionEndpoints
from tests.builders import a_hash, a_record
from tests.scripted_upstreams import ScriptedExclusion, SilentExclusion

pytestmark = pytest.mark.anyio

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
    both, none = await ExclusionEndpoints(clients, asks_all=True).ask([ONE, OTHER])

    assert who_said(both) == [("c", "rejected"), ("a", "null"), ("b", "rejected")]
    assert who_said(none) == [("a", "null"), ("b", "null"), ("c", "null")]


@pytest.mark.parametrize("asks_all", [True, False])
async def test_silent_endpoint_fails_and_takes_no_other_answer_away(*, asks_all: bool) -> None:
    rejecting = ScriptedExclusion()
    rejecting.reject(a_record())
    clients: dict[str, ExclusionEndpoint] = {"silent": SilentExclusion(), "b": rejecting}

    [answer] = await ExclusionEndpoints(clients, asks_all, timedelta(milliseconds=1)).ask([ONE])

    assert who_said(answer) == [("b", "rejected"), ("silent", "failed")]
    [silence] = [each.failure for each in answer.beside]
    assert silence is not None
    assert silence.kind is FailureKind.UNAVAILABLE
    assert silence.message == "silent: no answer within 0.001 s"


async def test_nothing_is_asked_about_nothing() -> None:
    client = ScriptedExclusion()

    assert await ExclusionEndpoints({"a": client, "b": client}, asks_all=True).ask([]) == []
    assert client.asked == []
