"""Commands about incidents and recipients, each a process of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.installation import Installation, new_installation
from tests.integration.seeded_installation import HOSTILE, tell_story


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Plan an installation with incidents."""
    planned = new_installation(tmp_path / "home")
    tell_story(planned)
    return planned


def test_incident_is_acknowledged_handed_over_and_resolved(installation: Installation) -> None:
    listed = json.loads(installation.run("alerts", "incidents", "--json").stdout)["incidents"]
    name = listed[0]["incidentId"][:8]

    held = installation.run("alerts", "acknowledge", name, "--by", "Ada", "--note", HOSTILE)
    again = installation.run("alerts", "acknowledge", name, "--by", "Bob", "--json")
    given = installation.run("alerts", "hand-over", name, "--to", "Bob")
    installation.run("alerts", "resolve", name)
    refused = installation.run("alerts", "acknowledge", name)
    over = json.loads(installation.run("alerts", "incidents", "--over", "--json").stdout)

    assert "acknowledged, Ada has it in hand." in held.stdout
    assert (json.loads(again.stdout)["owner"], json.loads(again.stdout)["isChanged"]) == (
        "Ada",
        False,
    )
    assert "Bob has it in hand." in given.stdout
    assert (refused.returncode, "is over since" in refused.stderr) == (2, True)
    [story] = [each["story"] for each in over["incidents"] if each["incidentId"].startswith(name)]
    assert story[-1]["what"].startswith("resolved by ")


def test_incident_that_nobody_knows_is_a_mistake(installation: Installation) -> None:
    refused = installation.run("alerts", "acknowledge", "zzzz")

    assert refused.returncode == 2
    assert "names no incident: `linewatch alerts incidents` lists them" in refused.stderr


def test_address_is_turned_off_and_on_on_record(installation: Installation) -> None:
    off = installation.run("recipients", "off", "dev@example.org", "--note", "on leave")
    listed = json.loads(installation.run("recipients", "list", "--json").stdout)["off"]
    on = installation.run("recipients", "on", "dev@example.org")
    again = installation.run("recipients", "on", "dev@example.org")

    assert (off.stdout, on.stdout) == (
        "dev@example.org: off now.\n",
        "dev@example.org: on again.\n",
    )
    assert [(each["address"], each["note"]) for each in listed] == [("dev@example.org", "on leave")]
    assert again.returncode == 2
    audit = json.loads(installation.run("audit", "--json").stdout)["entries"]
    assert [each["action"] for each in audit[:2]] == ["subscribe", "unsubscribe"]
