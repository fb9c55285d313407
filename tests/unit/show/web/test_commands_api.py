"""Commands of programs elsewhere: each as its token, and with nothing of this machine's disk."""

from __future__ import annotations

import json
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import click
import httpx
import pytest

from dashboard.application.application import register_commands
from dashboard.cli.installation import Served, ServedInstallation
from dashboard.cli.main import linewatch
from dashboard.cli.output import print_rows
from dashboard.cli.place import subjects_of
from dashboard.cli.served import CommandRunner
from dashboard.domain.people.access import READS_ACCESS, Action, Actor, Role, least_role
from dashboard.errors import InputError
from dashboard.settings import load_settings
from dashboard.web.api.endpoint import PREFIX
from tests.browser.seeded_incidents import seed_incidents
from tests.builders import A_MOMENT
from tests.unit.cli.test_place import commands
from tests.unit.show.web.api_site import HASH, Site

COMMANDS: Mapping[str, Action | Role] = {
    **dict.fromkeys(
        ("rejections", "lookup --stored {hash}", "fees", "store", "alerts"), Role.VIEWER
    ),
    **dict.fromkeys(("answers show", "answers check -", "config plan"), Role.VIEWER),
    **dict.fromkeys(("answers import -", "answers reset"), Action.CHANGE_ANSWERS),
    "track {hash}": Action.TRACK,
    **dict.fromkeys(("senders list", "senders rank"), Role.VIEWER),
    "senders watch {sender}": Action.WATCH_SENDER,
    "senders unwatch {sender}": Action.UNWATCH_SENDER,
    "alerts incidents": Role.VIEWER,
    "alerts acknowledge {incident}": Action.ACKNOWLEDGE,
    "alerts unacknowledge {incident}": Action.UNACKNOWLEDGE,
    "alerts hand-over {incident} --to Eve": Action.HAND_OVER,
    "alerts resolve {incident}": Action.RESOLVE,
    "alerts test-send --to a@example.org": Action.TEST_SEND,
    "resend --to night@example.org": Action.RESEND,
    **dict.fromkeys(("rules list", "rules show busy", "rules export"), Role.VIEWER),
    "rules preview busy": Role.VIEWER,
    "rules add hub --set kind=rejected": Action.ADD_RULE,
    "rules edit rejections --set enabled=false": Action.CHANGE_RULE,
    "rules import -": Action.CHANGE_RULE,
    "rules remove disk": Action.REMOVE_RULE,
    "recipients list": Role.VIEWER,
    "recipients verify night@example.org": Action.ASK_TO_VERIFY,
    "recipients verify night@example.org 000000": Action.VERIFY,
    "recipients set night@example.org --any-hour": Action.CHANGE_RECIPIENT,
    "recipients off night@example.org": Action.TURN_OFF,
    "recipients on night@example.org": Action.TURN_ON,
    "recipients renew-links": Action.RENEW_LINK_KEY,
    **dict.fromkeys(("silences list", "silences preview module=HUB"), Role.VIEWER),
    "silences add module=HUB --for 1h --reason x": Action.SILENCE,
    "silences end 1": Action.END_SILENCE,
    "maintenance list": Role.VIEWER,
    "maintenance add module=HUB --for 1h --reason x": Action.PLAN_MAINTENANCE,
    "maintenance end 2": Action.END_MAINTENANCE,
    "keys list": READS_ACCESS,
    "keys create other": Action.CREATE_KEY,
    "keys limit wallet --rate 5/s": Action.LIMIT_KEY,
    "keys rotate wallet": Action.ROTATE_KEY,
    "keys rename wallet purse": Action.RENAME_KEY,
    "keys revoke purse": Action.REVOKE_KEY,
    **dict.fromkeys(("people list", "people sessions"), READS_ACCESS),
    "people invite Eve": Action.INVITE,
    "people role Bob support": Action.CHANGE_ROLE,
    "people disable Bob": Action.DISABLE_PERSON,
    "people enable Bob": Action.ENABLE_PERSON,
    "people reset-factors Bob": Action.RESET_FACTORS,
    "people sign-out --all-of Bob": Action.END_SESSION,
    "people remove Bob": Action.REMOVE_PERSON,
    "shares list": Role.SUPPORT,
    "shares create {hash}": Action.SHARE,
    "shares revoke 1": Action.END_SHARE,
    "tokens list": READS_ACCESS,
    "tokens create other": Action.CREATE_TOKEN,
    "tokens revoke ci": Action.REVOKE_TOKEN,
    "audit": READS_ACCESS,
    "config export": READS_ACCESS,
    "config import -": Action.IMPORT,
    "config set mail.recipients=night@example.org": Action.CHANGE_SETTINGS,
}
"""Every command that runs for programs elsewhere, and which role it takes."""

MADE = (
    "silences add module=ADD --for 1h --reason x",
    "maintenance add module=ADD --for 1h --reason x",
    "keys create wallet",
    "people invite Bob",
    "shares create {hash}",
    "tokens create ci",
)
"""What is there to be ended: the first silence has the number 1, the window 2."""


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
    seed_incidents(site.store, A_MOMENT)
    [incident] = [each for each in site.application.incidents.open() if each.incident.owner]
    named = {
        "hash": HASH,
        "sender": "0x" + "7" * 40,
        "incident": str(incident.incident.incident_id),
    }
    root = site.token(Role.ADMIN, "root")
    for words in MADE:
        assert run(site, root, *words.format(**named).split())["status"] == 0, words
    files = {
        each: run(site, root, *each.split())["output"]
        for each in ("answers show", "rules export", "config export")
    }
    for role in Role:  # the least one first: what it must not do is still to be done
        headers = site.token(role)
        for words, least in COMMANDS.items():
            needed = least if isinstance(least, Role) else least_role(least)
            if words.startswith("alerts test-send") and role.includes(needed):
                continue  # it would call a mail server
            text = next((files[each] for each in files if each.split()[0] == words.split()[0]), "")
            before = site.acted()
            done = run(site, headers, *words.format(**named).split(), **{"-": text})
            is_refused = f"takes the role {needed.value}" in done["errors"]
            assert is_refused is not role.includes(needed), (role, words, done)
            if is_refused:
                assert (done["status"], site.acted()) == (2, before), words


def test_no_command_that_runs_for_programs_elsewhere_is_without_a_role() -> None:
    served = [each for each in commands(linewatch) if is_served(each)]
    for path in served:
        assert any(f"{each} ".startswith(f"{path} ") for each in COMMANDS), (
            f"`linewatch {path}` is new: say in COMMANDS which role it takes"
        )


def is_served(path: str) -> bool:
    try:
        return bool(subjects_of(path))
    except InputError:
        return False


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
    assert "cannot make a token that opens more" in more["errors"]
    assert run(site, headers, "tokens", "create", "w", "--only", "rules")["status"] == 0


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("backup", "x"), "on the machine of the installation only"),
        (("up",), "on the machine of the installation only"),
        (("alerts", "--state", "dead", "rehearse"), "on the machine of the installation only"),
        (("config", "show"), "on the machine of the installation only"),
        (("--server", "https://x.example", "rules", "list"), "is not a command"),
        (("--help",), "is not a command"),
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


def test_name_of_a_file_that_would_stand_in_each_line_is_short(site: Site) -> None:
    headers, name = site.token(Role.SUPPORT), "n" * 1_001

    refused = [
        send(site, headers, "track", name),
        send(site, headers, "track", "--file", "list", **{name: "a\n" * 5_000}),
    ]

    assert [each.status_code for each in refused] == [400, 400]


def test_text_that_was_sent_is_read_once_however_often_it_is_named(site: Site) -> None:
    headers = site.token()

    asked = run(site, headers, "lookup", "--stored", *["-"] * 3, **{"-": "x" * 1_500_000})

    assert "holds no transaction hash" in asked["errors"]


def test_file_that_was_sent_is_tracked_once_however_often_it_is_named(site: Site) -> None:
    headers = site.token(Role.SUPPORT)

    done = run(site, headers, "track", *["--file", "list"] * 3, list=HASH)

    assert done["output"].count(HASH) == 1


def test_command_of_a_program_lists_no_more_than_a_hundred_thousand_rows(site: Site) -> None:
    headers = site.token()

    for words in ("alerts", "alerts incidents", "audit", "rejections", "senders rank"):
        done = run(site, headers, *words.split(), "--limit", "100001")
        assert (done["status"], "not in the range" in done["errors"]) == (2, True), words


def test_search_of_a_program_is_as_short_as_on_a_page(site: Site) -> None:
    headers, text = site.token(), "x " * 101

    for words in ("audit --search", "alerts --search", "rejections --search", "rejections --label"):
        done = run(site, headers, *words.split(), text)
        assert (done["status"], "characters: write at most" in done["errors"]) == (2, True), words
    reply = site.client.get(f"{PREFIX}/audit", params={"search": text}, headers=headers)
    assert reply.status_code == 400


def test_table_that_is_too_wide_is_refused_before_it_is_laid_out(site: Site) -> None:
    by = Actor("ci (token)", A_MOMENT)
    settings = load_settings({"LINEWATCH_HOME": str(site.folder)})
    here = ServedInstallation(settings, (), site.application.context, by, None)
    served = Served(here, {}, lambda _: None)

    with click.Context(linewatch, obj=served):
        print_rows([("wide", "1"), ("x" * 20_000, "2")])
        with pytest.raises(InputError, match="the answer has more than 20,000,000 characters"):
            print_rows([("x" * 20_000, "1"), *[("a", "b")] * 1_000])

    assert served.output.tell() < 60_000


def test_folder_of_the_server_is_not_told(site: Site) -> None:
    done = run(site, site.token(Role.VIEWER), "answers", "show", "--json")

    assert json.loads(done["output"])["file"] == "answers.toml"
    assert str(site.folder) not in done["output"]


def test_commands_at_once_print_each_for_itself(site: Site) -> None:
    headers = site.token()
    words = [("rules", "list"), ("rejections",), ("fees",)] * 4

    with ThreadPoolExecutor(6) as threads:
        found = list(threads.map(lambda each: run(site, headers, *each)["output"], words))

    assert len(set(found)) == 3
    assert found[:3] * 4 == found
