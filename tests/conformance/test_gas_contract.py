"""The gas API as wallets and fee widgets know it: addresses, forms, errors, headers, browsers.

Lines of the contract: four operations and two credential forms; documented keys in their order;
fees as plain decimal gwei; one form for every error; decimal chain ids; verbs; what clients are
seen to send; caching for one block time; answers to browsers.
"""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from tests import plain_http
from tests.conformance.running_apis import KEY, NETWORK, OTHER_NETWORK, Served
from tests.integration.running_server import SECRET

OPERATIONS = ("suggestedGasFees", "baseFeeHistory", "baseFeePercentile", "busyThreshold")
GWEI = re.compile(r"(0|[1-9][0-9]*)(\.[0-9]{0,8}[1-9])?")
LEVEL = [
    "suggestedMaxPriorityFeePerGas",
    "suggestedMaxFeePerGas",
    "minWaitTimeEstimate",
    "maxWaitTimeEstimate",
]
WALLET = {
    "Origin": "https://wallet.example",
    "X-Client-Id": "extension",
    "Content-Type": "application/json",
    "Accept": "*/*",
}


def fees_in(value: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    """Return every text in an answer that is not one of the trends' words."""
    if isinstance(value, dict):
        return [fee for name, each in value.items() if "Trend" not in name for fee in fees_in(each)]
    if isinstance(value, list):
        return [fee for each in value for fee in fees_in(each)]
    return [value] if isinstance(value, str) else []


def test_suggestions_have_the_documented_keys_in_their_order(served: Served) -> None:
    fees = served.gas(f"{NETWORK}/suggestedGasFees").json()

    assert list(fees) == [
        *("low", "medium", "high", "estimatedBaseFee", "networkCongestion"),
        *("latestPriorityFeeRange", "historicalPriorityFeeRange", "historicalBaseFeeRange"),
        *("priorityFeeTrend", "baseFeeTrend"),
    ]
    assert [list(fees[level]) for level in ("low", "medium", "high")] == [LEVEL] * 3


def test_suggestions_have_the_documented_types(served: Served) -> None:
    fees = served.gas(f"{NETWORK}/suggestedGasFees").json()

    assert {type(fees["low"][name]) for name in LEVEL[:2]} == {str}
    assert {type(fees["low"][name]) for name in LEVEL[2:]} == {int}
    assert 0 <= fees["networkCongestion"] <= 1
    assert {fees["priorityFeeTrend"], fees["baseFeeTrend"]} <= {"up", "down", "level"}
    for name in ("latestPriorityFeeRange", "historicalPriorityFeeRange", "historicalBaseFeeRange"):
        assert [type(bound) for bound in fees[name]] == [str, str]


def test_other_operations_have_the_documented_forms(served: Served) -> None:
    history, percentile, threshold = (
        served.gas(f"{NETWORK}/{operation}").json() for operation in OPERATIONS[1:]
    )

    assert {type(fee) for fee in history} == {str}
    assert list(percentile) == ["baseFeePercentile"]
    assert list(threshold) == ["busyThreshold"]


def test_every_fee_is_plain_decimal_gwei(served: Served) -> None:
    fees = [fee for each in OPERATIONS for fee in fees_in(served.gas(f"{NETWORK}/{each}").json())]

    assert len(fees) > 3 * len(OPERATIONS)
    assert [fee for fee in fees if not GWEI.fullmatch(fee)] == []


@pytest.mark.parametrize("operation", OPERATIONS)
def test_answer_is_json_that_may_be_kept_for_a_block_time_by_either_verb(
    served: Served, operation: str
) -> None:
    response = served.gas(f"{NETWORK}/{operation}")
    head = served.client.head(f"/v3/{KEY}/networks/{NETWORK}/{operation}")

    same = ("content-type", "content-length", "cache-control")
    assert response.headers["content-type"] == "application/json"
    assert re.fullmatch(r"max-age=[1-9][0-9]*", response.headers["cache-control"])
    assert int(response.headers["content-length"]) == len(response.content)
    assert (head.status_code, head.content) == (200, b"")
    assert [head.headers[each] for each in same] == [response.headers[each] for each in same]


ERRORS = {
    "a chain that is not supported": (400, f"/v3/{KEY}/networks/6001/busyThreshold"),
    "a chain without a node": (400, f"/v3/{KEY}/networks/{OTHER_NETWORK}/busyThreshold"),
    "a chain id in other digits": (400, f"/v3/{KEY}/networks/%D9%A4/busyThreshold"),
    "no chain id": (400, f"/v3/{KEY}/networks//busyThreshold"),
    "an operation that does not exist": (404, f"/v3/{KEY}/networks/{NETWORK}/gasPrices"),
    "no operation": (404, f"/v3/{KEY}/networks/{NETWORK}"),
    "a wrong key": (401, f"/v3/wrong/networks/{NETWORK}/busyThreshold"),
    "no key": (401, f"/networks/{NETWORK}/busyThreshold"),
    "nothing at this address": (404, "/suggestedGasFees"),
}


@pytest.mark.parametrize(("status", "path"), ERRORS.values(), ids=ERRORS.keys())
def test_error_says_its_status_and_a_message_and_is_not_kept(
    served: Served, status: int, path: str
) -> None:
    response = served.client.get(path)

    assert response.status_code == status
    assert list(response.json()) == ["statusCode", "message"]
    assert response.json()["statusCode"] == status
    assert response.json()["message"]
    assert response.headers["content-type"] == "application/json"
    assert response.headers["cache-control"] == "no-store"


@pytest.mark.parametrize("operation", OPERATIONS)
def test_wallet_with_all_its_headers_and_both_credentials_is_answered(
    served: Served, operation: str
) -> None:
    plain = served.gas(f"{NETWORK}/{operation}")

    wallet = served.client.get(
        f"/v3/{KEY}/networks//{NETWORK}/{operation}", headers=WALLET, auth=(KEY, SECRET)
    )

    assert (wallet.status_code, wallet.content) == (200, plain.content)
    assert wallet.headers["access-control-allow-origin"] == WALLET["Origin"]


@pytest.mark.parametrize("path", [f"/v3/{KEY}/networks/1/busyThreshold", "/networks/1/x"])
def test_browser_asks_before_and_may_send_its_headers(served: Served, path: str) -> None:
    wanted = ["Authorization", "X-Client-Id", "Content-Type", "Accept"]

    preflight = served.client.options(
        path,
        headers={
            "Origin": WALLET["Origin"],
            "Access-Control-Request-Method": "GET",
            "Access-Control-Request-Headers": ", ".join(wanted),
        },
    )

    assert preflight.is_success
    assert preflight.headers["access-control-allow-origin"] == WALLET["Origin"]
    allowed = preflight.headers["access-control-allow-headers"].lower().split(", ")
    assert {each.lower() for each in wanted} <= set(allowed)


def test_query_and_fragment_of_an_address_do_not_matter(served: Served) -> None:
    asked = f"{served.address}/v3/{KEY}/networks/{NETWORK}/baseFeeHistory"

    bodies = {plain_http.get(f"http://{asked}{tail}").content for tail in ("", "?t=1", "?", "#x")}

    assert len(bodies) == 1
    assert json.loads(bodies.pop())
