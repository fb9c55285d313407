"""Commands at an installation elsewhere: the same words, the same status, under the token's name.

The examples of the docs run against the same pages.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.builders import a_hash, an_address
from tests.installation import Installation, answers, new_installation
from tests.integration.seeded_installation import tell_story
from tests.processes import PROJECT, finished, shared_launcher
from tests.waiting import eventually

HASH = str(a_hash(1))
EXAMPLES = sorted((PROJECT / "docs/examples").glob("*.*"))
RULES = '[rules.hub]\nkind = "rejected"\nmodules = ["HUB"]\n'


@pytest.fixture(scope="module")
def there(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Serve the pages of an installation that has seen something."""
    folder = tmp_path_factory.mktemp("there")
    installation = new_installation(folder / "home")
    tell_story(installation)
    installation.run("silences", "add", "module=HUB", "--for", "8h", "--reason", "known")
    installation.run("track", HASH, "--label", "Case 17")
    with installation.role("pages", folder / "log"):
        eventually(lambda: answers(f"{installation.pages}/live"), what="the start of the pages")
        yield installation


@pytest.fixture(scope="module")
def here(there: Installation, tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Return a machine without a store or settings, which has a token for the other one."""
    return _with_token(there, tmp_path_factory.mktemp("here"), "ci", "admin")


def _with_token(there: Installation, folder: Path, name: str, role: str) -> Installation:
    made = there.run("tokens", "create", name, "--role", role, "--json").stdout
    variables = {
        "LINEWATCH_HOME": str(folder / "nothing"),
        "LINEWATCH_SERVER": there.pages,
        "LINEWATCH_TOKEN": json.loads(made)["token"],
    }
    return replace(there, home=folder / "nothing", variables=variables)


def _said(finished: subprocess.CompletedProcess[str]) -> tuple[int, str, str]:
    timeless = re.sub(r"\d\d:\d\d:\d\d", "now", finished.stdout)
    return finished.returncode, timeless, finished.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("rejections",),
        ("rejections", "--json", "--exit-code"),
        ("rejections", "--csv"),
        ("rejections", "--network", "nowhere"),
        ("lookup", "--stored", HASH, "0x12"),
        ("alerts", "acknowledge", "ffffffff"),
        ("rules", "export"),
        ("rules", "list", "--sideways"),
        ("senders", "unwatch", str(an_address())),
        ("config", "export"),
    ],
    ids=" ".join,
)
def test_command_says_elsewhere_what_it_says_on_the_machine(
    there: Installation, here: Installation, arguments: Sequence[str]
) -> None:
    local, remote = _said(there.run(*arguments)), _said(here.run(*arguments))

    assert remote == local
    assert not here.home.exists()


def test_act_is_that_of_the_token_and_files_go_with_it(
    there: Installation, here: Installation, tmp_path: Path
) -> None:
    file = tmp_path / "hashes.txt"
    file.write_text(f"{a_hash(5)}\nnone\n", encoding="utf-8")

    of_file = here.run("track", "--file", str(file), "--label", "from afar")
    of_input = here.run("track", "-", "--json", given=str(a_hash(6)))
    rules = here.run("rules", "import", "-", "--replace", given=RULES)
    wrong = here.run("rules", "import", "-", given="[rules.hub]\nkind = 'x'\n")
    other = here.run("silences", "end", "1", "--by", "Ada")

    assert (of_file.returncode, rules.returncode) == (2, 0)  # a line of the file is no hash
    assert str(file) in of_file.stdout
    assert json.loads(of_input.stdout)["tracked"] == 1
    assert (wrong.returncode, "kind" in wrong.stderr) == (2, True)
    assert other.stderr == "linewatch: ci (token) acts under its own name: leave --by out\n"
    entries = json.loads(there.run("audit", "--json", "--limit", "20").stdout)["entries"]
    acts = {(each["action"], each["from"]) for each in entries if each["actor"] == "ci (token)"}
    assert acts == {("track", "127.0.0.1"), ("add-rule", "127.0.0.1"), ("remove-rule", "127.0.0.1")}


def test_token_does_what_its_role_may_and_stands_in_no_message(
    there: Installation, here: Installation, tmp_path: Path
) -> None:
    viewer = _with_token(there, tmp_path, "eyes", "viewer")
    secret = viewer.variables["LINEWATCH_TOKEN"]
    gone = replace(here, variables={**here.variables, "LINEWATCH_TOKEN": f"{secret}x"})
    without = {key: text for key, text in here.variables.items() if key != "LINEWATCH_TOKEN"}

    refused = viewer.run("silences", "end", "1")
    unseen = viewer.run("keys", "list")
    stale = gone.run("rules", "list")
    nothing = replace(here, variables=without).run("rules", "list")
    local = viewer.run("backup", "x")

    assert refused.stderr == (
        "linewatch: eyes (token) is a viewer here, and end-silence takes the role operator: "
        "ask an admin\n"
    )
    assert unseen.stderr == "linewatch: this takes the role admin\n"
    assert "send a valid token" in stale.stderr.lower()
    assert "LINEWATCH_TOKEN" in nothing.stderr
    assert "on the machine of the installation only" in local.stderr
    for each in (refused, unseen, stale, nothing, local):
        assert (each.returncode, each.stdout) == (2, "")
        assert secret not in each.stderr


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_example_runs(here: Installation, example: Path) -> None:
    commands = shared_launcher().client.parent
    starts = [sys.executable] if example.suffix == ".py" else ["/bin/sh", "-eu"]

    ended = finished(
        [*starts, str(example), HASH],
        env={**os.environ, **here.variables, "PATH": f"{commands}:{os.environ['PATH']}"},
    )

    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout
