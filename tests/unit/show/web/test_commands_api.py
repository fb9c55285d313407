"""Commands of programs elsewhere: each as its token, and with nothing of this machine's disk."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from dashboard.application.commands import register_commands
from dashboard.cli.served import CommandRunner
from dashboard.domain.people.access import Role
from dashboard.settings import load_settings
from dashboard.web.api.endpoint import PREFIX
from tests.unit.show.web.api_site import HASH, Site

LISTS = {
    ("rejections",): Role.VIEWER,
    ("lookup", "--stored", HASH): Role.VIEWER,
    ("fees",): Role.VIEWER,
    ("alerts",): Role.VIEWER,
    ("alerts", "incidents"): Role.VIEWER,
    ("rules", "list"): Role.VIEWER,
    ("recipients", "list"): Role.VIEWER,
    ("silences", "list"): Role.VIEWER,
    ("maintenance", "list"): Role.VIEWER,
    ("senders", "list"): Role.VIEWER,
    ("store",): Role.VIEWER,
    ("shares", "list"): Role.SUPPORT,
    ("keys", "list"): Role.ADMIN,
    ("people", "list"): Role.ADMIN,
    ("people", "sessions"): Role.ADMIN,
    ("tokens", "list"): Role.ADMIN,
    ("audit",): Role.ADMIN,
    ("config", "export"): Role.ADMIN,
}
ACTS = {
    ("track", HASH): Role.SUPPORT,
    ("shares", "create", HASH): Role.SUPPORT,
    ("silences", "add", "module=HUB", "--for", "1h", "--reason", "x"): Role.OPERATOR,
    ("rules", "edit", "rejections", "--set", "enabled=false"): Role.OPERATOR,
    ("recipients", "off", "a@example.org"): Role.OPERATOR,
    ("alerts", "test-send", "--to", "a@example.org"): Role.OPERATOR,
    ("keys", "create", "wallet"): Role.ADMIN,
    ("recipients", "renew-links"): Role.ADMIN,
}


@pytest.fixture(autouse=True)
def runner(tmp_path: Path) -> None:
    """Let commands run, as the pages do."""
    settings = load_settings({"LINEWATCH_HOME": str(tmp_path / "home")})
    register_commands(CommandRunner(settings, ()))


def run(site: Site, headers: dict[str, str], *arguments: str, **files: str) -> dict[str, Any]:
    answer = send(site, headers, *arguments, **files)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


def send(site: Site, headers: dict[str, str], *arguments: str, **files: str) -> httpx.Response:
    body = {"arguments": arguments, "files": files}
    return site.client.post(f"{PREFIX}/commands", json=body, headers=headers)


def test_command_takes_the_role_that_its_endpoint_takes(site: Site) -> None:
    for role in Role:
        headers, before = site.token(role), site.acted()
        for arguments, least in LISTS.items():
            done = run(site, headers, *arguments)
            is_refused = done["errors"] == f"linewatch: this takes the role {least.value}\n"
            assert is_refused is not role.includes(least), (role, arguments, done)
            assert bool(done["output"]) is not is_refused
        assert site.acted() == before


def test_act_beyond_the_role_changes_nothing(site: Site) -> None:
    for role in (Role.VIEWER, Role.SUPPORT, Role.OPERATOR):
        headers, before = site.token(role), site.acted()
        for arguments, least in ACTS.items():
            if not role.includes(least):
                done = run(site, headers, *arguments)
                assert done["status"] == 2, arguments
                assert f"role {least.value}" in done["errors"], (arguments, done)
        assert site.acted() == before


def test_token_of_some_subjects_runs_their_commands_alone(site: Site) -> None:
    headers = site.token(Role.ADMIN, "narrow", frozenset({"rules", "tokens"}))

    assert run(site, headers, "rules", "list")["status"] == 0
    for other in (("alerts",), ("alerts", "incidents"), ("keys", "list"), ("config", "export")):
        assert "does not open" in run(site, headers, *other)["errors"]
    for name, narrow, shown in (
        ("mails", {"notifications"}, ("alerts",)),
        ("found", {"lookups"}, ("lookup", "--stored", HASH[:12])),
        ("heard", {"senders"}, ("senders", "rank")),
        ("tried", {"rules"}, ("rules", "preview", "rejections")),
        ("still", {"silences"}, ("silences", "preview", "module=HUB")),
    ):
        done = run(site, site.token(Role.ADMIN, name, frozenset(narrow)), *shown)
        assert (done["status"], done["output"]) == (2, ""), shown
    more = run(site, headers, "tokens", "create", "wide")
    assert "makes no token that opens more" in more["errors"]
    assert run(site, headers, "tokens", "create", "w", "--only", "rules")["status"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("backup", "x"), "on the machine of the installation only"),
        (("up",), "on the machine of the installation only"),
        (("alerts", "--state", "dead", "rehearse"), "on the machine of the installation only"),
        (("config", "show"), "on the machine of the installation only"),
        (("--server", "https://x.example", "rules", "list"), "names no command"),
        (("--help",), "names no command"),
        (("rules", "list", "--help"), "No such option"),
        (("rules", "import", "/etc/passwd"), "was not sent"),
        (("track", "--file", "/etc/shadow"), "was not sent"),
        (("track", "-"), "needs transaction hashes"),
        (("track",), "needs transaction hashes"),
        (("answers", "check", "-"), "was not sent"),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else "",
)
def test_command_touches_neither_this_machine_nor_its_files(
    site: Site, arguments: tuple[str, ...], says: str
) -> None:
    done = run(site, site.token(), *arguments)

    assert (done["status"], done["output"]) == (2, "")
    assert says in done["errors"]


def test_commands_at_once_print_each_for_itself(site: Site) -> None:
    headers = site.token()
    words = [("rules", "list"), ("rejections",), ("fees",)] * 4

    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda each: run(site, headers, *each)["output"], words))

    assert len(set(found)) == 3
    assert found[:3] * 4 == found
