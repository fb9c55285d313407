"""The settings in force are listed with where each comes from, and without a secret."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.application.context import SettingChange
from dashboard.domain.secret import MASK
from dashboard.settings.listing import changed_settings, effective_settings
from dashboard.settings.load import Configuration
from tests.unit.settings.configuration_files import read


def effective(configuration: Configuration) -> dict[str, tuple[object, str]]:
    return {
        each.setting: (each.value, str(each.location)) for each in effective_settings(configuration)
    }


def test_effective_setting_says_where_it_comes_from(tmp_path: Path) -> None:
    found = effective(read(tmp_path, "[pages]\nport = 9000\n", LINEWATCH_SERVE_PORT="9001"))

    assert found["pages.port"] == (9000, f"{tmp_path}/own.toml, line 2")
    assert found["serve.port"] == ("9001", "the variable LINEWATCH_SERVE_PORT")
    assert found["pages.host"][1].partition(", ")[0].endswith("config/default.toml")


def test_effective_secret_is_masked_unless_it_only_says_where_it_is_kept(tmp_path: Path) -> None:
    text = """\
[mail]
password = "canary"
[networks.mine]
network_id = 5
node = { url = "https://canary.example/canary" }
gas = { url = "env:GAS_URL", key = "file:/run/secrets/key" }
"""

    found = effective(read(tmp_path, text, GAS_URL="https://canary"))

    assert "canary" not in str(found)
    assert found["networks.mine.gas.url"][0] == "env:GAS_URL"
    assert found["networks.mine.gas.key"][0] == "file:/run/secrets/key"


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ('[serve.keys]\nlinewatch = "canary"', "serve.keys.linewatch"),
        ('[serve]\nkeys = "canary"', "serve.keys"),
        ('[networks.mine]\nnode = "https://gw/v3/canary"', "networks.mine.node"),
        ('[networks]\nmine = "https://gw/v3/canary"', "networks.mine"),
        ('networks = ["canary"]', "networks"),
        ('[networks.mine]\ngass = { uri = "canary" }', "networks.mine.gass.uri"),
        ('[networks.mine]\ngas = { api_key = "canary" }', "networks.mine.gas.api_key"),
        ('[networks.mine]\ntitle = { a = "canary" }', "networks.mine.title.a"),
        ('[mail]\npasword = "canary"', "mail.pasword"),
        ('[mail]\nrecipients = [{ a = "canary" }]', "mail.recipients"),
        ('api_key = "canary"', "api_key"),
    ],
)
def test_effective_value_at_a_wrong_place_is_masked(
    tmp_path: Path, text: str, setting: str
) -> None:
    found = effective(read(tmp_path, text))

    assert found[setting][0] == "•••"
    assert "canary" not in str(found)


def test_effective_value_that_is_no_secret_is_shown(tmp_path: Path) -> None:
    text = """\
[mail]
recipients = ["ops@example.org"]
username = "me"
[networks.mine]
network_id = 5
title = "Mine"
block_time = "2s"
node = { url = "https://canary", method_prefix = "eth" }
"""

    found = effective(read(tmp_path, text))

    assert {name: value for name, (value, _) in found.items() if "mine" in name} == {
        "networks.mine.network_id": 5,
        "networks.mine.title": "Mine",
        "networks.mine.block_time": "2s",
        "networks.mine.node.url": "•••",
        "networks.mine.node.method_prefix": "eth",
    }
    assert found["mail.recipients"][0] == ["ops@example.org"]
    assert found["mail.username"][0] == "me"


def test_effective_roles_of_groups_are_shown(tmp_path: Path) -> None:
    text = """\
[sign_in.issuers.mine]
url = "https://id.example"
client_id = "linewatch"
client_secret = "env:CLIENT_SECRET"
roles = { "*" = "viewer" }
"""

    found = effective(read(tmp_path, text, CLIENT_SECRET="canary"))

    assert found["sign_in.issuers.mine.roles.*"][0] == "viewer"


def test_effective_secret_of_a_variable_is_masked(tmp_path: Path) -> None:
    found = effective(read(tmp_path, LINEWATCH_MAIL_PASSWORD="canary"))

    assert found["mail.password"] == ("•••", "the variable LINEWATCH_MAIL_PASSWORD")


def test_effective_state_folder_is_told(tmp_path: Path) -> None:
    assert effective(read(tmp_path))["home"] == (str(tmp_path), "the variable LINEWATCH_HOME")


def test_effective_address_of_a_preset_is_shown(tmp_path: Path) -> None:
    text = "[networks.mine]\npreset = 'linea-mainnet'\n"

    found = effective(read(tmp_path, text, GATEWAY_KEY="canary"))

    assert str(found["networks.mine.gas.url"][0]).startswith("https://")
    assert found["networks.mine.gas.key"][0] == "env:GATEWAY_KEY"


def test_setting_says_what_default_toml_says_of_it(tmp_path: Path) -> None:
    found = {each.setting: each for each in effective_settings(read(tmp_path, "[pages]\nport = 9"))}

    assert found["pages.port"].default == 8501
    assert not found["pages.port"].is_default
    assert found["pages.port"].meaning == ""
    assert found["pages.public_url"].is_default
    assert found["store.low_space"].meaning == (
        "with less free on the disk of a SQLite file, Health and Overview say so and a mail goes "
        "out; 0B: never"
    )
    assert found["fees.low.min_wait"].meaning == ""


def test_changed_settings_are_named_without_what_they_hold(tmp_path: Path) -> None:
    before = read(tmp_path, '[mail]\npassword = "canary"\n[networks.mine]\nnetwork_id = 5')
    after = read(tmp_path, '[mail]\npassword = "other"\n[pages]\nport = 8501\n')

    assert changed_settings(before, after) == [
        SettingChange("mail.password", MASK, MASK),
        SettingChange("networks.mine.network_id", "5", "", needs_restart=True),  # the last one
    ]
    assert changed_settings(after, after) == []
