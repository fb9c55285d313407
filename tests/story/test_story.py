"""The product from end to end: real processes, a real mail server, a real browser."""

from __future__ import annotations

import os
import signal
import sys
from datetime import UTC, datetime
from email.message import EmailMessage
from pathlib import Path

import httpx
from eth_account import Account
from playwright.sync_api import expect

from tests.chromium import MILLISECONDS, running_browser
from tests.installation import command, new_installation
from tests.mail_server import Inbox, mail_server
from tests.waiting import PATIENCE, eventually

REASON = "line count for module MMU=3667495 is above the limit 2097152"
IN_WORDS = "The transaction needs 3,667,495 lines in the prover module MMU"
PLAINLY = "3,667,495 lines in the module MMU, where 2,097,152 are allowed"


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
    answer = httpx.post(f"{serve}/v3/dev", json=call, timeout=PATIENCE).json()
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


def answers(address: str) -> bool:
    """Whether somebody answers HTTP there."""
    try:
        return httpx.get(address, timeout=PATIENCE).is_success
    except httpx.HTTPError:
        return False


def test_linewatch_follows_a_transaction_from_tracking_to_page_and_mail(tmp_path: Path) -> None:
    tx_hash, raw = signed_transaction()
    inbox = Inbox()
    with mail_server(inbox) as mail_port, running_browser() as browser:
        installation = new_installation(
            tmp_path / "home",
            LINEWATCH_MAIL_RECIPIENTS="oncall@example.org",
            LINEWATCH_MAIL_SMTP_HOST="127.0.0.1",
            LINEWATCH_MAIL_SMTP_PORT=str(mail_port),
            LINEWATCH_MAIL_SECURITY="none",
        )
        with installation.start(command("up"), tmp_path / "log"):
            eventually(lambda: answers(installation.pages), what="the first page")
            page = browser.new_page()
            page.set_default_timeout(MILLISECONDS)
            page.goto(f"{installation.pages}/lookup?tx={tx_hash}")
            page.get_by_role("button", name="Ask the network now").click()
            expect(page.get_by_text("No rejection on record").first).to_be_visible()
            page.get_by_role("button", name="Track").click()
            page.get_by_label("Label (optional)").fill("story")
            page.get_by_test_id("stForm").get_by_role("button", name="Track").last.click()
            expect(page.get_by_text("1 newly tracked.")).to_be_visible()

            assert report_rejection(installation.serve, tx_hash, raw)["status"] == "SAVED"

            page.goto(f"{installation.pages}/lookup?tx={tx_hash}")
            expect(page.get_by_text(PLAINLY).first).to_be_visible()
            expect(page.locator(".lw-badge", has_text="Simulated data")).to_be_visible()
            eventually(lambda: bool(mails_about(tx_hash, inbox)), what="the alert mail")
        (mail,) = mails_about(tx_hash, inbox)
        assert mail["To"] == "oncall@example.org"
        assert "MMU" in mail["Subject"]
        assert IN_WORDS in text_of(mail)


def test_linewatch_leaves_nothing_running_when_it_is_killed(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")

    with installation.start(command("up"), tmp_path / "log") as process:
        eventually(lambda: answers(installation.pages), what="the first page")
        os.kill(process.pid, signal.SIGKILL)

        eventually(lambda: not installation.processes(), what="the end of every role")


def test_streamlit_run_starts_the_rest_takes_it_along_and_greys_what_is_old(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")
    streamlit = [sys.executable, "-m", "streamlit", "run", "app.py"]
    port = ["--server.port", str(installation.pages_port)]

    with (
        running_browser() as browser,
        installation.start([*streamlit, *port], tmp_path / "log") as process,
    ):
        eventually(lambda: answers(installation.pages), what="the first page")
        page = browser.new_page()
        page.set_default_timeout(MILLISECONDS)
        page.goto(installation.pages)
        expect(page.get_by_text("devnet").first).to_be_visible()
        expect(page.get_by_text("Busy above").first).to_be_visible()
        os.kill(process.pid, signal.SIGKILL)

        eventually(lambda: not installation.processes(), what="the end of the rest")
        expect(page.get_by_test_id("stMain")).to_have_css("filter", "grayscale(1)")
