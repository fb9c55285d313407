"""The exclusion client: batches, sizes, failures, and never an answer that nobody gave."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from random import Random

import pytest

from dashboard.domain.quantity import TxHash
from dashboard.errors import (
    UpstreamError,
    UpstreamFailed,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
)
from dashboard.upstream.batches import BatchSize
from dashboard.upstream.endpoint import Charge
from dashboard.upstream.exclusion import ExclusionClient
from tests.fake_clock import FakeClock
from tests.unit.upstream.scripted_asker import Call, ScriptedAsker, fault, result
from tests.unit.upstream.scripted_exclusion import (
    Answer,
    ask,
    hashes,
    single_or_batch,
    summary,
    truth,
)


async def test_question_for_no_hash_is_not_asked() -> None:
    asker = ScriptedAsker(truth)

    assert list(await ExclusionClient(asker, "chain").ask([])) == []
    assert asker.asked == []


async def test_answers_come_in_the_order_of_the_hashes() -> None:
    asker = ScriptedAsker(lambda calls: truth(calls)[::-1])

    answers = await ExclusionClient(asker, "linea").ask(hashes(4))

    assert [each.tx_hash for each in answers] == hashes(4)
    assert summary(answers) == ["null", "record", "null", "record"]
    assert answers[1].record is not None
    assert answers[1].record.timestamp == datetime(2026, 11, 18, 7, 41, 12, 304000, UTC)
    assert asker.asked[0][0]["method"] == "linea_getTransactionExclusionStatusV1"


async def test_same_hash_twice_is_answered_twice() -> None:
    client = ExclusionClient(ScriptedAsker(truth), "chain")

    answers = await client.ask([*hashes(2), *hashes(2)])

    assert summary(answers) == ["null", "record", "null", "record"]


async def test_many_hashes_go_in_batches_with_ids_that_never_repeat() -> None:
    asker = ScriptedAsker(truth)
    client = ExclusionClient(asker, "chain", 1000)

    answers = await client.ask(hashes(2500))

    ids = [call["id"] for calls in asker.asked for call in calls]
    assert [len(calls) for calls in asker.asked] == [1000, 1000, 500]
    assert len(set(ids)) == 2500
    assert summary(answers) == ["null", "record"] * 1250


async def test_batch_size_is_a_setting_up_to_a_thousand() -> None:
    small, large = ScriptedAsker(truth), ScriptedAsker(truth)

    await ExclusionClient(small, "chain", 2).ask(hashes(3))
    await ExclusionClient(large, "chain", 5000).ask(hashes(1001))

    assert [len(calls) for calls in small.asked] == [2, 1]
    assert [len(calls) for calls in large.asked] == [1000, 1]


async def test_body_limit_grows_with_the_items_asked() -> None:
    asker = ScriptedAsker(truth)

    await ExclusionClient(asker, "chain").ask(hashes(3))

    assert asker.limits == [64 * 1024 + 3 * 8 * 1024]


async def test_one_element_batch_may_be_answered_with_an_object_or_an_array() -> None:
    as_object = await ask(lambda calls: truth(calls)[0], 1)
    as_array = await ask(truth, 1)

    assert summary(as_object) == summary(as_array) == ["null"]


ERRORS = [
    (UpstreamUnavailable("down"), "unavailable"),
    (UpstreamThrottled("slow", timedelta(seconds=9)), "throttled"),
    (UpstreamRefused("no"), "refused"),
]


@pytest.mark.parametrize(("error", "kind"), ERRORS)
async def test_endpoint_that_gives_no_answer_is_not_asked_for_the_rest(
    error: UpstreamError, kind: str
) -> None:
    asker = ScriptedAsker(lambda _: error)

    answers = await ExclusionClient(asker, "chain", 10).ask(hashes(500))

    assert summary(answers) == [kind] * 500
    assert len(asker.asked) <= 2  # one hash is tried: the batch may be too large, or hold a bad one


async def test_answer_that_cannot_be_read_is_asked_for_once_more() -> None:
    asker = ScriptedAsker(lambda calls: b"<html>" if len(asker.asked) == 1 else truth(calls))

    answers = await ExclusionClient(asker, "chain", 2).ask(hashes(4))

    assert summary(answers) == ["null", "record"] * 2
    assert len(asker.asked) == 3


def up_to(limit: int, refusal: object) -> Answer:
    return single_or_batch(lambda calls: truth(calls) if len(calls) <= limit else refusal)


REFUSALS: list[object] = [
    UpstreamRefused("413"),
    fault(-32600),
    fault(-32000),
    result({"id": 1}, None),
]


@pytest.mark.parametrize("refusal", REFUSALS)
@pytest.mark.parametrize("limit", [10, 100])
async def test_refused_batch_size_is_searched_and_remembered(limit: int, refusal: object) -> None:
    asker = ScriptedAsker(up_to(limit, refusal))
    client = ExclusionClient(asker, "chain")

    first = await client.ask(hashes(1000))
    searched = len(asker.asked)
    again = await client.ask(hashes(200))

    assert summary(first) == ["null", "record"] * 500
    assert summary(again) == ["null", "record"] * 100
    assert 0.88 * limit < len(asker.asked[searched]) <= limit
    assert all(len(calls) <= limit for calls in asker.asked[searched:])
    assert sum(len(calls) > limit for calls in asker.asked) <= 5


@pytest.mark.parametrize("refusal", [UpstreamRefused("400"), fault(-32600)])
async def test_hashes_are_asked_alone_where_no_batch_is_served(refusal: object) -> None:
    asker = ScriptedAsker(up_to(1, refusal))

    answers = await ExclusionClient(asker, "chain", 100).ask(hashes(20))

    assert summary(answers) == ["null", "record"] * 10
    assert [len(calls) for calls in asker.asked] == [20, 1, 4, 2, *[1] * 19]


async def test_single_requests_are_few_at_once() -> None:
    asker = CountingAsker()

    answers = await ExclusionClient(asker, "chain", 1).ask(hashes(40))

    assert summary(answers) == ["null", "record"] * 20
    assert asker.most_at_once == 4


class CountingAsker(ScriptedAsker):
    """Counts how many questions wait for their answers at once."""

    def __init__(self) -> None:
        super().__init__(single_or_batch(truth))
        self.most_at_once = 0
        self._now = 0

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        """Let the others have their turn before the answer."""
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        turn = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(turn.set_result, None)
        await turn
        self._now -= 1
        return await super().post_json(body, limit, charge)


def test_larger_batches_are_tried_again_after_a_while() -> None:
    size = BatchSize(1000)
    size.refuse(1000)
    size.answer(1)
    while size.now < 890:
        size.answer(size.now)
    sizes = []
    for _ in range(200):
        sizes.append(size.now)
        size.answer(size.now)

    assert sizes[0] < 1000
    assert sizes[-1] == 1000


def test_size_is_what_it_was_if_one_hash_alone_is_refused_too() -> None:
    size = BatchSize(1000, 500)
    size.refuse(500)
    size.restore()

    assert (size.accepted, size.refused, size.now) == (500, 0, 1000)


async def test_partly_throttled_batch_becomes_as_small_as_what_was_answered() -> None:
    asker = ScriptedAsker(
        lambda calls: [
            each if place < 6 else fault(-32005, calls[place])
            for place, each in enumerate(truth(calls))
        ]
    )
    client = ExclusionClient(asker, "chain")

    for _ in range(8):
        await client.ask(hashes(500))

    assert len(asker.asked[-1]) <= 8


async def test_throttled_items_stop_the_rest() -> None:
    asker = ScriptedAsker(lambda calls: [fault(-32005, call) for call in calls])

    answers = await ExclusionClient(asker, "chain", 2).ask(hashes(100))

    assert summary(answers) == ["throttled"] * 100
    assert len(asker.asked) == 1


SERVER_FAILS = UpstreamFailed("devnet test endpoint: the server failed (HTTP 500)")
CUT_OFF = UpstreamUnavailable("devnet test endpoint: no answer: it was cut off or is not HTTP")


def failing_at(*numbers: int, error: UpstreamError = SERVER_FAILS) -> Answer:
    """Answer as a server does that fails at some hashes, whatever is asked beside them."""
    poison = {str(TxHash(number.to_bytes(32))) for number in numbers}
    sound = single_or_batch(truth)
    return lambda calls: error if poison & {call["params"][0] for call in calls} else sound(calls)


@pytest.mark.parametrize("error", [SERVER_FAILS, CUT_OFF])
@pytest.mark.parametrize("poison", [(1,), (500,), (999,), (1, 999), (3, 4, 640)])
@pytest.mark.parametrize("batch_size", [1, 30, 1000])
async def test_hash_that_the_server_fails_at_fails_alone(
    poison: tuple[int, ...], batch_size: int, error: UpstreamError
) -> None:
    asker = ScriptedAsker(failing_at(*poison, error=error))
    client = ExclusionClient(asker, "chain", batch_size)

    await client.ask(hashes(1000))  # the one hash that is tried first may be poisonous, too
    answers = await client.ask(hashes(1000))

    expected = ["null", "record"] * 500
    for number in poison:
        expected[number - 1] = "unavailable"
    assert summary(answers) == expected


async def test_hash_that_the_server_fails_at_is_asked_alone_from_then_on() -> None:
    asker = ScriptedAsker(failing_at(640))
    client = ExclusionClient(asker, "chain")
    answers = await client.ask(hashes(1000))
    searched = len(asker.asked)

    await client.ask(hashes(1000))
    asked = [len(calls) for calls in asker.asked[searched:]]
    asker.answers_with(single_or_batch(truth))
    healed = [summary(await client.ask(hashes(1000))) for _ in range(2)]

    assert summary(answers).count("unavailable") == 1
    assert sum(len(calls) for calls in asker.asked[:searched]) < 3100
    assert asked == [999, 1, 1]  # the last shows that the server still answers
    assert healed == [["null", "record"] * 500] * 2
    assert len(asker.asked[-1]) == 1000


class HangingAsker(ScriptedAsker):
    """Hangs at some hashes for three time-outs, and at what is asked beside them."""

    def __init__(self, *numbers: int) -> None:
        super().__init__(failing_at(*numbers, error=CUT_OFF))
        self.clock = FakeClock()

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        """Concurrent questions hang together."""
        until = self.clock.elapsed() + 3 * self.endpoint.timeout
        try:
            return await super().post_json(body, limit, charge)
        except UpstreamUnavailable:
            await asyncio.sleep(0)  # all of them have begun
            self.clock.wait(max(until - self.clock.elapsed(), timedelta()))
            raise


@pytest.mark.parametrize("batch_size", [10, 1000])
async def test_round_with_many_hashes_that_hang_ends_and_later_ones_find_all(
    batch_size: int,
) -> None:
    poison = {150 * number for number in range(1, 7)}
    asker = HangingAsker(*poison)
    client = ExclusionClient(asker, "chain", batch_size, elapsed=asker.clock.elapsed)
    unanswered, waits = [], []

    for _ in range(6):
        began = asker.clock.elapsed()
        said = summary(await client.ask(hashes(2000)))
        waits.append((asker.clock.elapsed() - began) / asker.endpoint.timeout)
        unanswered.append({at for at, each in enumerate(said, 1) if each == "unavailable"})
    asker.answers_with(single_or_batch(truth))
    healed = [summary(await client.ask(hashes(2000))) for _ in range(2)]

    assert unanswered[0] <= set(range(1, 1001))  # other batches are answered all the same
    assert unanswered[-1] == poison
    assert max(waits) <= 3 * len(poison) + 12 + 3
    assert healed == [["null", "record"] * 1000] * 2


@pytest.mark.parametrize("seed", range(30))
async def test_null_is_said_only_of_hashes_that_were_answered(seed: int) -> None:
    chance = Random(seed)  # noqa: S311 - a scripted server, no secret
    answered: set[int] = set()
    bad = set(chance.sample(range(1, 51), chance.choice((1, 2, 9))))
    errors: list[object] = [SERVER_FAILS, CUT_OFF, UpstreamRefused("413"), b"<html>"]

    def at_random(calls: list[Call]) -> object:
        asked = {int(call["params"][0], 16) for call in calls}
        if asked & bad or chance.random() < 0.1:
            return chance.choice(errors)
        answered.update(asked)
        return single_or_batch(truth)(calls)

    client = ExclusionClient(ScriptedAsker(at_random), "chain", chance.choice((1, 8, 1000)))
    for _ in range(5):
        answered.clear()
        said = summary(await client.ask(hashes(50)))
        assert {at for at, each in enumerate(said, 1) if each in {"null", "record"}} <= answered


@pytest.mark.parametrize("error", [SERVER_FAILS, CUT_OFF])
async def test_server_that_fails_at_everything_is_asked_once_more_about_one_hash(
    error: UpstreamError,
) -> None:
    asker = ScriptedAsker(lambda _: error)
    client = ExclusionClient(asker, "chain")

    failed = [summary(await client.ask(hashes(5000))) for _ in range(3)]

    assert failed == [["unavailable"] * 5000] * 3
    assert [len(calls) for calls in asker.asked] == [1000, 1] * 3
    assert len({asker.asked[place][0]["params"][0] for place in (1, 3, 5)}) == 3


async def test_server_that_begins_to_fail_is_not_asked_for_the_rest() -> None:
    asker = ScriptedAsker(lambda calls: truth(calls) if len(asker.asked) <= 2 else SERVER_FAILS)

    answers = await ExclusionClient(asker, "chain", 100).ask(hashes(5000))

    assert summary(answers).count("unavailable") > 4000
    assert len(asker.asked) <= 10
