"""`linewatch alerts rehearse`: a storm with the real rules, and nothing that leaves the sandbox."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest

from dashboard.application.context import ApplicationContext
from dashboard.application.rules import AlertRules
from dashboard.domain.alerts.rule_table import merged_with
from dashboard.domain.people.access import Actor
from dashboard.store.engine.engine import open_store
from tests.builders import A_MOMENT
from tests.installation import Installation, new_installation
from tests.received_mail import mails_of


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Plan an installation in which rejections for the module HUB are silenced."""
    planned = new_installation(tmp_path / "home")
    assert planned.run("migrate").returncode == 0
    silenced = ("module=HUB", "--for", "8h", "--reason", "known")
    assert planned.run("silences", "add", *silenced).returncode == 0
    return planned


def test_channel_without_addresses_is_played_and_what_is_silenced_is_said(tmp_path: Path) -> None:
    hook = (
        '[mail]\nrecipients = ["oncall@localhost"]\n'
        '[channels.ops-hook]\nkind = "webhook"\nurl = "https://hook.example/x"\n'
        f'secrets = ["whsec_{b64encode(bytes(32)).decode()}"]\n'
    )
    planned = new_installation(tmp_path / "home")
    planned.home.mkdir()
    (planned.home / "linewatch.toml").write_text(hook, encoding="utf-8")
    assert planned.run("migrate").returncode == 0
    silenced = ("module=HUB", "--for", "8h", "--reason", "known")
    assert planned.run("silences", "add", *silenced).returncode == 0
    storm = ("alerts", "rehearse", "--rejections", "10", "--within", "2s")

    played = json.loads(planned.run(*storm, "--json").stdout)
    endless = planned.run("alerts", "rehearse", "--within", "9999d")
    far = planned.run("alerts", "rehearse", "--at", "2999-12-31T23:59Z")

    by_address = {each["address"] for each in played["messages"]}
    withheld = {(each["address"], each["changes"]) for each in played["withheld"]}
    assert by_address == {"oncall@localhost", "ops-hook"}
    assert withheld == {("oncall@localhost", 6), ("ops-hook", 6)}
    assert "known" in played["withheld"][0]["reason"]
    assert played["pending"] == 0
    assert (endless.returncode, "write at most 1d" in endless.stderr) == (2, True)
    assert (far.returncode, "within ten years" in far.stderr) == (2, True)


def test_storm_says_who_would_get_what_and_leaves_the_messages(
    installation: Installation, tmp_path: Path
) -> None:
    storm = ("--rejections", "10", "--within", "2s", "--folder", str(tmp_path / "sandbox"))

    played = json.loads(installation.run("alerts", "rehearse", *storm, "--json").stdout)
    again = installation.run("alerts", "rehearse", *storm)

    subjects = [each["subject"] for each in played["messages"]]
    assert {each["address"] for each in played["messages"]} == {"oncall@localhost"}
    assert len(mails_of(tmp_path / "sandbox" / "messages" / "mail")) == len(subjects)
    assert subjects
    assert not any("HUB" in each for each in subjects)
    assert not (installation.home / "mail").exists()
    assert (again.returncode, "name a new folder" in again.stderr) == (2, True)
    listed = json.loads(installation.run("alerts", "--json").stdout)
    assert listed["alerts"] == []


def test_rule_of_a_time_zone_that_is_gone_keeps_no_message_back(tmp_path: Path) -> None:
    planned = new_installation(tmp_path / "home")
    assert planned.run("migrate").returncode == 0
    table = {"kind": "rejected", "active": ["mon-sun 00:00-24:00"], "time_zone": "Europe/Gone"}
    with open_store(f"sqlite:///{planned.home}/linewatch.sqlite") as store:
        ask = AlertRules(ApplicationContext(store, (), lambda: A_MOMENT))
        ask.change(merged_with([ask.given("gone", table)]), Actor("Ada", A_MOMENT))

    played = planned.run("alerts", "rehearse", "--rejections", "2", "--json")

    assert played.returncode == 0, played.stderr
    assert json.loads(played.stdout)["messages"]
