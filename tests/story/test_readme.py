"""What the README tells people to type does what it says."""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from dashboard.settings import load_settings
from dashboard.wiring.networks import networks_of
from tests.installation import Installation, command, new_installation
from tests.processes import PROJECT
from tests.waiting import PATIENCE, eventually

README = (PROJECT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)
CURLS = [
    line
    for _, block in BLOCKS
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("curl ")
]


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Installation]:
    """Run everything but the pages."""
    folder = tmp_path_factory.mktemp("readme")
    installation = new_installation(folder / "home")
    fees = f"{installation.serve}/v3/dev/networks/424242/busyThreshold"
    with installation.start(command("up", "--no-pages"), folder / "log"):
        eventually(lambda: _is_answered(fees), what="the first fees")
        yield installation


def _is_answered(address: str) -> bool:
    try:
        return httpx.get(address, timeout=PATIENCE).is_success
    except httpx.HTTPError:
        return False


def test_readme_shows_how_to_ask_both_apis() -> None:
    assert len(CURLS) == 5


@pytest.mark.parametrize("line", CURLS, ids=lambda line: line.split("/")[-1][:30])
def test_readme_command_is_answered(installation: Installation, line: str) -> None:
    typed = line.replace(":8502", f":{installation.serve_port}")

    asked = subprocess.run(typed, shell=True, capture_output=True, text=True, check=True)  # noqa: S602 - typed as a person types it

    answer = json.loads(asked.stdout)
    assert "error" not in answer
    assert "statusCode" not in answer


def test_readme_configuration_is_accepted(tmp_path: Path) -> None:
    (example,) = [block for kind, block in BLOCKS if kind == "toml"]
    path = tmp_path / "linewatch.toml"
    path.write_text(example, encoding="utf-8")
    secrets = {"GATEWAY_KEY": "k", "SMTP_PASSWORD": "p", "NODE_URL": "http://node.example"}

    settings = load_settings({"LINEWATCH_CONFIG": str(path), **secrets})

    assert [network.network_id for network in networks_of(settings)] == [59144, 31337]
    assert settings.mail.recipients == ["oncall@example.org"]
