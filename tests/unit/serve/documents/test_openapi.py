"""The OpenAPI document: both ways to each operation, and examples as the API would write them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from dashboard.domain.health.observation import FEE_OPERATIONS, Operation
from dashboard.domain.quantity import NetworkId
from dashboard.serve.documents.openapi import openapi
from dashboard.upstream.node_failover import NodeState
from dashboard.wire.gas import (
    decode_base_fee_history,
    decode_base_fee_percentile,
    decode_busy_threshold,
    decode_suggested_gas_fees,
    encode_base_fee_history,
    encode_base_fee_percentile,
    encode_busy_threshold,
    encode_suggested_gas_fees,
)

BY_BASIC = "/networks/{network_id}/"
BY_KEY = "/v3/{api_key}/networks/{network_id}/"


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(openapi([NetworkId(7)]))
    return found


def test_each_operation_is_there_by_key_and_by_basic(document: dict[str, Any]) -> None:
    for operation in FEE_OPERATIONS:
        by_basic = document["paths"][f"{BY_BASIC}{operation}"]["get"]
        by_key = document["paths"][f"{BY_KEY}{operation}"]["get"]

        assert (by_basic["security"], by_key["security"]) == ([{"basic": []}], [])
        assert by_key["parameters"][1:] == by_basic["parameters"]
        assert by_key["responses"] == by_basic["responses"]


def test_errors_say_their_status(document: dict[str, Any]) -> None:
    responses = document["paths"][f"{BY_BASIC}busyThreshold"]["get"]["responses"]

    examples = {
        status: response["content"]["application/json"]["example"]["statusCode"]
        for status, response in responses.items()
        if status != "200"
    }

    assert examples == {str(status): status for status in (400, 401, 403, 429, 503)}


@pytest.mark.parametrize(
    ("operation", "decode", "encode"),
    [
        (Operation.SUGGESTED_GAS_FEES, decode_suggested_gas_fees, encode_suggested_gas_fees),
        (Operation.BASE_FEE_HISTORY, decode_base_fee_history, encode_base_fee_history),
        (Operation.BASE_FEE_PERCENTILE, decode_base_fee_percentile, encode_base_fee_percentile),
        (Operation.BUSY_THRESHOLD, decode_busy_threshold, encode_busy_threshold),
    ],
)
def test_example_is_written_as_the_api_writes(
    document: dict[str, Any],
    operation: str,
    decode: Callable[[bytes], Any],
    encode: Callable[[Any], bytes],
) -> None:
    response = document["paths"][f"{BY_BASIC}{operation}"]["get"]["responses"]["200"]
    example = response["content"]["application/json"]["examples"]["current"]["value"]

    assert json.loads(encode(decode(json.dumps(example).encode()))) == example


def test_states_of_nodes_are_those_of_the_code(document: dict[str, Any]) -> None:
    node = document["components"]["schemas"]["Node"]

    assert node["properties"]["state"]["enum"] == list(NodeState)


def test_served_networks_are_examples(document: dict[str, Any]) -> None:
    network_id = document["components"]["parameters"]["network_id"]

    assert network_id["examples"] == {"7": {"value": 7}}
