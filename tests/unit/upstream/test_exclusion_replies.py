"""Replies that are missing, mixed up or broken: a failure for the hashes concerned."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.domain.health.observation import ExclusionAnswers
from dashboard.upstream.batches import Batch
from dashboard.upstream.endpoint import Charge
from dashboard.upstream.exclusion import ExclusionClient
from tests.unit.upstream.scripted_asker import ENDPOINT, Call, ScriptedAsker, fault, result
from tests.unit.upstream.scripted_exclusion import (
    Answer,
    a_record,
    ask,
    hashes,
    summary,
    true_result,
    truth,
)


def without(place: int) -> Answer:
    return lambda calls: [each for at, each in enumerate(truth(calls)) if at != place]


def changed(place: int, change: Callable[[dict[str, Any]], Any]) -> Answer:
    def answer(calls: list[Call]) -> list[Any]:
        replies: list[Any] = truth(calls)
        replies[place] = change(replies[place])
        return replies

    return answer


def swapped(calls: list[Call]) -> list[dict[str, Any]]:
    """Give the first two hashes each other's answers."""
    first, second, *rest = truth(calls)
    return [first | {"result": second["result"]}, second | {"result": first["result"]}, *rest]


def shifted(calls: list[Call]) -> list[dict[str, Any]]:
    """Give every reply the id of the next."""
    return [each | {"id": each["id"] + 1} for each in truth(calls)]


def test_shape_is_told_by_each_answer_and_may_differ_within_a_batch() -> None:
    def answer(calls: list[Call]) -> list[Any]:
        own, excluded, pending, bare, wrong, other = calls
        named = {each["id"]: {"txHash": each["params"][0]} for each in calls}
        said: list[tuple[Call, Any]] = [
            (own, a_record(own["params"][0])),
            (excluded, named[excluded["id"]] | {"status": "EXCLUDED", "blockNumber": "0x0"}),
            (pending, named[pending["id"]] | {"status": "PENDING"}),
            (bare, {"txHash": None, "status": "\u202e"}),
            (wrong, {"status": 5}),
            (other, None),
        ]
        return [result(*each) for each in said]

    answers = first(answer, 6)
    mixed_up = first(lambda calls: [*answer(calls), answer(calls)[5]], 6)

    words = ["", "", "PENDING", "\u202e", "", ""]
    assert summary(answers) == ["record", "record", "null", "null", BAD, "null"]
    assert [each.claim.status if each.claim else "" for each in answers] == words
    assert summary(mixed_up) == ["record", "record", "null", BAD, BAD, BAD]


BAD = "unreadable"
BATCH_TROUBLE: dict[str, tuple[Answer, list[str]]] = {
    "missing": (without(0), [BAD, "record", "null", "record"]),
    "missing record": (without(1), ["null", BAD, "null", "record"]),
    "swapped": (swapped, [BAD, BAD, BAD, "record"]),
    "shifted": (shifted, [BAD, BAD, BAD, BAD]),
    "wrong id": (
        changed(0, lambda reply: reply | {"id": 10**6}),
        [BAD, "record", BAD, "record"],
    ),
    "id as text": (
        changed(0, lambda reply: reply | {"id": str(reply["id"])}),
        [BAD, "record", BAD, "record"],
    ),
    "id absent": (
        changed(0, lambda reply: {"jsonrpc": "2.0", "result": reply["result"]}),
        [BAD, "record", BAD, "record"],
    ),
    "duplicate": (
        lambda calls: [*truth(calls), truth(calls)[0]],
        [BAD, "record", BAD, "record"],
    ),
    "null and record under one id": (
        lambda calls: [*truth(calls), result(calls[1], None)],
        [BAD, BAD, BAD, "record"],
    ),
    "extra": (
        lambda calls: [*truth(calls), result({"id": 10**6}, None)],
        [BAD, "record", BAD, "record"],
    ),
    "null with an error": (
        changed(0, lambda reply: reply | {"error": {"code": -32000, "message": "c4nary-text"}}),
        ["unavailable", "record", "null", "record"],
    ),
    "neither result nor error": (
        changed(0, lambda reply: {"id": reply["id"]}),
        [BAD, "record", "null", "record"],
    ),
    "error in place": (
        changed(1, lambda reply: fault(-32602, reply)),
        ["null", BAD, "null", "record"],
    ),
    "error without id": (
        changed(0, lambda _: fault(-32602)),
        [BAD, "record", "null", "record"],
    ),
    "item of another type": (changed(0, lambda _: 7), [BAD, "record", "null", "record"]),
    "result of another type": (
        changed(0, lambda reply: reply | {"result": False}),
        [BAD, "record", "null", "record"],
    ),
    "empty object": (
        changed(0, lambda reply: reply | {"result": {}}),
        [BAD, "record", "null", "record"],
    ),
    "record of another hash": (
        changed(0, lambda reply: reply | {"result": a_record(f"0x{'77' * 32}")}),
        [BAD, "record", BAD, "record"],
    ),
    "record with a wrong type": (
        changed(1, lambda reply: reply | {"result": a_record(hashes(2)[1], nonce=7)}),
        ["null", BAD, "null", "record"],
    ),
    "record of an unknown stage": (
        changed(1, lambda reply: reply | {"result": a_record(hashes(2)[1], txRejectionStage="x")}),
        ["null", BAD, "null", "record"],
    ),
}


def first(answer: Answer, count: int) -> ExclusionAnswers:
    """Return what one batch, answered so, comes to."""
    asked = hashes(count)
    batch = Batch(ENDPOINT, 1000, asked)
    body = json.dumps(answer(json.loads(batch.question("chain_get")))).encode()
    return ExclusionAnswers(asked, batch.read(body))


@pytest.mark.parametrize("case", BATCH_TROUBLE)
def test_batch_with_trouble_fails_the_hashes_concerned(case: str) -> None:
    answer, expected = BATCH_TROUBLE[case]

    assert summary(first(answer, 4)) == expected


@pytest.mark.parametrize("case", BATCH_TROUBLE)
async def test_hashes_with_trouble_are_asked_once_more_in_the_same_round(case: str) -> None:
    faulty, before = BATCH_TROUBLE[case]
    asker = ScriptedAsker(lambda calls: faulty(calls) if len(asker.asked) == 1 else truth(calls))

    answers = await ExclusionClient(asker, "chain").ask(hashes(4))

    assert summary(answers) == ["null", "record"] * 2
    wrong = [place for place, each in enumerate(before) if each not in {"null", "record"}]
    asked = [call["params"][0] for call in asker.asked[1]]
    assert asked == [str(hashes(4)[place]) for place in wrong]
    assert len(asker.asked) == 2


WHOLE_TROUBLE: dict[str, bytes] = {
    "html": b"<!doctype html><html><body>Bad gateway</body></html>",
    "nothing": b"",
    "truncated": b'[{"jsonrpc":"2.0","id":1,"result":null},{"jsonrpc":"2.0","id":2,"resu',
    "null": b"null",
    "number": b"7",
    "text": b'"null"',
    "no utf-8": b"[\xff\xfe]",
    "deep": b"[" * 100_000,
    "array of nulls": b"[null,null,null]",
    "empty array": b"[]",
    "single null result": b'{"jsonrpc":"2.0","id":1,"result":null}',
}


@pytest.mark.parametrize("case", WHOLE_TROUBLE)
async def test_answer_that_is_none_fails_every_hash(case: str) -> None:
    asker = ScriptedAsker(lambda calls: WHOLE_TROUBLE[case] if len(calls) > 1 else b"{}")

    answers = await ExclusionClient(asker, "chain").ask(hashes(3))

    assert set(summary(answers)) == {"unreadable"}


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-32005, "throttled"),
        (429, "throttled"),
        (-32002, "refused"),
        (-32601, "refused"),
        (-40100, "refused"),
        (-32000, "unavailable"),
        (-32603, "unavailable"),
        (-32602, "unreadable"),
        (-32700, "unreadable"),
    ],
)
@pytest.mark.parametrize("names_the_call", [True, False])
async def test_error_object_becomes_a_failure_of_its_kind(
    code: int, kind: str, *, names_the_call: bool
) -> None:
    def answer(calls: list[Call]) -> object:
        return fault(code, calls[0] if names_the_call else None)

    assert summary(await ask(answer, 1)) == [kind]


@settings(max_examples=50)
@given(
    st.lists(
        st.one_of(
            st.none(),
            st.integers(0, 6),
            st.fixed_dictionaries(
                {},
                optional={
                    "id": st.one_of(st.integers(0, 6), st.none(), st.just("1"), st.floats()),
                    "result": st.one_of(
                        st.integers(1, 5).map(lambda n: a_record(hashes(5)[n - 1])), st.text()
                    ),
                    "error": st.fixed_dictionaries({"code": st.integers(-40000, 0)}),
                },
            ),
        ),
        max_size=7,
    )
)
def test_replies_without_a_null_never_make_one(replies: list[object]) -> None:
    answers = asyncio.run(ask(lambda _: replies, 5))

    assert "null" not in summary(answers)
    assert all(each.record is None or each.record.tx_hash == each.tx_hash for each in answers)


@settings(max_examples=40)
@given(st.permutations(range(6)))
def test_replies_mixed_up_in_any_way_never_deny_a_record(results: list[int]) -> None:
    def answer(calls: list[Call]) -> list[dict[str, Any]]:
        replies = truth(calls)
        order = sorted(range(len(replies)), key=results.__getitem__)
        return [
            reply | {"result": replies[other]["result"]}
            for reply, other in zip(replies, order, strict=True)
        ]

    answers = asyncio.run(ask(answer, 6))

    denied = [each.tx_hash for each in answers if summary([each]) == ["null"]]
    assert not any(true_result(str(tx_hash)) for tx_hash in denied)


async def test_failure_says_no_upstream_text_and_no_address() -> None:
    answers = await ask(lambda calls: [fault(-32000, call) for call in calls], 3)
    odd = await ask(changed(0, lambda r: r | {"result": a_record("c4nary-of-the-path")}), 2)

    for each in [*answers, *odd]:
        assert each.failure is None or "c4nary" not in each.failure.message
        assert each.failure is None or "devnet test endpoint" in each.failure.message


class StuckAsker(ScriptedAsker):
    """Takes one hash at a time, and hangs at the third."""

    def __init__(self) -> None:
        def answer(calls: list[Call]) -> object:
            return truth(calls)[0] if len(calls) == 1 else fault(-32600)

        super().__init__(answer)

    async def post_json(self, body: bytes, limit: int, charge: Charge | None = None) -> bytes:
        """Answer, unless the question names that hash alone."""
        if str(hashes(3)[2]).encode() in body and not body.startswith(b"["):
            await asyncio.Event().wait()
        return await super().post_json(body, limit, charge)


async def test_answers_that_came_in_time_count_and_what_hangs_is_asked_last() -> None:
    client = ExclusionClient(StuckAsker(), "chain", patience=timedelta(milliseconds=50))

    first, second = [summary(await client.ask(hashes(8))) for _ in range(2)]

    late = "unavailable"
    assert first == ["null", "record", late, "record", "null", late, late, late]
    assert second == ["null", "record", late, "record", "null", "record", "null", "record"]
