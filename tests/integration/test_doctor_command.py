"""`linewatch doctor` says what the page Health says."""

from __future__ import annotations

import json
from pathlib import Path

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
