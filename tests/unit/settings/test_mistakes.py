"""All mistakes of a configuration are found at once, each with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.errors import SettingsError
from dashboard.settings import load_settings
from dashboard.settings.listing import effective_settings
from dashboard.settings.load import Configuration, read_configuration
from tests.unit.settings.files import read

MANY = """\
[pages]
prot = 9000
port = 70000

[mail]
recipients = ["a@example.org", 7]

[networks.mine]
title = "Mine"
gas = { uri = "https://h", key = "k" }

[networks.yours]
preset = "nowhere"
network_id = "one"
"""


def lines(configuration: Configuration) -> dict[str, int | None]:
    """Return the line of each mistake by its setting."""
    return {
        each.setting: None if each.place is None else each.place.line
        for each in configuration.mistakes()
    }


def test_every_mistake_is_named_with_its_line(tmp_path: Path) -> None:
    assert lines(read(tmp_path, MANY)) == {
        "pages.prot": 2,
        "pages.port": 3,
        "mail.recipients.1": 6,
        "networks.mine": 8,
        "networks.mine.gas.uri": 10,
        "networks.mine.gas": 10,
        "networks.yours.network_id": 14,
        "networks.yours.preset": 13,
    }


def test_mistake_reads_as_a_sentence_with_its_place(tmp_path: Path) -> None:
    [mistake] = read(tmp_path, "[pages]\nport = 70000\n").mistakes()

    assert str(mistake) == (
        f"pages.port (in {tmp_path}/own.toml, line 2) is '70000': expected `int` <= 65535"
    )


def test_variable_that_is_wrong_is_found_beside_the_file(tmp_path: Path) -> None:
    configuration = read(tmp_path, "[pages]\nprot = 1\n", LINEWATCH_SERVE_PORT="x", LINEWATCH_X="1")

    assert lines(configuration) == {
        "pages.prot": 2,
        "serve.port": None,
        "the variable LINEWATCH_X": None,
    }


def test_file_that_is_no_toml_is_told_with_its_line(tmp_path: Path) -> None:
    [mistake] = read(tmp_path, "[pages]\nport = \n").mistakes()

    assert mistake.place is not None
    assert mistake.place.line == 2
    assert f"{tmp_path}/own.toml is not valid TOML" in str(mistake)


def test_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "linewatch.toml").write_bytes(b"\xff\xfe")

    [mistake] = read_configuration({"LINEWATCH_HOME": str(tmp_path)}).mistakes()

    assert "is not valid TOML" in str(mistake)


def test_contradictions_are_looked_for_once_each_value_is_right(tmp_path: Path) -> None:
    text = """\
[pages]
host = "0.0.0.0"
[networks.a]
network_id = 5
gas = { url = "https://h" }
[networks.b]
network_id = 5
"""

    assert lines(read(tmp_path, text)) == {
        "pages.host": 2,
        "networks.a.gas": 5,
        "networks.b.network_id": 7,
    }


def test_network_with_the_id_of_devnet_contradicts_it(tmp_path: Path) -> None:
    text = """\
[serve.keys.a]
key = "k"
[devnet]
mode = "on"
key = "k"
[networks.twin]
network_id = 424242
"""

    [mistake] = read(tmp_path, text).mistakes()

    assert "is 424242, as is that of devnet" in str(mistake)


def test_role_that_cannot_start_names_one_mistake_and_where_to_see_all(tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(MANY, encoding="utf-8")

    with pytest.raises(SettingsError) as refused:
        load_settings({"LINEWATCH_CONFIG": str(path), "LINEWATCH_HOME": str(tmp_path)})

    assert str(refused.value).endswith("; 7 more: `linewatch config check` names them all")


def effective(configuration: Configuration) -> dict[str, tuple[object, str]]:
    return {
        each.setting: (each.value, str(each.place)) for each in effective_settings(configuration)
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


def test_effective_secret_of_a_variable_is_masked(tmp_path: Path) -> None:
    found = effective(read(tmp_path, LINEWATCH_MAIL_PASSWORD="canary"))

    assert found["mail.password"] == ("•••", "the variable LINEWATCH_MAIL_PASSWORD")


def test_effective_state_folder_is_told(tmp_path: Path) -> None:
    assert effective(read(tmp_path))["home"] == (str(tmp_path), "None")


def test_effective_address_of_a_preset_is_shown(tmp_path: Path) -> None:
    text = "[networks.mine]\npreset = 'linea-mainnet'\n"

    found = effective(read(tmp_path, text, GATEWAY_KEY="canary"))

    assert str(found["networks.mine.gas.url"][0]).startswith("https://")
    assert found["networks.mine.gas.key"][0] == "env:GATEWAY_KEY"
