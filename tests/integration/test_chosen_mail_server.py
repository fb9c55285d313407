"""The mail server that people choose on the page Settings: in force at once, and tried honestly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.application.chosen_settings import ChosenSettings
from dashboard.application.context import ApplicationContext
from dashboard.domain.people.access import Actor
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked
from dashboard.settings import Settings
from dashboard.store.chosen_settings import ChosenValue, save_chosen
from dashboard.store.engine.engine import Store, open_store
from dashboard.wiring.channels import MailInForce
from dashboard.wiring.page_settings import page_settings
from tests.builders import A_MOMENT
from tests.databases import new_sqlite_store
from tests.installation import new_installation
from tests.mail_server import PASSWORD, USERNAME, Inbox, mail_server
from tests.recording_channel import MESSAGE, some_headers
from tests.unit.settings.configuration_files import loaded

ADA = Actor("Ada", A_MOMENT)
ADDRESS = "ops@example.org"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with open_store(new_sqlite_store(tmp_path / "store.sqlite")) as opened:
        yield opened


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return loaded(tmp_path)


def server(port: int, password: str = PASSWORD) -> dict[str, ChosenValue | None]:
    return {
        "mail.recipients": [ADDRESS],
        "mail.smtp_host": "127.0.0.1",
        "mail.smtp_port": port,
        "mail.security": "none",
        "mail.username": USERNAME,
        "mail.password": Secret(password),
    }


def test_test_mail_is_sent_by_what_is_chosen_and_the_answer_is_told(
    store: Store, settings: Settings
) -> None:
    ask = ChosenSettings(
        ApplicationContext(store, (), lambda: A_MOMENT, settings=page_settings(settings))
    )
    inbox = Inbox()
    with mail_server(inbox, auth_require_tls=False, authenticator=inbox.authenticate) as port:
        ask.change(server(port, "wrong-canary"), ADA)
        wrong = ask.send_test(ADDRESS, ADA)
        ask.change({"mail.password": Secret(PASSWORD)}, ADA)
        right = ask.send_test(ADDRESS, ADA)
        unknown = ask.send_test("nobody@example.org", ADA)
    gone = ask.send_test(ADDRESS, ADA)

    assert (wrong.was_sent, right.was_sent, unknown.was_sent, gone.was_sent) == (
        *(False, True, False, False),
    )
    assert "refused the login (535)" in wrong.answer
    assert "canary" not in f"{wrong} {gone}"
    assert right.answer == "250 OK queued as 4711"
    assert "address not verified" in unknown.answer
    assert "cannot be reached" in gone.answer
    assert [each["To"] for each in inbox.mails] == [ADDRESS]


def test_running_worker_sends_the_next_mail_where_people_chose_since(
    store: Store, settings: Settings, tmp_path: Path
) -> None:
    channel = MailInForce(settings, store)

    def choose(values: dict[str, ChosenValue | None]) -> None:
        with store.write() as connection:
            save_chosen(connection, values, ADA)

    channel.send(MESSAGE, some_headers())
    first, second = Inbox(), Inbox()
    with mail_server(first) as one, mail_server(second) as other:
        choose({**server(one), "mail.username": None, "mail.password": None})
        channel.send(MESSAGE, some_headers())
        choose({"mail.smtp_port": other})
        channel.send(MESSAGE, some_headers())
    choose({**server(25), "mail.smtp_host": "mail.example"})
    with pytest.raises(
        DeliveryBlocked, match=r"chosen on the page Settings: mail\.security is none"
    ):
        channel.send(MESSAGE, some_headers())

    assert len(list((tmp_path / "mail" / "new").iterdir())) == 1
    assert (len(first.mails), len(second.mails)) == (1, 1)


def test_command_chooses_and_shows_from_where_each_value_is(tmp_path: Path) -> None:
    installation = new_installation(tmp_path, LINEWATCH_MAIL_SENDER="me@example.org")
    installation.run("migrate")
    (tmp_path / "wrong").write_text("wrong-canary\n", encoding="utf-8")
    login = ("mail.smtp_host=127.0.0.1", "mail.username=linewatch", "mail.security=none")
    inbox = Inbox()
    with mail_server(inbox, auth_require_tls=False, authenticator=inbox.authenticate) as port:
        chosen = installation.run(
            *("config", "set", f"mail.recipients={ADDRESS}", f"mail.smtp_port={port}", *login),
            *("--password-file", str(tmp_path / "wrong"), "--by", "Ada"),
        )
        tried = installation.run("alerts", "test-send")
        installation.run("config", "set", "--password-file", "-", given=f"{PASSWORD}\n")
        sent = installation.run("alerts", "test-send")
    refused = installation.run("config", "set", "mail.sender=you@example.org")
    empty = installation.run("config", "set", "--password-file", "-", given="\n")
    shown = json.loads(installation.run("config", "show", "--json").stdout)["settings"]
    reset = installation.run(
        *("config", "set", "--reset", "mail.smtp_host", "--reset", "mail.username", "--json")
    )

    assert f"mail.smtp_port = {port} (page Settings)" in chosen.stdout
    assert "refused the login (535)" in tried.stderr
    assert (sent.returncode, len(inbox.mails)) == (0, 1)
    assert "is set in the variable LINEWATCH_MAIL_SENDER, which wins" in refused.stderr
    assert refused.returncode == 2
    assert (empty.returncode, "is empty: write the password into it" in empty.stderr) == (2, True)
    found = {each["setting"]: each for each in shown}
    assert (found["mail.smtp_port"]["value"], found["mail.smtp_port"]["source"]) == (
        *(port, "page Settings"),
    )
    assert [each["from"] for each in json.loads(reset.stdout)["chosen"]] == ["default"] * 2
    told = f"{chosen} {tried} {sent} {shown} {installation.run('audit', '--json').stdout}"
    assert "canary" not in told
    assert PASSWORD not in told
