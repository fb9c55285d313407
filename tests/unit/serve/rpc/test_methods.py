"""The exclusion methods: the network of a report, and the outcomes of a group."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import anyio
import pytest
from msgspec.structs import replace

from dashboard.domain.people.access import ApiKey
from dashboard.domain.secret import Secret
from dashboard.serve.dependencies import ServeDependencies, ServedNetwork, ServeLimits
from dashboard.serve.rpc.dispatch import CallResult
from dashboard.serve.rpc.exclusion_status import StatusReader
from dashboard.serve.rpc.reports import ReportSaver
from dashboard.wire.jsonrpc import RpcError
from tests.integration.running_server import (
    NETWORK,
    OTHER_NETWORK,
    a_report_of,
    a_signed_transaction,
    a_store,
    services_of,
)

EVERYBODY = ApiKey.of("everybody", Secret("key"))
ONLY_OTHER = ApiKey.of("narrow", Secret("key"), network_ids=[OTHER_NETWORK])


@pytest.fixture
def dependencies(tmp_path: Path) -> Iterator[ServeDependencies]:
    """Serve two networks, of which the first takes reports that name none."""
    home = ServedNetwork(NETWORK, "home", is_default_for_old_reports=True)
    with a_store(tmp_path) as store:
        yield services_of(store, (home, ServedNetwork(OTHER_NETWORK, "other")))


def results(outcomes: Sequence[CallResult]) -> list[Any]:
    """Return results as JSON values, and faults as their codes."""
    return [each.code if isinstance(each, RpcError) else json.loads(each) for each in outcomes]


async def test_old_style_report_belongs_to_the_default_network(
    dependencies: ServeDependencies,
) -> None:
    lookups = StatusReader(dependencies)
    old_style = a_signed_transaction(1, chain_id=None)

    (saved,) = results(await ReportSaver(dependencies).save([a_report_of(old_style)], EVERYBODY))

    assert saved["status"] == "SAVED"
    assert results(await lookups.statuses([[old_style.tx_hash]], ONLY_OTHER)) == [None]
    (record,) = results(await lookups.statuses([[old_style.tx_hash]], EVERYBODY))
    assert record["txHash"] == old_style.tx_hash


async def test_old_style_report_is_refused_to_a_key_without_the_default_network(
    dependencies: ServeDependencies,
) -> None:
    report = a_report_of(a_signed_transaction(1, chain_id=None))

    assert results(await ReportSaver(dependencies).save([report], ONLY_OTHER)) == [-32602]


async def test_question_of_a_key_without_networks_is_answered_with_null(
    dependencies: ServeDependencies,
) -> None:
    nobody = ApiKey.of("nobody", Secret("key"), network_ids=[])

    assert results(await StatusReader(dependencies).statuses([[f"0x{'ab' * 32}"]], nobody)) == [
        None
    ]


async def test_bad_report_in_a_group_fails_alone(dependencies: ServeDependencies) -> None:
    good = a_report_of(a_signed_transaction(2))

    outcomes = results(await ReportSaver(dependencies).save([{}, good, good], EVERYBODY))

    assert outcomes[0] == -32602
    statuses = [outcome["status"] for outcome in outcomes[1:]]
    assert statuses == ["SAVED", "DUPLICATE_ALREADY_SAVED_BEFORE"]


async def test_report_beyond_the_queue_is_refused_with_the_remedy(
    dependencies: ServeDependencies,
) -> None:
    reports = ReportSaver(dataclasses.replace(dependencies, limits=ServeLimits(waiting_reports=1)))
    told: list[CallResult] = []

    async def save(number: int) -> None:
        told.extend(await reports.save([a_report_of(a_signed_transaction(number))], EVERYBODY))

    async with anyio.create_task_group() as tasks:
        for number in range(20):
            tasks.start_soon(save, number)

    refused = [each for each in told if isinstance(each, RpcError)]
    assert refused
    assert {each.code for each in refused} == {-32000}
    assert "try again in a second" in str(refused[0].data)
    assert dependencies.counters.reports["saved"] + dependencies.counters.reports["refused"] == len(
        told
    )


async def test_key_without_the_right_to_report_stores_nothing(
    dependencies: ServeDependencies,
) -> None:
    reader = replace(EVERYBODY, may_report=False)
    transaction = a_signed_transaction(1)

    assert results(await ReportSaver(dependencies).save([a_report_of(transaction)], reader)) == [
        -32002
    ]
    assert results(
        await StatusReader(dependencies).statuses([[transaction.tx_hash]], EVERYBODY)
    ) == [None]
