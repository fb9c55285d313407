"""`linewatch setup` tries each answer at real servers, and writes what works, or nothing."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from dashboard.settings import load_settings
from tests.anvil import CHAIN_ID, running_anvil
from tests.certificate import Certificate, make_certificate
from tests.installation import Installation, command, free_ports, new_installation
from tests.mail_server import PASSWORD, USERNAME, Inbox, mail_server
from tests.processes import PROJECT
from tests.waiting import PATIENCE

MAIL = ("--smtp-host", "localhost", "--to", "ada@example.org")
PATIENT = {"LINEWATCH_POLL_REQUEST_TIMEOUT": "5m", "LINEWATCH_MAIL_TIMEOUT": "5m"}


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    certificate = make_certificate(tmp_path)
    trust = {"LINEWATCH_TLS_CA_FILE": str(certificate.path)}
    return new_installation(tmp_path / "home", SMTP_PASSWORD=PASSWORD, **trust, **PATIENT)


@contextmanager
def node_and_mail_server(inbox: Inbox, installation: Installation) -> Iterator[tuple[str, int]]:
    certificate = Certificate(Path(installation.variables["LINEWATCH_TLS_CA_FILE"]))
    server = mail_server(
        inbox,
        tls_context=certificate.for_server(),
        require_starttls=True,
        auth_required=True,
        authenticator=inbox.authenticate,
    )
    with running_anvil() as node, server as port:
        yield node.url, port


def written(installation: Installation) -> list[str]:
    """Return the names of all that is in the state folder."""
    home = installation.home
    return sorted(each.name for each in home.iterdir()) if home.exists() else []


def test_options_alone_write_settings_that_only_their_owner_reads(
    installation: Installation,
) -> None:
    inbox = Inbox()
    with node_and_mail_server(inbox, installation) as (node, port):
        options = ("--watch", "node", "--node-url", node, "--chain-id", str(CHAIN_ID))
        login = ("--username", USERNAME, "--password", "env:SMTP_PASSWORD")
        done = installation.run("setup", *options, *MAIL, "--smtp-port", str(port), *login)

    file = installation.home / "linewatch.toml"
    settings = load_settings(installation.environment())
    assert (done.returncode, done.stderr) == (0, "")
    assert "Next: linewatch up\nFor a mail at once" in done.stdout
    assert file.stat().st_mode & 0o777 == 0o600
    assert PASSWORD not in file.read_text(encoding="utf-8")
    assert settings.networks["node"].network_id == CHAIN_ID
    assert settings.mail.password.reveal() == PASSWORD
    assert inbox.logins == [USERNAME]
    assert inbox.mails == []  # it was greeted, and nothing was sent


@pytest.mark.parametrize(
    ("options", "status", "said"),
    [
        (("--watch", "moon"), 2, "'moon' is none of simulated, "),
        (("--watch", "node"), 2, "--chain-id is missing"),
        (("--watch", "linea-mainnet", "--key", "c4nary"), 2, "write env:NAME or file:/path"),
        (("--watch", "linea-mainnet", "--key", "env:NO_KEY"), 2, "the variable NO_KEY is not set"),
        ((*MAIL, "--smtp-port", "1"), 1, "localhost port 1: cannot be reached"),
        ((*MAIL, "--to", "nobody"), 2, "is not an email address"),
        ((*MAIL, "--to", ","), 2, "say who gets alerts"),
        (
            ("--sign-in", "issuer", "--public-url", "https://w.example"),
            2,
            "--issuer-url is missing",
        ),
        (
            (
                *("--sign-in", "issuer", "--public-url", "http://localhost:1", "--client-id", "x"),
                *("--issuer-url", "http://127.0.0.1:1", "--admins", "ops"),
            ),
            1,
            "The issuer cannot be used",
        ),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else None,
)
def test_answer_that_cannot_be_used_is_named_and_nothing_is_written(
    installation: Installation, options: tuple[str, ...], status: int, said: str
) -> None:
    done = installation.run("setup", *options)

    assert (done.returncode, said in done.stderr) == (status, True), done.stderr
    assert "c4nary" not in done.stdout + done.stderr
    assert written(installation) == []


def test_settings_that_exist_are_replaced_only_when_that_is_said(tmp_path: Path) -> None:
    file = tmp_path / "linewatch.toml"
    file.write_text("[pages]\nport = 9000\n", encoding="utf-8")
    file.chmod(0o644)
    installation = new_installation(tmp_path / "home", LINEWATCH_CONFIG=str(file))

    refused = installation.run("setup")
    kept = file.read_text(encoding="utf-8")
    node = ("--node-url", "http://127.0.0.1:1", "--chain-id", "5", "--anyway")
    done = installation.run("setup", "--replace", "--watch", "own-serve", *node)

    table = tomllib.loads(file.read_text(encoding="utf-8"))
    assert (refused.returncode, kept) == (2, "[pages]\nport = 9000\n")
    assert "give --replace" in refused.stderr
    assert done.returncode == 0, done.stderr
    assert file.stat().st_mode & 0o777 == 0o640  # as before, without all others
    network, key = table["networks"]["own-serve"], table["serve"]["keys"]["linewatch"]["key"]
    assert len(key) == 32
    assert (network["exclusion"]["key"], network["gas"]["key"]) == (key, key)


class Terminal:
    """A person at `linewatch setup`, who waits for a question before answering."""

    def __init__(self, installation: Installation) -> None:
        self._side, other = pty.openpty()
        self._process = subprocess.Popen(
            # What runs in the background ignores Ctrl-C, and so would all that it starts.
            ["/usr/bin/env", "--default-signal=INT", "setsid", "--ctty", *command("setup")],
            env=installation.environment() | {"TERM": "dumb"},
            stdin=other,
            stdout=other,
            stderr=other,
            cwd=PROJECT,
        )
        os.close(other)
        self.seen = ""

    def answer(self, question: str, text: str) -> None:
        """Type a line once the question is asked."""
        while not re.search(question, self.seen.rpartition("\n")[2]):
            self.seen += os.read(self._side, 4096).decode()
        self.seen += "\n"
        os.write(self._side, text.encode())

    def stop(self) -> None:
        """Press Ctrl-C until it ends: Python misses one that comes just before it reads."""
        while self._process.poll() is None:
            with suppress(subprocess.TimeoutExpired, OSError):  # it may end just now
                os.write(self._side, b"\x03")
                self._process.wait(1)

    def end(self) -> int:
        """Read the rest, and return the status."""
        try:
            while more := os.read(self._side, 4096):
                self.seen += more.decode()
        except OSError:  # how a terminal says that nobody writes any more
            pass
        os.close(self._side)
        return self._process.wait(PATIENCE)


def dialogue(node: str, port: int, nothing: int) -> tuple[tuple[str, str], ...]:
    """Return questions and answers, with a wrong chain id and a wrong port first."""
    return (
        (r"Watch", "node"),
        (r"Chain id", "1"),
        (r"Its name", ""),
        (r"Address of the node", node),
        (r"again\?", "y"),
        (r"Watch .*\[node\]", ""),
        (r"Chain id \[1\]", str(CHAIN_ID)),
        (r"Its name", "Mine"),
        (r"Address of the node", ""),
        (r"Mail server", "localhost"),
        (r"Its port", str(nothing)),
        (r"Protected by", ""),
        (r"User name", USERNAME),
        (r"Password", "wrong"),
        (r"Who gets alerts", "ada@example.org"),
        (r"From which address", "linewatch@example.org"),
        (r"again\?", "y"),
        (r"Mail server", ""),
        (r"Its port", str(port)),
        (r"Protected by", ""),
        (r"User name", ""),
        (r"Password", PASSWORD),
        (r"Who gets alerts", ""),
        (r"From which address", ""),
        (r"Who signs in", "accounts"),
        (r"Address of the pages", ""),
    )


def test_person_who_answers_wrongly_hears_why_and_tries_again(installation: Installation) -> None:
    inbox, [nothing] = Inbox(), free_ports(1)
    person = Terminal(installation)
    with node_and_mail_server(inbox, installation) as (node, port):
        for question, text in dialogue(node, port, nothing):
            person.answer(question, f"{text}\n")
        status = person.end()

    settings = load_settings(installation.environment())
    assert status == 0, person.seen
    assert f"it follows network {CHAIN_ID}, not 1" in person.seen
    assert f"localhost port {nothing}: cannot be reached" in person.seen
    assert "linewatch people invite NAME --role admin" in person.seen
    assert PASSWORD not in person.seen
    assert settings.networks["node"].title == "Mine"
    assert settings.mail.smtp_port == port
    assert settings.sign_in.accounts


def test_person_without_a_mail_server_after_all_takes_its_name_back(
    installation: Installation,
) -> None:
    [nothing] = free_ports(1)
    person = Terminal(installation)

    for question, text in (
        (r"Watch", ""),
        (r"Mail server \(empty: mails are files", "localhost"),
        (r"Its port", str(nothing)),
        (r"Protected by", "none"),
        (r"User name", ""),
        (r"Who gets alerts", "ada@example.org"),
        (r"From which address", ""),
        (r"again\?", "y"),
        (r"Mail server \(a space: mails are files.*\[localhost\]", " "),
        (r"Who signs in", ""),
        (r"Address of the pages", ""),
    ):
        person.answer(question, f"{text}\n")
    status = person.end()

    assert status == 0, person.seen
    assert load_settings(installation.environment()).mail.smtp_host == ""


def test_person_who_stops_leaves_nothing_behind(installation: Installation) -> None:
    person = Terminal(installation)

    person.answer("Watch", "simulated\n")
    person.answer("Mail server", "")
    person.stop()

    assert person.end() in {130, -signal.SIGINT}  # a shell calls both 130
    assert "nothing was written" in person.seen
    assert written(installation) == []
