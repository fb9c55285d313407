"""`linewatch doctor` says what the page Health says."""

from __future__ import annotations

import json
from pathlib import Path

from tests.full_disk import disk_that_takes_nothing
from tests.installation import new_installation


def test_installation_without_a_worker_is_told_what_helps(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")
    assert installation.run("migrate").returncode == 0
    assert installation.run("backup", str(tmp_path / "copy.sqlite")).returncode == 0

    said = installation.run("doctor", "--exit-code")
    found = json.loads(installation.run("doctor", "--json").stdout)

    assert said.returncode == 3
    assert "No worker runs. Nothing is asked and nothing is sent" in said.stdout
    assert "last backup" in said.stdout
    assert "linewatch.sqlite" in said.stdout
    assert [each["what"] for each in found["troubles"]] == ["No worker runs."]
    assert found["isWell"] is False
    assert found["backedUpAt"] is not None


def test_store_that_saves_nothing_is_not_well(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")
    assert installation.run("migrate").returncode == 0

    with disk_that_takes_nothing():
        said = installation.run("doctor")

    assert "The store cannot be written." in said.stdout
    assert "its disk is full: free some space there" in said.stdout
    assert "All is well" not in said.stdout
