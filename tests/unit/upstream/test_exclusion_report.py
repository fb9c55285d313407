"""Handing in a report: confirmed, or an error that says why not."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from dashboard.domain.rejections.exclusion import SaveStatus
from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from dashboard.upstream.exclusion import ExclusionClient
from tests.unit.upstream.scripted_asker import ScriptedAsker, fault, result
from tests.unit.upstream.scripted_exclusion import (
    a_report,
)


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
