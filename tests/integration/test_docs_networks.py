"""docs/networks.md does what it says: every table loads, every command runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from dashboard.settings import load_settings
from dashboard.settings.load import read_configuration
from dashboard.wiring.networks import cost_of, networks_of
from tests.anvil import CHAIN_ID, running_anvil
from tests.installation import Installation, answers, new_installation
from tests.processes import PROJECT
from tests.waiting import eventually

PAGE = (PROJECT / "docs" / "networks.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)
KEYS = {
    "GATEWAY_KEY": "k",
    "GATEWAY_SECRET": "s",
    "SERVE_KEY": "k3y-of-the-docs",
    "NODE_URL": "http://127.0.0.1:1",
    "SECOND_URL": "http://127.0.0.1:1/v2/k",
}


def section(heading: str) -> str:
    """Return the text below a heading."""
    return PAGE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]


def tables(text: str) -> list[str]:
    return [block for kind, block in BLOCK.findall(text) if kind == "toml"]


def commands(text: str) -> list[list[str]]:
    """Return the command lines of a text, each as its words."""
    lines = [line for kind, block in BLOCK.findall(text) if not kind for line in block.splitlines()]
    return [shlex.split(line) for line in lines if line.startswith(("linewatch ", "curl "))]


def configured(folder: Path, table: str, **variables: str) -> Installation:
    """Plan an installation whose file holds a table of the page."""
    installation = new_installation(folder / "home", **(KEYS | variables))
    installation.home.mkdir(parents=True)
    (installation.home / "linewatch.toml").write_text(table, encoding="utf-8")
    return installation


def run_to_its_end(installation: Installation, words: list[str]) -> None:
    """Run a `linewatch` command; it must end well and without a word of trouble."""
    ended = installation.run(*words[1:])
    assert (ended.returncode, ended.stderr) == (0, ""), words


@pytest.mark.parametrize("table", tables(PAGE))
def test_table_of_the_page_is_a_good_configuration(tmp_path: Path, table: str) -> None:
    path = tmp_path / "linewatch.toml"
    path.write_text(table, encoding="utf-8")

    configuration = read_configuration({"LINEWATCH_HOME": str(tmp_path), **KEYS})

    assert configuration.mistakes() == []


def test_gateway_of_the_page_is_checked_without_being_asked(tmp_path: Path) -> None:
    text = section("A hosted gateway")
    installation = configured(tmp_path, tables(text)[0])

    for words in commands(text):
        run_to_its_end(installation, words)


def test_credits_of_the_page_are_those_of_the_presets(tmp_path: Path) -> None:
    presets = re.findall(r"^\| `([\w-]+)` \| (\d+) \|.*\| ([\d,]+) \|$", PAGE, re.MULTILINE)
    lines = [f'[networks.{preset}]\npreset = "{preset}"' for preset, _, _ in presets]
    (tmp_path / "linewatch.toml").write_text("\n".join(lines), encoding="utf-8")

    settings = load_settings({"LINEWATCH_HOME": str(tmp_path), **KEYS})
    costs = [(each.network_id, cost_of(each, settings)) for each in networks_of(settings)]

    told = [(str(network_id), f"{cost.of_fees.credits:,}") for network_id, cost in costs]
    assert told == [(network_id, credits_) for _, network_id, credits_ in presets]


def test_node_of_the_page_is_checked_and_tried(tmp_path: Path) -> None:
    text = section("Your own node")
    with running_anvil() as node:
        installation = configured(tmp_path, tables(text)[0], NODE_URL=node.url)

        for words in commands(text):
            run_to_its_end(installation, words)


def test_serve_of_the_page_runs_and_answers_everything_it_names(tmp_path: Path) -> None:
    serve = section("Your own serve")
    others = [
        section("Try what you configured"),
        section("Choose between calls and delay"),
        section("See the configuration in force"),
    ]
    todo = [words for text in (serve, *others) for words in commands(text)]
    assert ["linewatch", "up"] in todo  # of what it runs, the page asks serve alone
    with running_anvil() as node:
        installation = configured(tmp_path, tables(serve)[0], NODE_URL=node.url)
        assert installation.run("migrate").returncode == 0
        with installation.role("serve", tmp_path / "log"):
            [asked] = [words[-1] for words in todo if words[0] == "curl"]
            address = asked.replace("http://127.0.0.1:8502", installation.serve)
            address = address.replace("$SERVE_KEY", KEYS["SERVE_KEY"])
            eventually(lambda: answers(address), what="the answer of serve")

            for words in todo:
                if words[:2] == ["linewatch", "config"]:
                    run_to_its_end(installation, words)


def test_mistake_of_the_page_reads_as_it_does_there(tmp_path: Path) -> None:
    [example] = [
        line
        for _, block in BLOCK.findall(section("See the configuration in force"))
        for line in block.splitlines()
        if "did you mean" in line
    ]
    installation = configured(
        tmp_path,
        f'[networks.mine]\nnetwork_id = {CHAIN_ID}\ntitle = "My chain"\nnod = {{ url = "x" }}\n',
    )

    refused = installation.run("config", "check")

    assert refused.returncode == 2
    assert example in refused.stdout.replace(f"{installation.home}/", "")


def test_every_command_of_the_page_is_run_here() -> None:
    headings = (
        "A hosted gateway",
        "Your own node",
        "Your own serve",
        "Try what you configured",
        "Choose between calls and delay",
        "See the configuration in force",
    )

    run = [words for heading in headings for words in commands(section(heading))]

    assert run == commands(PAGE)
    assert {words[0] for words in run} == {"linewatch", "curl"}
