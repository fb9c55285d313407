"""The traffic runner against the real serve and store: what it submits can be looked up."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from dashboard.devnet.chain import Chain
from dashboard.devnet.genesis import open_genesis
from dashboard.devnet.traffic import BACKLOG, SubmitReport, Traffic, TrafficRunner
from dashboard.domain.quantity import TxHash
from dashboard.domain.secret import Secret
from dashboard.upstream.endpoint import Endpoint
from dashboard.upstream.exclusion import ExclusionClient
from dashboard.upstream.http import HttpAsker, RetryPolicy, open_client
from tests.integration.running_server import KEY, a_store, services_of, serving_here, utc_now
from tests.waiting import PATIENCE

QUICK = RetryPolicy(attempts=1, deadline=timedelta(seconds=PATIENCE))


async def test_reports_of_the_last_minutes_are_on_record_at_once(tmp_path: Path) -> None:
    chain = Chain(open_genesis(tmp_path / "devnet", 7, utc_now))
    tracked: list[TxHash] = []

    def track(tx_hash: TxHash, _attempted_at: datetime, _label: str) -> None:
        tracked.append(tx_hash)

    with a_store(tmp_path) as store:
        async with serving_here(services_of(store)) as address, open_client() as http:
            endpoint = Endpoint("devnet exclusion endpoint", Secret(f"http://{address}/v3/{KEY}"))
            serve = ExclusionClient(HttpAsker(http, endpoint, QUICK), "chain")
            traffic_runner = TrafficRunner(
                chain, serve, lambda *what: tracked.append(what[0]), utc_now
            )
            begun = utc_now()
            await traffic_runner.step()
            expected = [
                action.report
                for action in Traffic(chain).actions(begun - BACKLOG, begun, begun)
                if isinstance(action, SubmitReport)
            ]
            hashes = [report.transaction.tx_hash for report in expected]
            answers = await serve.ask(hashes)
            again = [await serve.report(report) for report in expected]

    assert traffic_runner.pending == 0
    assert tracked
    records = [answer.record for answer in answers if answer.record]
    assert [record.tx_hash for record in records] == hashes
    assert set(again) == {"DUPLICATE_ALREADY_SAVED_BEFORE"}
