"""`linewatch alerts rehearse`: a storm with the real rules, and nothing that leaves the sandbox."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
    assert (again.returncode, "name a folder that is not there yet" in again.stderr) == (2, True)
    listed = json.loads(installation.run("alerts", "--json").stdout)
    assert listed["alerts"] == []
