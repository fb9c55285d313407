"""Params of queries are read strictly, and errors name the remedy."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from msgspec import UNSET

from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.reasons import ReasonKind
from dashboard.domain.rejections.search import HashRange, RejectionFilter
from dashboard.errors import WireError
from dashboard.store.rejections.counts import Grouping
from dashboard.wire.rejection_query import (
    CountQuery,
    ListQuery,
    Order,
    SubscribeQuery,
    decode_count,
    decode_list,
    decode_subscribe,
    decode_unsubscribe,
    decode_versions,
)

HASH = f"0x{'ab' * 32}"
SENDER = f"0x{'cd' * 20}"
AT = datetime(2026, 11, 20, 12, tzinfo=UTC)


@pytest.mark.parametrize("params", [UNSET, [], {}, [None], {"filter": None, "limit": None}, [{}]])
def test_list_without_arguments_asks_for_the_newest_of_all(params: object) -> None:
    assert decode_list(params) == ListQuery(RejectionFilter(), 100, Order.NEWEST_FIRST, None)


@pytest.mark.parametrize(
    "params",
    [
        [{"module": "HUB"}, 7, "oldest", "c"],
        {"filter": {"module": "HUB"}, "limit": 7, "order": "oldest", "cursor": "c"},
    ],
)
def test_arguments_may_stand_by_position_or_by_name(params: object) -> None:
    wanted = RejectionFilter(module="HUB")

    assert decode_list(params) == ListQuery(wanted, 7, Order.OLDEST_FIRST, "c")


@pytest.mark.parametrize(
    ("member", "field"),
    [
        ({"networkId": "0xe708"}, {"network_id": NetworkId(59144)}),
        ({"txHash": HASH}, {"tx_hashes": HashRange(TxHash.parse(HASH), TxHash.parse(HASH))}),
        ({"from": SENDER.upper()}, {"sender": Address.parse(SENDER)}),
        ({"txRejectionStage": "P2P"}, {"tx_rejection_stage": RejectionStage.P2P}),
        ({"module": ""}, {"module": ""}),
        ({"reasonKind": "unparsed"}, {"reason_kind": ReasonKind.UNPARSED}),
        ({"text": "50% off"}, {"text": "50% off"}),
        ({"firstSeenFrom": "2026-11-20T12:00Z"}, {"since": AT}),
        ({"firstSeenUntil": "2026-11-20T13:00+01:00"}, {"until": AT}),
        ({"timestampFrom": "2026-11-20T12:00:00Z"}, {"claimed_since": AT}),
        ({"timestampUntil": "2026-11-20T12:00:00.000Z"}, {"claimed_until": AT}),
    ],
)
def test_member_of_a_filter_is_read(member: dict[str, str], field: dict[str, Any]) -> None:
    assert decode_list([member]).wanted == RejectionFilter(**field)


def test_first_digits_of_a_hash_stand_for_all_hashes_that_begin_so() -> None:
    tx_hashes = decode_list([{"txHash": "0xaBc"}]).wanted.tx_hashes

    assert tx_hashes == HashRange(TxHash.parse(f"abc{'0' * 61}"), TxHash.parse(f"abc{'f' * 61}"))


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (7, "params should be either an object or a list"),
        ([1, 2, 3, 4, 5], "params should hold at most 4 items: filter, limit, order, cursor"),
        ({"page": 1}, "Unknown key 'page' in params, which knows filter, limit, order, cursor"),
        ([[]], "filter should be an object"),
        ([{"sender": SENDER}], "Unknown key 'sender' in filter"),
        ([{"networkId": 59144}], "filter.networkId: should be a hexadecimal quantity in text"),
        ([{"networkId": "59144"}], "filter.networkId: '59144' is not a hex quantity"),
        ([{"networkId": f"0x{2**63:x}"}], "is larger than"),
        ([{"txHash": "abc"}], "filter.txHash: 'abc' is not 0x and 1 to 64 hexadecimal digits"),
        ([{"txHash": f"{HASH}0"}], "filter.txHash"),
        ([{"from": 7}], "filter.from: should be a text"),
        ([{"from": "0x7"}], "filter.from: '0x7' is not a valid address"),
        ([{"txRejectionStage": "rpc"}], "'rpc' is none of SEQUENCER, RPC, P2P, unknown"),
        ([{"txRejectionStage": ["RPC"]}], "is none of SEQUENCER, RPC, P2P, unknown"),
        (
            [{"module": "A-B"}],
            "filter.module: should be at most 64 letters, digits and underscores",
        ),
        ([{"text": "x" * 1025}], "filter.text: should not be more than 1024 characters"),
        ([{"firstSeenFrom": "yesterday"}], "filter.firstSeenFrom: 'yesterday' is not an ISO-8601"),
        ([{}, 0], "limit: should be a whole number of 1 to 1000"),
        ([{}, 1001], "limit: should be a whole number of 1 to 1000"),
        ([{}, True], "limit: should be a whole number of 1 to 1000"),
        ([{}, "5"], "limit: should be a whole number of 1 to 1000"),
        ([{}, 5, "up"], "order: 'up' is none of newest, oldest"),
    ],
)
def test_list_that_cannot_be_read_is_refused_with_its_reason(params: object, message: str) -> None:
    with pytest.raises(WireError) as raised:
        decode_list(params)

    assert message in str(raised.value)


def test_arguments_at_their_limits_are_read() -> None:
    network, module, text = 2**63 - 1, "M" * 64, "x" * 1024

    question = decode_list([{"networkId": f"0x{network:x}", "module": module, "text": text}, 1000])

    assert question.limit == 1000
    assert question.wanted == RejectionFilter(NetworkId(network), module=module, text=text)
    assert decode_list([{}, 1]).limit == 1


def test_versions_are_asked_by_one_whole_hash() -> None:
    assert decode_versions([HASH]) == decode_versions({"txHash": HASH}) == TxHash.parse(HASH)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        (UNSET, "Missing [txHash] from the given request params"),
        ([None], "Missing [txHash] from the given request params"),
        (["0xab"], "txHash: '0xab' is not a valid transaction hash"),
        ([7], "txHash: should be a text"),
    ],
)
def test_versions_of_no_hash_are_refused(params: object, message: str) -> None:
    with pytest.raises(WireError) as raised:
        decode_versions(params)

    assert str(raised.value).startswith(message)


def test_counts_are_asked_by_a_word() -> None:
    question = decode_count(["hour", {"module": "HUB"}, 24], Grouping)

    assert question == CountQuery("hour", RejectionFilter(module="HUB"), 24)


def test_count_by_nothing_is_refused() -> None:
    with pytest.raises(WireError, match=r"Missing \[by\]"):
        decode_count({}, Grouping)


def test_subscription_names_its_topic() -> None:
    question = decode_subscribe(["rejections", {"module": "HUB"}, "cursor"])

    assert question == SubscribeQuery(RejectionFilter(module="HUB"), "cursor")
    with pytest.raises(WireError, match="topic: 'newHeads' is not rejections"):
        decode_subscribe(["newHeads"])


def test_subscription_is_ended_by_its_id() -> None:
    assert decode_unsubscribe(["0x7"]) == "0x7"
    with pytest.raises(WireError, match="subscription: should be a text"):
        decode_unsubscribe([7])
