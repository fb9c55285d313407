"""`linewatch alerts test-send` as people call it: a real mail and webhook, and each answer."""

from __future__ import annotations

import json
from itertools import groupby
from pathlib import Path

import pytest

from tests.certificate import make_certificate
from tests.installation import Installation, new_installation
from tests.mail_server import PASSWORD, USERNAME, Inbox, be_silent, mail_server, rude_server
from tests.webhook_server import Receiver, http_receiver

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"


def installation_with(folder: Path, text: str) -> Installation:
    planned = new_installation(folder / "home")
    planned.home.mkdir()
    (planned.home / "linewatch.toml").write_text(text, encoding="utf-8")
    assert planned.run("migrate").returncode == 0
    return planned


CLEAR = 'smtp_host = "127.0.0.1"\nsecurity = "none"\n'


def mail_settings(port: int, more: str = CLEAR) -> str:
    return f'[mail]\nrecipients = ["oncall@example.org"]\nsmtp_port = {port}\n{more}'


def hook_settings(port: int) -> str:
    return (
        f'[channels.hook]\nkind = "webhook"\nurl = "http://127.0.0.1:{port}/canary-key"\n'
        f'secrets = ["{SECRET}"]\nallow_private = true\n'
    )


def test_mail_shows_each_answer_of_the_server_and_no_password(tmp_path: Path) -> None:
    inbox, certificate = Inbox(), make_certificate(tmp_path)
    protected = f"""\
smtp_host = "localhost"
security = "starttls"
username = "{USERNAME}"
password = "{PASSWORD}"
[tls]
ca_file = "{certificate.path}"
"""

    with mail_server(
        inbox, tls_context=certificate.for_server(), authenticator=inbox.authenticate
    ) as port:
        here = installation_with(tmp_path, mail_settings(port, protected))
        ended = here.run("alerts", "test-send")

    assert ended.returncode == 0, ended.stderr
    steps = [line.partition(":")[0].strip() for line in ended.stdout.splitlines()]
    assert steps.count("EHLO") > 2, "what the server offers is not shown line by line"
    assert "\\u000a" not in ended.stdout
    assert [step for step, _ in groupby(steps)] == [
        "To oncall@example.org over mail",
        *("connect", "greeting", "EHLO", "STARTTLS", "TLS", "EHLO"),
        *("login", "sender", "recipient", "DATA", "message"),
        "sent",
    ]
    assert "  message: 250 OK queued as 4711" in ended.stdout.splitlines()
    assert PASSWORD not in ended.stdout
    assert [each["To"] for each in inbox.mails] == ["oncall@example.org"]
    assert inbox.mails[0]["Subject"] == "Test message from Linewatch"


def test_refusal_is_shown_where_it_happens_with_status_one_and_on_record(tmp_path: Path) -> None:
    with mail_server(Inbox(RCPT="550 5.1.1 no such user")) as port:
        here = installation_with(
            tmp_path, f'[recipients."typo@example.org"]\n{mail_settings(port)}'
        )
        ended = here.run("alerts", "test-send", "--to", "typo@example.org")

    assert ended.returncode == 1
    assert "  recipient: 550 5.1.1 no such user" in ended.stdout.splitlines()
    assert "not sent to typo@example.org: " in ended.stderr
    [entry] = json.loads(here.run("audit", "--action", "test-send", "--json").stdout)["entries"]
    assert entry["subject"] == "typo@example.org"
    assert entry["details"]["sent"] is False
    assert "550 5.1.1" in entry["details"]["answer"]


def test_address_that_nobody_verified_gets_no_test_message_either(tmp_path: Path) -> None:
    inbox = Inbox()

    with mail_server(inbox) as port:
        here = installation_with(tmp_path, mail_settings(port))
        ended = here.run("alerts", "test-send", "--to", "new@example.org")

    assert (ended.returncode, inbox.mails) == (1, [])
    assert "address not verified; `linewatch recipients list` shows more" in ended.stderr


def test_silent_server_is_waited_for_once(tmp_path: Path) -> None:
    with rude_server(be_silent) as port:
        text = mail_settings(port, f'{CLEAR}timeout = "1s"\n')
        others = text.replace('["oncall@', '["oncall@EXAMPLE.org", "ops@example.org", "oncall@')
        here = installation_with(tmp_path, others)
        ended = here.run("alerts", "test-send", "--json")

    first, second = json.loads(ended.stdout)["sent"]
    assert ended.returncode == 1
    assert "did not accept the message within 1 s; check host and port in [mail]" in first["answer"]
    assert (second["address"], second["steps"]) == ("ops@example.org", [])
    assert second["answer"].startswith("not tried, because the mail server did not answer in time")


def test_webhook_gets_a_signed_test_and_the_answer_is_shown(tmp_path: Path) -> None:
    receiver = Receiver(202)

    with http_receiver(receiver) as port:
        here = installation_with(tmp_path, hook_settings(port))
        ended = here.run("alerts", "test-send", "--channel", "hook", "--json")
        audited = here.run("audit", "--json")

    [sent] = json.loads(ended.stdout)["sent"]
    assert (sent["wasSent"], sent["answer"]) == (True, "202 Accepted")
    assert [each["step"] for each in sent["steps"]] == ["resolve", "connect", "answer"]
    assert json.loads(receiver.requests[0].body)["type"] == "test"
    assert "canary" not in ended.stdout + ended.stderr + audited.stdout


@pytest.mark.parametrize(
    ("arguments", "remedy"),
    [
        (("--to", "a@example.org", "--channel", "hook"), "choose one"),
        (("--channel", "fax"), "there are hook"),
    ],
)
def test_wrong_recipient_is_a_mistake_with_its_remedy(
    tmp_path: Path, arguments: tuple[str, ...], remedy: str
) -> None:
    here = installation_with(tmp_path, hook_settings(9))

    ended = here.run("alerts", "test-send", *arguments)

    assert ended.returncode == 2
    assert remedy in ended.stderr
