"""The exclusion client: every hash gets its answer, and never a null that nobody gave."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from eth_account import Account
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.exclusion import (
    ModuleOverflow,
    RejectionReport,
    RejectionStage,
    SaveStatus,
)
from dashboard.domain.observation import ExclusionAnswer, FailureKind
from dashboard.domain.quantity import TxHash
from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.wire.transaction import decode_transaction
from tests.unit.upstream.askers import Call, ScriptedAsker, fault, result

pytestmark = pytest.mark.anyio

Answer = Callable[[list[Call]], Any]
KINDS = FailureKind


def hashes(count: int) -> list[TxHash]:
    return [TxHash(number.to_bytes(32)) for number in range(1, count + 1)]


def a_record(tx_hash: object, **changes: object) -> dict[str, object]:
    return {
        "txHash": str(tx_hash),
        "from": f"0x{'ab' * 20}",
        "nonce": "0x7",
        "txRejectionStage": "RPC",
        "reasonMessage": "Module EXT does not exist in the limits file.",
        "timestamp": "2026-11-18T07:41:12.304Z",
        **changes,
    }


def a_report() -> RejectionReport:
    signed = Account.sign_transaction(
        {"to": bytes(20), "value": 0, "gas": 21000, "gasPrice": 1, "nonce": 7, "chainId": 424242},
        "0x" + "11" * 32,
    )
    return RejectionReport(
        transaction=decode_transaction(bytes(signed.raw_transaction)),
        tx_rejection_stage=RejectionStage.SEQUENCER,
        reason_message="TX_MODULE_LINE_COUNT_OVERFLOW(MMU)",
        timestamp=datetime(2026, 11, 20, tzinfo=UTC),
        block_number=9,
        overflows=(ModuleOverflow("MMU", 3, 2),),
    )


def truth(calls: list[Call]) -> list[dict[str, Any]]:
    """Answer as a sound upstream does that holds a record for every even hash."""
    return [result(call, true_result(call["params"][0])) for call in calls]


def true_result(tx_hash: str) -> dict[str, object] | None:
    return a_record(tx_hash) if int(tx_hash, 16) % 2 == 0 else None


def single_or_batch(answer: Answer) -> Answer:
    """Answer one call with an object, as it was asked."""
    return lambda calls: answer(calls) if len(calls) > 1 else answer(calls)[0]


async def ask(answer: Answer, count: int, batch_size: int = 1000) -> list[ExclusionAnswer]:
    return await ExclusionClient(ScriptedAsker(answer), "chain", batch_size).ask(hashes(count))


def summary(answers: list[ExclusionAnswer]) -> list[str]:
    """Say of each answer what kind it is."""
    return [
        each.failure.kind.value if each.failure else "record" if each.record else "null"
        for each in answers
    ]


async def test_question_for_no_hash_is_not_asked() -> None:
    asker = ScriptedAsker(truth)

    assert await ExclusionClient(asker, "chain").ask([]) == []
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


@pytest.mark.parametrize("case", BATCH_TROUBLE)
async def test_batch_with_trouble_fails_the_hashes_concerned(case: str) -> None:
    answer, expected = BATCH_TROUBLE[case]

    assert summary(await ask(answer, 4)) == expected


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
    assert len(asker.asked) <= 2  # a refused batch may have been too large: one hash is tried


async def test_unreadable_batch_leaves_the_others_alone() -> None:
    asker = ScriptedAsker(lambda calls: b"<html>" if calls[0]["id"] == 1 else truth(calls))

    answers = await ExclusionClient(asker, "chain", 2).ask(hashes(4))

    assert summary(answers) == ["unreadable", "unreadable", "null", "record"]


def up_to(limit: int, refusal: object) -> Answer:
    return single_or_batch(lambda calls: truth(calls) if len(calls) <= limit else refusal)


REFUSALS: list[object] = [
    UpstreamRefused("400"),
    fault(-32600),
    fault(-32000),
    result({"id": 1}, None),
]


@pytest.mark.parametrize("refusal", REFUSALS)
async def test_refused_batch_size_is_lowered_and_remembered(refusal: object) -> None:
    asker = ScriptedAsker(up_to(100, refusal))
    client = ExclusionClient(asker, "chain")

    first = await client.ask(hashes(1000))
    again = await client.ask(hashes(200))

    assert summary(first) == ["null", "record"] * 500
    assert summary(again) == ["null", "record"] * 100
    assert [len(calls) for calls in asker.asked] == [1000, *[100] * 12]


@pytest.mark.parametrize("refusal", [UpstreamRefused("400"), fault(-32600)])
async def test_hashes_are_asked_alone_where_no_batch_is_served(refusal: object) -> None:
    asker = ScriptedAsker(up_to(1, refusal))

    answers = await ExclusionClient(asker, "chain", 100).ask(hashes(20))

    assert summary(answers) == ["null", "record"] * 10
    assert [len(calls) for calls in asker.asked] == [20, 2, *[1] * 20]


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

    async def post_json(self, body: bytes, limit: int) -> bytes:
        """Let the others have their turn before the answer."""
        self._now += 1
        self.most_at_once = max(self.most_at_once, self._now)
        turn = asyncio.get_running_loop().create_future()
        asyncio.get_running_loop().call_soon(turn.set_result, None)
        await turn
        self._now -= 1
        return await super().post_json(body, limit)


async def test_larger_batches_are_tried_again_after_a_while() -> None:
    asker = ScriptedAsker(
        lambda calls: UpstreamRefused("413") if len(asker.asked) == 1 else truth(calls)
    )

    await ExclusionClient(asker, "chain").ask(hashes(7000))

    assert [len(calls) for calls in asker.asked] == [1000, *[100] * 50, 1000, 1000]


async def test_throttled_items_stop_the_rest() -> None:
    asker = ScriptedAsker(lambda calls: [fault(-32005, call) for call in calls])

    answers = await ExclusionClient(asker, "chain", 2).ask(hashes(100))

    assert summary(answers) == ["throttled"] * 100
    assert len(asker.asked) == 1


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        (-32005, "throttled"),
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


@given(st.permutations(range(6)))
def test_replies_mixed_up_in_any_way_never_deny_a_record(results: list[int]) -> None:
    def answer(calls: list[Call]) -> list[dict[str, Any]]:
        replies = truth(calls)
        return [
            reply | {"result": replies[other]["result"]}
            for reply, other in zip(replies, results, strict=True)
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


@pytest.mark.parametrize("status", list(SaveStatus))
async def test_report_returns_what_became_of_it(status: SaveStatus) -> None:
    report = a_report()
    asker = ScriptedAsker(
        lambda calls: result(
            calls[0], {"status": status, "txHash": str(report.transaction.tx_hash)}
        )
    )

    assert await ExclusionClient(asker, "linea").report(report) is status
    assert asker.asked[0][0]["method"] == "linea_saveRejectedTransactionV1"
    assert asker.asked[0][0]["params"][0]["transactionRLP"] == f"0x{report.transaction.raw.hex()}"


REPORT_ANSWERS: list[tuple[object, type[UpstreamError]]] = [
    (b"<html>", UpstreamUnreadable),
    (result({"id": 1}, None), UpstreamUnreadable),
    (result({"id": 1}, {"status": "LOST", "txHash": f"0x{'11' * 32}"}), UpstreamUnreadable),
    (result({"id": 1}, {"status": "SAVED", "txHash": f"0x{'11' * 32}"}), UpstreamUnreadable),
    (fault(-32602), UpstreamUnreadable),
    (fault(-32000), UpstreamUnavailable),
    (fault(-32601), UpstreamRefused),
    (fault(-32005), UpstreamThrottled),
]


@pytest.mark.parametrize(("answer", "error"), REPORT_ANSWERS)
async def test_report_that_is_not_confirmed_raises(
    answer: object, error: type[UpstreamError]
) -> None:
    client = ExclusionClient(ScriptedAsker(lambda _: answer), "chain")

    with pytest.raises(error, match="devnet test endpoint") as raised:
        await client.report(a_report())

    assert "c4nary" not in str(raised.value)


async def test_report_confirmed_under_another_id_raises() -> None:
    report = replace(a_report(), block_number=None)
    saved = {"status": "SAVED", "txHash": str(report.transaction.tx_hash)}
    client = ExclusionClient(ScriptedAsker(lambda _: result({"id": 99}, saved)), "chain")

    with pytest.raises(UpstreamUnreadable, match="another report"):
        await client.report(report)
