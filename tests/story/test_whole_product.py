"""The product from end to end, run once from its wheel: what people, machines and sites meet."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import threading
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from email.message import EmailMessage
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from eth_account import Account
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from playwright.sync_api import expect

from tests import plain_http
from tests.chromium import MILLISECONDS, running_browser
from tests.installation import Installation, answers, listens
from tests.integration.raw_client import raw_client, read_to_end
from tests.mail_server import Inbox
from tests.processes import PROJECT
from tests.story.whole_product import CURLS, Product, build_wheel, whole_product
from tests.waiting import PATIENCE, eventually

DASHBOARD = PROJECT / "deploy" / "grafana-dashboard.json"
CANARY = "canary-of-the-story"
REASON = "line count for module MMU=3667495 is above the limit 2097152"
IN_WORDS = "The transaction needs 3,667,495 lines in the prover module MMU"
PLAINLY = "3,667,495 lines in the module MMU, with 2,097,152 allowed"
UPGRADE = (
    "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n"
)
CALL = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "eth_chainId", "params": []})
POST = f"Content-Type: text/plain\r\nContent-Length: {len(CALL)}\r\n"
JSON_TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "integer": int,
    "number": (int, float),
    "object": dict,
}
DOORS = {
    "a page": ("pages", "GET /tracked", ""),
    "a part of the pages": ("pages", "GET /_stcore/host-config", ""),
    "the pages' WebSocket": ("pages", "GET /_stcore/stream", UPGRADE),
    "serve with the development key": ("serve", "POST /v3/dev", POST),
    "serve's WebSocket": ("serve", "GET /ws/v3/dev", UPGRADE),
    "the metrics": ("serve", "GET /metrics", ""),
    "devnet": ("devnet", "POST /", POST),
}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_wheel(tmp_path_factory.mktemp("first"))


@pytest.fixture(scope="module")
def product(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Product]:
    """Run everything; the order of the tests is that of its life."""
    with whole_product(wheel, tmp_path_factory.mktemp("up")) as running:
        assert running.systemd_hears() == "READY=1"
        yield running


def test_two_builds_of_the_wheel_are_the_same(wheel: Path, tmp_path: Path) -> None:
    again = build_wheel(tmp_path)

    assert wheel.name == again.name
    assert sha256(wheel.read_bytes()).digest() == sha256(again.read_bytes()).digest()


def test_wheel_holds_what_runs_and_no_test(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert any(each.endswith(".dist-info/sboms/sbom.cdx.json") for each in names)
    beside = {each.split("/")[0] for each in names}
    assert {each for each in beside if not each.endswith(".dist-info")} == {"dashboard"}
    for kept in ("config", ".streamlit"):
        held = {
            name.removeprefix("dashboard/project/")
            for name in names
            if name.startswith(f"dashboard/project/{kept}/")
        }
        here = [each for each in (PROJECT / kept).rglob("*.toml") if each.name != "secrets.toml"]
        assert held == {str(each.relative_to(PROJECT)) for each in here}


def names_of(installation: Installation) -> set[str]:
    """Return the names of roles, as `top` shows them, without `lw-`."""
    shown = [Path(f"/proc/{each}/comm").read_text() for each in installation.processes()]
    return {each.strip().removeprefix("lw-") for each in shown}


def test_up_is_ready_once_all_that_it_runs_listens(product: Product) -> None:
    here = product.installation

    assert all(map(listens, (here.pages_port, here.serve_port, here.devnet_port)))
    eventually(lambda: answers(f"{here.serve}/ready"), what="serve")
    eventually(lambda: names_of(here) >= {"devnet", "serve", "worker", "pages"}, what="each role")
    assert "Linewatch" in plain_http.get(here.pages).text


def test_readme_shows_how_to_ask_both_apis() -> None:
    assert len(CURLS) == 5


@pytest.mark.parametrize("line", CURLS, ids=lambda line: line.split("/")[-1][:30])
def test_call_of_the_readme_is_answered(product: Product, line: str) -> None:
    typed = line.replace(":8502", f":{product.installation.serve_port}")

    asked = subprocess.run(typed, shell=True, capture_output=True, text=True, check=True)  # noqa: S602 - typed as a person types it

    answer = json.loads(asked.stdout)
    assert "error" not in answer
    assert "statusCode" not in answer


def ask_prometheus(product: Product, path: str, **query: str) -> Any:  # noqa: ANN401 - JSON
    """Return what Prometheus answers; None while it does not."""
    try:
        answer = plain_http.get(f"{product.prometheus}/api/v1/{path}", params=query)
    except httpx.TransportError:
        return None
    return answer.json()["data"] if answer.is_success else None


def charted() -> list[str]:
    """Return every expression of the dashboard."""
    panels = json.loads(DASHBOARD.read_text(encoding="utf-8"))["panels"]
    return [target["expr"] for panel in panels for target in panel["targets"]]


def test_every_chart_shows_something_of_a_run_that_is_well_and_no_rule_fires(
    product: Product,
) -> None:
    empty = charted()

    def all_show_something() -> bool:
        found = {each: ask_prometheus(product, "query", query=each) for each in empty}
        empty[:] = [each for each, held in found.items() if not (held and held["result"])]
        return not empty

    def rules() -> list[dict[str, Any]]:
        groups = (ask_prometheus(product, "rules") or {"groups": []})["groups"]
        return [rule for group in groups for rule in group["rules"]]

    eventually(all_show_something, what=f"something in {empty}")
    eventually(
        lambda: bool(rules()) and all(each["health"] == "ok" for each in rules()), what="the rules"
    )
    assert [each["name"] for each in rules() if each.get("state") == "firing"] == []


def signed_transaction() -> tuple[str, str]:
    """Sign a transaction on the simulated chain; return its hash and its raw bytes, in hex."""
    account = Account.create()
    signed = account.sign_transaction(
        {
            "chainId": 424242,
            "nonce": 0,
            "to": account.address,
            "value": 0,
            "gas": 21_000,
            "maxFeePerGas": 10**11,
            "maxPriorityFeePerGas": 10**9,
        }
    )
    return signed.hash.to_0x_hex(), signed.raw_transaction.to_0x_hex()


def report_rejection(serve: str, tx_hash: str, raw: str) -> dict[str, object]:
    """Report the rejection as a node does; return the answer's result."""
    report = {
        "txRejectionStage": "RPC",
        "timestamp": datetime.now(UTC).isoformat(),
        "transactionRLP": raw,
        "reasonMessage": f"Transaction {tx_hash} {REASON}",
        "overflows": [],
    }
    call = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "linea_saveRejectedTransactionV1",
        "params": [report],
    }
    answer = plain_http.post(f"{serve}/v3/dev", json=call).json()
    result: dict[str, object] = answer["result"]
    return result


def text_of(mail: EmailMessage) -> str:
    """Return the plain text of a mail, its lines joined."""
    body = mail.get_body(("plain",))
    assert body is not None
    return " ".join(str(body.get_content()).split())


def mails_about(tx_hash: str, inbox: Inbox) -> list[EmailMessage]:
    """Return the mails that name a transaction."""
    return [mail for mail in inbox.mails if tx_hash in text_of(mail)]


def test_transaction_is_followed_from_tracking_to_page_and_mail(product: Product) -> None:
    tx_hash, raw = signed_transaction()
    here = product.installation
    with running_browser() as browser:
        page = browser.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(f"{here.pages}/lookup?tx={tx_hash}")
        page.get_by_role("button", name="Ask the network now").click()
        expect(page.get_by_text("No rejection on record").first).to_be_visible()
        page.get_by_role("button", name="Track").click()
        page.get_by_label("Label (optional)").fill("story")
        page.get_by_test_id("stForm").get_by_role("button", name="Track").last.click()
        expect(page.get_by_text("1 newly tracked.")).to_be_visible()

        assert report_rejection(here.serve, tx_hash, raw)["status"] == "SAVED"

        page.goto(f"{here.pages}/lookup?tx={tx_hash}")
        expect(page.get_by_text(PLAINLY).first).to_be_visible()
        expect(page.locator(".lw-badge", has_text="Simulated data")).to_be_visible()
        eventually(lambda: bool(mails_about(tx_hash, product.inbox)), what="the alert mail")
    (mail,) = mails_about(tx_hash, product.inbox)
    assert mail["To"] == "oncall@example.org"
    assert "MMU" in mail["Subject"]
    assert IN_WORDS in text_of(mail)


def test_spans_tell_of_polls_calls_deliveries_and_requests_and_hold_no_address(
    product: Product,
) -> None:
    plain_http.post(f"{product.installation.serve}/v3/{CANARY}", json={})
    wanted = {"exclusion poll of 424242", "upstream call", "delivery", "API request"}
    found: set[str] = set()

    def all_came() -> bool:
        bodies = [each.body for each in product.collector.requests]
        found.update(span.name for body in bodies for span in spans_in(body))
        return found >= wanted

    eventually(all_came, what=f"spans beside {found}")

    sent = [span for each in product.collector.requests for span in spans_in(each.body)]
    told = {str(field.value.string_value) for span in sent for field in span.attributes}
    assert not any(part in text for text in told for part in (CANARY, "://", "0x"))


def spans_in(body: bytes) -> Iterator[Span]:
    """Read what OpenTelemetry sends."""
    for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
        for scope in resource.scope_spans:
            yield from scope.spans


def test_all_that_ran_until_now_came_from_the_wheel_and_met_no_error(product: Product) -> None:
    log = product.log.read_text(encoding="utf-8")

    assert '"level": "error"' not in log
    assert str(PROJECT / "dashboard") not in log


def ask(installation: Installation, door: str, host: str, origin: str | None = None) -> str:
    """Ask as a browser does; return the reply. ``PORT`` stands for that of the door."""
    role, request, headers = DOORS[door]
    port = str(getattr(installation, f"{role}_port"))
    from_where = f"Origin: {origin}\r\n" if origin else ""
    head = f"{request} HTTP/1.1\r\nHost: {host}\r\n{from_where}{headers}"
    head += "" if headers is UPGRADE else "Connection: close\r\n"
    body = CALL if headers is POST else ""
    with raw_client(f"127.0.0.1:{port}") as client:
        client.sendall(f"{head}\r\n{body}".replace("PORT", port).encode())
        if headers is UPGRADE:
            return client.recv(65_536).decode("latin-1")
        return read_to_end(client).decode("latin-1")


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("evil.example:PORT", None),
        ("evil.example:PORT", "http://evil.example:PORT"),
        ("127.0.0.1:PORT", "http://evil.example"),
        ("127.0.0.1:PORT", "null"),
        ("127.0.0.1:PORT", "http://127.0.0.1:9"),
        ("localhost:PORT", "http://127.0.0.1:PORT"),
        ("127.0.0.1:PORT", "https://watch.example:8443"),
        ("watch.example", "http://watch.example"),
    ],
)
def test_foreign_site_in_a_browser_of_this_machine_is_refused_in_words(
    product: Product, door: str, host: str, origin: str | None
) -> None:
    reply = ask(product.installation, door, host, origin)

    assert reply.startswith("HTTP/1.1 403 ")
    assert "http.allowed_hosts" in reply


@pytest.mark.parametrize("door", DOORS)
@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:PORT", None),
        ("localhost:PORT", "http://localhost:PORT"),
        ("watch.example", "https://watch.example"),
        ("127.0.0.1:PORT", "https://watch.example"),
    ],
)
def test_own_page_is_served_also_behind_a_proxy(
    product: Product, door: str, host: str, origin: str | None
) -> None:
    reply = ask(product.installation, door, host, origin)

    assert re.match(r"HTTP/1\.1 (200|101) ", reply)


def test_each_line_of_the_log_is_as_its_page_says(product: Product) -> None:
    page = (PROJECT / "docs" / "logs.md").read_text(encoding="utf-8")
    types = dict(re.findall(r"^\| `(\w+)` \| (\w+) \|", page, re.MULTILINE))
    lines = [json.loads(each) for each in product.log.read_text().splitlines() if each[0] == "{"]

    fields = {(name, type(held)) for line in lines for name, held in line.items()}
    wrong = {name: held for name, held in fields if not issubclass(held, JSON_TYPES[types[name]])}

    assert {each["role"] for each in lines} >= {"up", "worker", "devnet"}
    assert wrong == {}


def test_new_settings_come_with_a_reload_and_no_client_is_refused_meanwhile(
    product: Product,
) -> None:
    here, log = product.installation, product.log
    settings = here.home / "linewatch.toml"

    settings.write_text("[serve]\npage = 7\n", encoding="utf-8")
    product.process.send_signal(signal.SIGHUP)
    eventually(lambda: "serve.page (in " in log.read_text(encoding="utf-8"))
    settings.write_text("[devnet]\nmode = 'off'\n", encoding="utf-8")
    before, unreloaded = plain_http.get(f"{here.serve}/").status_code, here.run("reload")
    settings.write_text("[serve]\npage = false\n", encoding="utf-8")
    refused: list[str] = []
    with asking_meanwhile([f"{here.serve}/live", f"{here.pages}/live"], refused):
        done = here.run("reload")

    assert (before, unreloaded.returncode, done.returncode) == (200, 1, 0)
    assert "nothing is reloaded" in unreloaded.stderr
    assert plain_http.get(f"{here.serve}/").status_code == 404
    assert refused == []


@contextmanager
def asking_meanwhile(addresses: Sequence[str], refused: list[str]) -> Iterator[None]:
    """Ask at each address again and again; note who was refused, or answered badly."""
    enough = threading.Event()

    def ask(address: str) -> None:
        while not enough.is_set():
            try:
                if not plain_http.get(address).is_success:
                    refused.append(address)
            except httpx.ConnectError as error:
                refused.append(f"{address}: {error!r}")
            except httpx.TransportError:
                continue  # it was closed before it asked: nothing is lost

    asking = [threading.Thread(target=ask, args=(address,)) for address in addresses]
    for each in asking:
        each.start()
    try:
        yield
    finally:
        enough.set()
        for each in asking:
            each.join(PATIENCE)


def test_up_says_that_it_stops(product: Product) -> None:
    product.process.send_signal(signal.SIGTERM)

    assert product.systemd_hears() == "STOPPING=1"  # and nothing else was said, by no role
    assert product.process.wait(PATIENCE) == 0
