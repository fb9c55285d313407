"""The page Settings gets every setting as text, and hears when the files change."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest

from dashboard.application.context import SettingChange
from dashboard.domain.people.sign_in import Site
from dashboard.domain.secret import MASK
from dashboard.wiring.page_settings import ShownConfiguration, answer_file, sign_in_policy
from tests.unit.settings.configuration_files import loaded

NOW = datetime(2026, 11, 20, 12, 0, tzinfo=UTC)


def configuration(folder: Path) -> ShownConfiguration:
    variables = {"LINEWATCH_HOME": str(folder), "LINEWATCH_SERVE_PORT": "9001"}
    return ShownConfiguration(lambda: NOW, variables)


@pytest.fixture
def own(tmp_path: Path) -> Path:
    path = tmp_path / "linewatch.toml"
    path.write_text('[pages]\nport = 9000\n[mail]\npassword = "canary"\n', encoding="utf-8")
    return path


def test_settings_are_text_with_where_they_stand(own: Path) -> None:
    state = configuration(own.parent).state()
    found = {each.name: each for each in state.settings}

    assert (found["pages.port"].value, found["pages.port"].default) == ("9000", "8501")
    assert found["pages.port"].source == "linewatch.toml, line 2"
    assert found["serve.port"].source == "the variable LINEWATCH_SERVE_PORT"
    assert found["home"].source == "the variable LINEWATCH_HOME"
    assert (found["serve.page"].value, found["serve.page"].source) == ("true", "default")
    assert found["serve.method_prefixes"].value == "chain, linea"
    assert found["serve.wrong_keys_per_minute"].meaning.startswith("from one address")
    assert "canary" not in str(state)
    assert (state.own_file, state.started_at) == (str(own), NOW)
    assert (state.changed, state.mistakes) == ((), ())


def test_preset_is_named_as_a_source(own: Path) -> None:
    own.write_text('[networks.linea]\npreset = "linea-mainnet"\n', encoding="utf-8")

    state = configuration(own.parent).state()

    sources = {each.name: each.source for each in state.settings}
    assert sources["networks.linea.network_id"] == "preset linea-mainnet"
    assert sources["networks.linea.preset"] == "linewatch.toml, line 2"


def test_changed_file_is_told_and_changes_nothing_before_a_restart(own: Path) -> None:
    shown = configuration(own.parent)
    own.write_text("[pages]\nport = 9002\n", encoding="utf-8")

    state = shown.state()

    assert state.changed == (
        SettingChange("mail.password", MASK, ""),
        SettingChange("pages.port", "9000", "9002"),
    )
    assert {each.name: each.value for each in state.settings}["pages.port"] == "9000"


@pytest.mark.parametrize("text", ['[pages]\nport = "many"\n', "[pages\n"])
def test_mistakes_of_the_files_are_told(own: Path, text: str) -> None:
    shown = configuration(own.parent)
    own.write_text(text, encoding="utf-8")

    (mistake,) = shown.state().mistakes

    assert "linewatch.toml" in mistake


def test_pasted_text_is_checked_as_the_file_would_be(own: Path) -> None:
    shown = configuration(own.parent)
    good = shown.check('[pages]\nport = 9002\n[mail]\npassword = "another canary"\n')
    wrong = shown.check('[pages]\nport = "many"\n[mail]\npasword = "canary"\n')

    assert (good.mistakes, good.unread) == ((), ())
    assert good.changes == (
        SettingChange("mail.password", MASK, MASK),
        SettingChange("pages.port", "9000", "9002"),
    )
    assert wrong.mistakes[0] == (
        "pages.port (in the text, line 2) is 'many': expected a whole number, not text"
    )
    assert "did you mean password?" in wrong.mistakes[1]
    assert "canary" not in str((good, wrong))
    assert shown.check("[pages").mistakes[0].startswith("the text is not valid TOML")
    assert own.read_text("utf-8").count("9000") == 1


def test_change_that_a_reload_refuses_is_told_from_others(own: Path) -> None:
    text = f"{own.read_text('utf-8')}[devnet]\nmode = 'off'\n[networks.x]\nnetwork_id = 5\n"

    changes = configuration(own.parent).check(text.replace("9000", "9002")).changes

    found = {each.name: each.needs_restart for each in changes}
    assert found == {"devnet.mode": True, "networks.x.network_id": True, "pages.port": False}


def test_pasted_text_reads_no_file_and_no_variable_that_is_not_in_use(own: Path) -> None:
    secret = own.with_name("secret")
    secret.write_text("canary", "utf-8")
    own.write_text(f'[mail]\npassword = "file:{secret}"\n', "utf-8")
    shown = configuration(own.parent)
    secret.unlink()

    known = shown.check(f'[mail]\npassword = "file:{secret}"\n')
    other = shown.check(
        f"""
[mail]
password = "file:/etc/shadow"
dkim_key_file = "{own}"
dkim_selector = "linewatch"
[tls]
ca_file = "/dev/zero"
[networks.x]
network_id = 5
module_limits = "/etc/passwd"
limit_periods = [{{ table = "/etc/group" }}]
node.url = "env:HOME"
"""
    )

    assert f"the secret file {secret} cannot be read" in known.mistakes[0]
    assert other.mistakes == ()
    assert other.unread == (
        *("mail.password", "mail.dkim_key_file", "tls.ca_file"),
        *("networks.x.module_limits", "networks.x.limit_periods.0.table", "networks.x.node.url"),
    )


def test_passkeys_are_bound_to_the_port_of_the_pages_where_nothing_else_is_known(
    tmp_path: Path,
) -> None:
    text = "[sign_in]\naccounts = true\n[pages]\nport = 8600\n"
    local = sign_in_policy(loaded(tmp_path, text))
    public = sign_in_policy(loaded(tmp_path, text + "public_url = 'https://watch.example/lw'\n"))

    assert [each and each.site for each in (local, public)] == [
        Site("http://localhost:8600", "localhost"),
        Site("https://watch.example", "watch.example"),
    ]


def test_texts_for_customers_are_in_the_state_folder_if_settings_are_only_read(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = []
    for settings in (own, own.parent / "none" / own.name):
        monkeypatch.setenv("LINEWATCH_CONFIG", str(settings))
        found.append(answer_file(own.parent / "home").read().source)

    assert found == [str(own.with_name("answers.toml")), str(own.parent / "home" / "answers.toml")]
