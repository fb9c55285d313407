"""All mistakes of a configuration are found at once, each with its file and line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dashboard.errors import SettingsError
from dashboard.settings import load_settings
from dashboard.settings.load import Configuration, read_configuration
from tests.unit.settings.configuration_files import read

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
MIXED = """\
[pages]
host = "0.0.0.0"
port = "high"
public_url = "not a url"
lookup_deadline = "0s"
[serve]
port = 9000
cors_origins = ["wallet.example"]
[store]
keep_fees = "1h"
keep_rejections = 7
keep_notifications = "1d"
[mail]
recipients = [7]
sender = "nobody"
smtp_host = "smtp.example"
[fees]
window_blocks = 0
usual_percentile = 95
[networks.a]
network_id = 5
gas = { url = "h" }
title = "One"
[networks.b]
network_id = 6
title = "One"
gas_period = 4
nodes = [{ url = "ftp://h" }]
[serve.keys.k]
key = "a/b"
networks = ["c"]
burst = 0
"""
MISTAKES_OF_MIXED = {
    "pages.host": 2,
    "pages.port": 3,
    "pages.public_url": 4,
    "pages.lookup_deadline": 5,
    "serve.cors_origins": 8,
    "store.keep_fees": 10,
    "store.keep_rejections": 11,
    "store.keep_notifications": 12,
    "mail.recipients.0": 14,
    "mail.sender": 15,
    "fees.window_blocks": 18,
    "fees.usual_percentile": 19,
    "networks.a.gas": 22,
    "networks.a.gas.url": 22,
    "networks.b.title": 26,
    "networks.b.gas_period": 27,
    "networks.b.nodes.0.url": 28,
    "serve.keys.k.key": 30,
    "serve.keys.k.networks": 31,
    "serve.keys.k.burst": 32,
}


def lines(configuration: Configuration) -> dict[str, int | None]:
    """Return the line of each mistake by its setting."""
    return {
        each.setting: None if each.location is None else each.location.line
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
        f"pages.port (in {tmp_path}/own.toml, line 2) is '70000': "
        "expected a whole number of at most 65535"
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

    assert mistake.location is not None
    assert mistake.location.line == 2
    assert f"{tmp_path}/own.toml is not valid TOML" in str(mistake)


def test_file_that_is_no_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "linewatch.toml").write_bytes(b"\xff\xfe")

    [mistake] = read_configuration({"LINEWATCH_HOME": str(tmp_path)}).mistakes()

    assert "is not valid TOML" in str(mistake)


def test_contradictions_are_found(tmp_path: Path) -> None:
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


def test_contradictions_are_found_beside_values_that_are_wrong(tmp_path: Path) -> None:
    assert lines(read(tmp_path, MIXED)) == MISTAKES_OF_MIXED


def test_what_rests_on_a_table_that_cannot_be_read_is_not_claimed(tmp_path: Path) -> None:
    text = """\
[pages]
host = "0.0.0.0"
port = "high"
[networks]
all = 5
[networks.a]
network_id = "five"
[serve.keys.k]
key = "k"
networks = ["a"]
"""

    assert lines(read(tmp_path, text)) == {
        "pages.port": 3,
        "networks.all": 5,
        "networks.a.network_id": 7,
    }


def test_variables_are_looked_at_beside_a_file_that_is_no_toml(tmp_path: Path) -> None:
    variables = {"LINEWATCH_SERVE_PORT": "x", "LINEWATCH_NAMED_IN_THE_FILE": "canary"}

    found = read(tmp_path, "[pages\n", **variables).mistakes()

    assert [each.setting for each in found] == [f"{tmp_path}/own.toml", "serve.port"]


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


def test_settings_say_which_file_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"gone\.toml cannot be read"):
        load_settings({"LINEWATCH_CONFIG": str(tmp_path / "gone.toml")})


@pytest.mark.parametrize(
    "name", ["NETWORKS_LINEA_PRESET", "FEES_LOW_MAX_WAIT", "SIGN_IN_PROXY_HEADER", "SERVE_KEYS_A"]
)
def test_variable_of_a_table_that_only_a_file_holds_is_named(tmp_path: Path, name: str) -> None:
    [mistake] = read(tmp_path, "", **{f"LINEWATCH_{name}": "x"}).mistakes()

    assert str(mistake) == (
        f"the variable LINEWATCH_{name} is in a table that no variable reaches: "
        "write it into linewatch.toml"
    )


def test_list_of_numbers_may_be_a_variable(tmp_path: Path) -> None:
    settings, mistakes = read(tmp_path, "", LINEWATCH_FEES_RANGE_PERCENTILES="5, 90").checked()

    assert (settings.fees.range_percentiles, mistakes) == ((5, 90), [])


def test_mark_of_an_editor_is_no_part_of_a_file(tmp_path: Path) -> None:
    secret = tmp_path / "password"
    secret.write_text("\ufeffcanary\r\n", encoding="utf-8")

    text = f"\ufeff[mail]\r\npassword = 'file:{secret}'\r\n"
    settings, mistakes = read(tmp_path, text).checked()

    assert (settings.mail.password.reveal(), mistakes) == ("canary", [])


@pytest.mark.parametrize("is_folder", [True, False], ids=["folder", "link to nothing"])
def test_file_that_is_none_does_not_pass_for_an_absent_one(
    tmp_path: Path, *, is_folder: bool
) -> None:
    own = tmp_path / "linewatch.toml"
    if is_folder:
        own.mkdir()
    else:
        own.symlink_to(tmp_path / "gone.toml")

    [mistake] = read_configuration({"LINEWATCH_HOME": str(tmp_path)}).mistakes()

    assert str(mistake).startswith(f"the configuration file {own} cannot be read: ")


def test_misspelt_preset_is_named_and_not_what_it_would_have_said(tmp_path: Path) -> None:
    [mistake] = map(str, read(tmp_path, "[networks.x]\npreset = 'linea-mainet'\n").mistakes())

    assert "networks.x.preset" in mistake
    assert "is 'linea-mainet': choose one of ethereum-mainnet, linea-mainnet, " in mistake


def test_state_folder_that_is_no_text_is_named() -> None:
    [mistake] = map(str, read_configuration({"LINEWATCH_HOME": "/a\udcff"}).mistakes())

    said = "has a name that is not UTF-8: set LINEWATCH_HOME to another"
    assert mistake == rf"the state folder '/a\udcff' {said}"
