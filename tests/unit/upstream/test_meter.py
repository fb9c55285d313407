"""What is asked is counted until it is written down, and not lost where that fails."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from dashboard.domain.health.budgets import FREE, USUAL
from dashboard.domain.health.observation import Spent
from dashboard.errors import StoreUnavailable, UpstreamUnreadable
from dashboard.upstream.endpoint import Meter, Metered
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.node import NodeClient
from tests.builders import a_hash
from tests.unit.upstream.scripted_asker import ScriptedAsker
from tests.unit.upstream.scripted_exclusion import hashes, truth


def test_calls_are_counted_by_operation_at_their_price() -> None:
    meter = Meter()
    meter.note_at(USUAL)("busyThreshold", 1)
    meter.note_at(USUAL)("busyThreshold", 2)
    meter.note_at(FREE)("eth_chainId", 1)

    with meter.handed_over() as metered:
        assert metered.spent == {"busyThreshold": Spent(3, 240), "eth_chainId": Spent(1, 0)}
    with meter.handed_over() as nothing:
        assert nothing == Metered()


def test_calls_that_were_not_written_down_are_handed_over_again() -> None:
    meter = Meter()
    meter.note_at(USUAL)("busyThreshold", 1)

    with suppress(StoreUnavailable), meter.handed_over():
        meter.note_at(USUAL)("busyThreshold", 1)
        raise StoreUnavailable("full")

    with meter.handed_over() as metered:
        assert metered.spent == {"busyThreshold": Spent(2, 160)}


async def test_each_question_of_a_batch_is_a_call() -> None:
    meter = Meter()
    exclusion, node = ScriptedAsker(truth), ScriptedAsker(lambda _: [])
    for asker, tariff in ((exclusion, USUAL), (node, FREE)):
        asker.endpoint = replace(asker.endpoint, note=meter.note_at(tariff))

    await ExclusionClient(exclusion, "linea").ask(hashes(3))
    with suppress(UpstreamUnreadable):
        await NodeClient(node).receipts([a_hash(1), a_hash(2)])

    with meter.handed_over() as metered:
        assert metered.spent == {
            "getTransactionExclusionStatusV1": Spent(3, 240),
            "eth_getTransactionReceipt": Spent(2, 0),
        }
