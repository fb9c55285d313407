"""Metrics: valid for Prometheus, counted rightly, and told only to those who may know."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from prometheus_client.parser import text_string_to_metric_families
from websockets.sync.client import connect

from dashboard.alert.notify import expand_outbox
from dashboard.domain.health.observation import Failure, FailureKind, Operation
from dashboard.domain.secret import Secret
from dashboard.serve.monitoring.metrics_page import MetricsPage
from dashboard.store.engine.engine import Store
from dashboard.store.engine.leases import WORKER_LEASE, acquire, renew
from dashboard.store.monitoring.answer_counts import note_answered, note_failure
from tests import plain_http
from tests.builders import A_MOMENT
from tests.delivery_checks import reject
from tests.integration.running_server import (
    KEY,
    NETWORK,
    a_call,
    a_report_of,
    a_signed_transaction,
    services_of,
    serving,
    utc_now,
)
from tests.recording_channel import ONCALL_ALONE
from tests.routes import alone
from tests.waiting import eventually

GET = "chain_getTransactionExclusionStatusV1"
SAVE = "chain_saveRejectedTransactionV1"
METRICS_KEY = "m3trics-of-the-tests"


def samples(address: str) -> dict[tuple[str, ...], float]:
    """Read the metrics as Prometheus does: values by name and labels."""
    text = plain_http.get(f"http://{address}/metrics").text
    return {
        (sample.name, *(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_metrics_count_requests_calls_reports_and_refusals_and_hold_no_key_or_hash(
    store: Store,
) -> None:
    report = a_signed_transaction(1)
    with serving(services_of(store)) as address:
        url = f"http://{address}/v3/{KEY}"
        plain_http.post(url, json=a_call(SAVE, a_report_of(report)))
        plain_http.post(url, json=[a_call(GET, [f"0x{'ab' * 32}"]), a_call(GET, ["0x"])])
        plain_http.post(url, json=a_call("my_own_idea", []))
        plain_http.post(f"http://{address}/v3/wrong", json=a_call(GET, []))
        fees = f"{url}/networks/{NETWORK}/busyThreshold?x={KEY}"
        plain_http.get(fees)
        text = plain_http.get(f"http://{address}/metrics").text
        told = samples(address)

    assert told["linewatch_http_requests_total", "/v3/<key>", "200"] == 3
    assert told["linewatch_http_requests_total", "/v3/<key>", "401"] == 1
    assert told["linewatch_rpc_calls_total", SAVE, "result"] == 1
    assert told["linewatch_rpc_calls_total", GET, "result"] == 1
    assert told["linewatch_rpc_calls_total", GET, "error"] == 1
    assert told["linewatch_rpc_calls_total", "unserved", "error"] == 1
    assert told["linewatch_refusals_total", "key"] == 1
    assert told["linewatch_store_up",] == 1
    assert told["linewatch_reports_total", "saved"] == 1
    assert told["linewatch_lookups_total", "null"] == 1
    assert told["linewatch_store_last_save_timestamp_seconds",] > 1.7e9
    assert told["linewatch_key_calls_total", "tests"] == 5
    assert told["linewatch_key_refusals_total", "tests"] == 0
    assert not any(secret in text for secret in ("my_own_idea", KEY, report.tx_hash))


def test_durations_are_a_whole_histogram(store: Store) -> None:
    with serving(services_of(store)) as address:
        for _ in range(3):
            plain_http.get(f"http://{address}/live")
        told = samples(address)

    name = "linewatch_http_request_duration_seconds"
    assert told[f"{name}_count", "/live"] == 3
    assert told[f"{name}_bucket", "+Inf", "/live"] == 3
    assert 0 < told[f"{name}_sum", "/live"] < 3


def test_open_connections_and_sockets_are_told(store: Store) -> None:
    with serving(services_of(store)) as address:
        with connect(f"ws://{address}/ws/v3/{KEY}", proxy=None):
            eventually(lambda: samples(address)["linewatch_websockets",] == 1)
            inside = samples(address)["linewatch_connections",]
        eventually(lambda: samples(address)["linewatch_websockets",] == 0)

    assert inside == 2


def test_state_of_each_network_is_told(store: Store) -> None:
    with serving(services_of(store)) as address:
        eventually(lambda: ("linewatch_network_head_number", "devnet") in samples(address))
        told = samples(address)

    assert told["linewatch_network_head_number", "devnet"] == 1
    assert 0 <= told["linewatch_network_fees_age_seconds", "devnet"] < 30


async def scrape(store: Store) -> str:
    page = MetricsPage(services_of(store), ())
    scope = {"client": ("127.0.0.1", 9), "headers": [(b"host", b"localhost")]}
    return (await page.answer(scope, store_is_up=False)).body.decode()  # its disk may be full


async def test_worker_that_is_paused_and_what_it_asks_are_told(store: Store) -> None:
    failed = Operation.BASE_FEE_PERCENTILE, Failure(FailureKind.UNAVAILABLE, "no answer")
    with store.write() as connection:
        token = acquire(connection, WORKER_LEASE, "a", timedelta(minutes=1)) or 0
        note_answered(connection, NETWORK, [Operation.SUGGESTED_GAS_FEES], utc_now())
        note_failure(connection, NETWORK, utc_now(), failed)
    working = await scrape(store)
    with store.write() as connection:  # what a paused one leaves behind is a lease that ran out
        renew(connection, WORKER_LEASE, token, timedelta())
    paused = await scrape(store)

    assert "linewatch_worker_up 1.0" in working
    assert "linewatch_worker_up 0.0" in paused
    of = 'network="devnet",operation='
    assert f'linewatch_source_failing{{{of}"baseFeePercentile"}} 1.0' in paused
    assert f'linewatch_source_failing{{{of}"suggestedGasFees"}} 0.0' in paused
    assert f'linewatch_source_answer_age_seconds{{{of}"suggestedGasFees"}} ' in paused
    assert "linewatch_store_disk_free_bytes " in paused
    assert 'linewatch_notifications{state="dead"} 0.0' in paused


async def test_open_incidents_and_late_notifications_are_told(store: Store) -> None:
    reject(store, 1)
    told = await scrape(store)
    assert "linewatch_changes_pending 1.0" in told
    assert "linewatch_notifications_in_delivery_age_seconds 0.0" in told

    while expand_outbox(store, ONCALL_ALONE, lambda: A_MOMENT, alone):
        pass
    told = await scrape(store)

    assert "linewatch_changes_pending 0.0" in told
    assert 'linewatch_notifications{state="pending"} 1.0' in told
    assert 'linewatch_incidents{severity="warning",state="firing"} 1.0' in told
    assert 'linewatch_incidents{severity="info",state="silenced"} 0.0' in told


async def test_nothing_is_told_of_the_worker_where_the_store_cannot_be_read(store: Store) -> None:
    with store.write() as connection:
        connection.exec_driver_sql("DROP TABLE leases")

    told = await scrape(store)
    assert "linewatch_store_up 0.0" in told
    assert "linewatch_worker_up" not in told


def test_client_behind_a_proxy_is_not_taken_for_this_machine(store: Store) -> None:
    with serving(services_of(store)) as address:
        refusals = [
            plain_http.get(f"http://{address}/metrics", headers={header: "203.0.113.9"})
            for header in ("X-Forwarded-For", "Forwarded", "X-Real-IP", "Via")
        ]

    assert [each.status_code for each in refusals] == [403] * 4
    assert all("serve.metrics_key" in each.json()["message"] for each in refusals)


def test_other_machine_reads_metrics_with_their_key(store: Store) -> None:
    dependencies = replace(services_of(store), metrics_key=Secret(METRICS_KEY))
    presented = (f"Bearer {METRICS_KEY}", "Bearer wrong", f"Basic {METRICS_KEY}")

    with serving(dependencies) as address:
        responses = [
            plain_http.get(
                f"http://{address}/metrics",
                headers={"X-Forwarded-For": "203.0.113.9", "Authorization": each},
            )
            for each in presented
        ]

    assert [each.status_code for each in responses] == [200, 401, 401]
    assert all(METRICS_KEY not in each.text for each in responses)
