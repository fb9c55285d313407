"""The exclusion methods: where a report belongs, and what of a group is acknowledged."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import anyio
import pytest

from dashboard.domain.secret import Secret
from dashboard.serve.dependencies import Limits, ServedNetwork, ServeServices
from dashboard.serve.keys.key_ring import ApiKey
from dashboard.serve.rpc.dispatch import Outcome
from dashboard.serve.rpc.exclusion_status import Lookups
from dashboard.serve.rpc.methods import exclusion_methods
from dashboard.serve.rpc.reports import Reports
from dashboard.wire.jsonrpc_errors import RpcFault
from tests.integration.running_server import (
    NETWORK,
    OTHER_NETWORK,
    a_report_of,
    a_signed_transaction,
    a_store,
    services_of,
)

pytestmark = pytest.mark.anyio

EVERYBODY = ApiKey.of("everybody", Secret("key"))
ONLY_OTHER = ApiKey.of("narrow", Secret("key"), network_ids=[OTHER_NETWORK])


@pytest.fixture
def services(tmp_path: Path) -> Iterator[ServeServices]:
    """Serve two networks, of which the first takes reports that name none."""
    home = ServedNetwork(NETWORK, "home", is_default_for_old_reports=True)
    with a_store(tmp_path) as store:
        yield services_of(store, (home, ServedNetwork(OTHER_NETWORK, "other")))


def results(outcomes: Sequence[Outcome]) -> list[Any]:
    """Return results as JSON values, and faults as their codes."""
    return [each.code if isinstance(each, RpcFault) else json.loads(each) for each in outcomes]


async def test_old_style_report_belongs_to_the_default_network(services: ServeServices) -> None:
    lookups = Lookups(services)
    old_style = a_signed_transaction(1, chain_id=None)

    (saved,) = results(await Reports(services).save([a_report_of(old_style)], EVERYBODY))

    assert saved["status"] == "SAVED"
    assert results(await lookups.statuses([[old_style.tx_hash]], ONLY_OTHER)) == [None]
    (record,) = results(await lookups.statuses([[old_style.tx_hash]], EVERYBODY))
    assert record["txHash"] == old_style.tx_hash


async def test_old_style_report_is_refused_to_a_key_without_the_default_network(
    services: ServeServices,
) -> None:
    report = a_report_of(a_signed_transaction(1, chain_id=None))

    assert results(await Reports(services).save([report], ONLY_OTHER)) == [-32602]


async def test_question_of_a_key_without_networks_is_answered_with_null(
    services: ServeServices,
) -> None:
    nobody = ApiKey.of("nobody", Secret("key"), network_ids=[])

    assert results(await Lookups(services).statuses([[f"0x{'ab' * 32}"]], nobody)) == [None]


async def test_bad_report_in_a_group_fails_alone(services: ServeServices) -> None:
    good = a_report_of(a_signed_transaction(2))

    outcomes = results(await Reports(services).save([{}, good, good], EVERYBODY))

    assert outcomes[0] == -32602
    statuses = [outcome["status"] for outcome in outcomes[1:]]
    assert statuses == ["SAVED", "DUPLICATE_ALREADY_SAVED_BEFORE"]


def test_methods_answer_under_every_prefix(services: ServeServices) -> None:
    branded = replace(services, method_prefixes=("chain", "acme"))

    names = exclusion_methods(branded, Lookups(branded)).keys()

    assert names == {
        "chain_getTransactionExclusionStatusV1",
        "chain_saveRejectedTransactionV1",
        "acme_getTransactionExclusionStatusV1",
        "acme_saveRejectedTransactionV1",
    }


async def test_report_beyond_the_queue_is_refused_with_the_remedy(services: ServeServices) -> None:
    reports = Reports(replace(services, limits=Limits(waiting_reports=1)))
    told: list[Outcome] = []

    async def save(number: int) -> None:
        told.extend(await reports.save([a_report_of(a_signed_transaction(number))], EVERYBODY))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(save, number)

    refused = [each for each in told if isinstance(each, RpcFault)]
    assert refused
    assert {each.code for each in refused} == {-32000}
    assert "try again in a second" in str(refused[0].data)
    assert services.counters.reports["saved"] + services.counters.reports["refused"] == len(told)


async def test_key_without_the_right_to_report_stores_nothing(services: ServeServices) -> None:
    reader = replace(EVERYBODY, may_report=False)
    transaction = a_signed_transaction(1)

    assert results(await Reports(services).save([a_report_of(transaction)], reader)) == [-32002]
    assert results(await Lookups(services).statuses([[transaction.tx_hash]], EVERYBODY)) == [None]
