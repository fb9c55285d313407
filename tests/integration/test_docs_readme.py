"""The configuration that the README shows is accepted."""

from __future__ import annotations

import re
from pathlib import Path

from dashboard.settings import load_settings
from dashboard.wiring.networks import networks_of
from tests.processes import PROJECT

README = (PROJECT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


def test_readme_configuration_is_accepted(tmp_path: Path) -> None:
    (example,) = [block for kind, block in BLOCKS if kind == "toml"]
    path = tmp_path / "linewatch.toml"
    path.write_text(example, encoding="utf-8")
    secrets = {"GATEWAY_KEY": "k", "SMTP_PASSWORD": "p", "NODE_URL": "http://node.example"}

    settings = load_settings({"LINEWATCH_CONFIG": str(path), **secrets})

    assert [network.network_id for network in networks_of(settings)] == [59144, 31337]
    assert settings.mail.recipients == ["oncall@example.org"]
