"""`linewatch config` tells people and programs the same, and no secret to either."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.installation import Installation, new_installation

CANARY = "c4nary-k3y-0123456789abcdef"
NOWHERE = f"""\
[networks.mine]
network_id = 5
title = "Mine"
exclusion = {{ url = "http://127.0.0.1:1", key = "{CANARY}" }}
gas = {{ url = "http://127.0.0.1:1", key = "{CANARY}" }}
node = {{ url = "http://127.0.0.1:1/{CANARY}" }}
"""
WRONG = f"""\
[poll]
gas_period = "soon"
[networks."\u202eevil\\u001b[31m"]
network_id = 5
gas = {{ uri = "x", key = "{CANARY}", url = ["{CANARY}"] }}
"""


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return new_installation(tmp_path)


def configure(installation: Installation, text: str) -> None:
    (installation.home / "linewatch.toml").write_text(text, encoding="utf-8")


def test_config_check_of_no_configuration_is_good(installation: Installation) -> None:
    checked = installation.run("config", "check")

    assert checked.returncode == 0
    assert checked.stdout == "The configuration is good. Networks: devnet.\n"


def test_config_check_tells_each_mistake_in_an_inert_line_without_a_secret(
    installation: Installation,
) -> None:
    configure(installation, WRONG)

    checked = installation.run("config", "check")

    assert checked.returncode == 2
    *mistakes, count = checked.stdout.splitlines()
    assert [line.partition("linewatch.toml, line ")[2][:1] for line in mistakes] == ["2", "5", "5"]
    assert count == "3 mistakes."
    assert checked.stderr == ""
    assert CANARY not in checked.stdout
    assert not {"\u202e", "\x1b"} & set(checked.stdout)


def test_config_check_tells_programs_the_file_and_line(installation: Installation) -> None:
    configure(installation, "[poll]\ngas_period = 'soon'\n")

    checked = installation.run("config", "check", "--json")

    [mistake] = json.loads(checked.stdout)["mistakes"]
    assert checked.returncode == 2
    assert mistake["setting"] == "poll.gas_period"
    assert (mistake["source"], mistake["line"]) == (f"{installation.home}/linewatch.toml", 2)


def test_config_show_tells_people_and_programs_the_same(installation: Installation) -> None:
    configure(installation, NOWHERE)

    people, programs = (
        installation.run("config", "show"),
        installation.run("config", "show", "--json"),
    )

    settings = json.loads(programs.stdout)["settings"]
    assert len(people.stdout.splitlines()) == len(settings) + 1
    assert CANARY not in people.stdout + programs.stdout
    assert {"setting": "networks.mine.title", "value": "Mine"}.items() <= next(
        each for each in settings if each["setting"] == "networks.mine.title"
    ).items()


def test_config_try_of_silent_endpoints_ends_with_one_and_tells_no_secret(
    installation: Installation,
) -> None:
    configure(installation, NOWHERE)

    tried = installation.run("config", "try")

    assert tried.returncode == 1
    assert tried.stdout.count("failed") == 6
    assert "220 calls, 17,600 credits" in tried.stdout
    assert "(assumed)" in tried.stdout
    assert CANARY not in tried.stdout + tried.stderr


def test_config_try_tells_programs_what_it_assumes(installation: Installation) -> None:
    configure(installation, NOWHERE)

    told = json.loads(installation.run("config", "try", "--json", "--network", "5").stdout)

    [network] = told["networks"]
    assert told["assumed_credits_per_call"] == 80
    assert network["cost"]["gas_credits_per_day"] == network["cost"]["gas_calls_per_day"] * 80


def test_config_try_tells_what_receipts_of_a_node_with_a_budget_cost(
    installation: Installation,
) -> None:
    node = 'node = { budget = "b", '
    budget = "[budgets.b]\ncredits_per_day = 100000000\n"
    configure(installation, budget + NOWHERE.replace("node = { ", node))

    people = installation.run("config", "try").stdout
    programs = installation.run("config", "try", "--json").stdout

    [network] = json.loads(programs)["networks"]
    calls = network["cost"]["receipt_calls_per_transaction"]
    credits_ = network["cost"]["receipt_credits_per_transaction"]
    assert credits_ == 80 * calls > 0
    assert f"whether it is in a block: up to {calls} calls, {credits_:,} credits" in people


def test_config_try_of_an_unknown_network_names_those_that_exist(
    installation: Installation,
) -> None:
    configure(installation, NOWHERE)

    refused = installation.run("config", "try", "--network", "yours")

    assert refused.returncode == 2
    assert "Mine (5)" in refused.stderr
