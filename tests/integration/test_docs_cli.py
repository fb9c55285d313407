"""docs/cli.md does what it says: every command runs. docs/json.md has every key of JSON."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.builders import a_hash, an_address
from tests.installation import Installation, answers, new_installation
from tests.integration.seeded_installation import tell_story
from tests.processes import PROJECT, finished, shared_launcher
from tests.waiting import eventually

PAGE = (PROJECT / "docs" / "cli.md").read_text(encoding="utf-8")
KEYS = (PROJECT / "docs" / "json.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
STARTS_EVERYTHING = "linewatch up"
A_SCRIPT = re.compile(r"^case ", re.MULTILINE)
STORIES = [
    [line for line in lines if STARTS_EVERYTHING not in line]
    for block in BLOCKS
    for lines in [[block] if A_SCRIPT.search(block) else block.splitlines()]
    if STARTS_EVERYTHING not in lines[0]
]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Serve the APIs of an installation that has seen something."""
    folder = tmp_path_factory.mktemp("docs")
    installation = new_installation(
        folder / "home",
        HASH=str(a_hash(1)),
        PATH=f"{shared_launcher().client.parent}:/usr/local/bin:/usr/bin:/bin",
    )
    tell_story(installation)
    (folder / "hashes.txt").write_text(f"{a_hash(2)}\n{a_hash(3)}\n", encoding="utf-8")
    (folder / "transactions.csv").write_text(f"hash,label\n{a_hash(4)},a\n", encoding="utf-8")
    with installation.role("serve", folder / "log"):
        eventually(lambda: answers(f"{installation.serve}/live"), what="the start of serve")
        yield installation


@pytest.mark.parametrize("story", STORIES, ids=[story[0] for story in STORIES])
def test_commands_of_the_page_run_in_their_order(
    installation: Installation, story: list[str]
) -> None:
    for line in story:
        ended = _run(installation, line.replace("--into demo", "--into demo --days 1"))

        found = (0, 3) if "--exit-code" in line and not A_SCRIPT.search(line) else (0,)
        assert ended.returncode in found, f"{line}: {ended.stderr}"
        assert (ended.stderr, ended.stdout == "") == ("", False), line


def test_page_has_every_command_thatanswers() -> None:
    text = "\n".join(line for story in STORIES for line in story)

    named = set(re.findall(r"linewatch ([a-z-]+)", text))

    assert named == {
        *(
            "lookup",
            "answers",
            "track",
            "senders",
            "rejections",
            "fees",
            "alerts",
            "keys",
            "audit",
            "export",
            "store",
            "doctor",
        ),
        "demo-history",
    }


@pytest.mark.parametrize(
    "arguments",
    [
        ("lookup", str(a_hash(1))),
        ("track", str(a_hash(1)), "0x12"),
        ("senders", "watch", str(an_address())),
        ("senders", "list"),
        ("senders", "rank"),
        ("rejections",),
        ("fees",),
        ("fees", "--since", "2h"),
        ("alerts",),
        ("audit",),
        ("store",),
        ("doctor",),
        ("keys", "list"),
        ("keys", "create", "json"),
    ],
)
def test_key_of_json_stands_on_the_page(
    installation: Installation, arguments: tuple[str, ...]
) -> None:
    keys = set(_keys(json.loads(installation.run(*arguments, "--json").stdout)))

    assert keys
    assert keys - set(re.findall(r"`(?:…)?(\w+)(?:\[\])?`", KEYS)) == set()


def _run(installation: Installation, line: str) -> subprocess.CompletedProcess[str]:
    return finished(
        ["/bin/sh", "-c", line],
        env=installation.environment(),
        cwd=installation.home.parent,
    )


def _keys(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for inner in value.values():
            yield from _keys(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _keys(inner)
