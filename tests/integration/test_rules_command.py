"""`linewatch rules`: listed, exported, imported and changed, each command a process of its own."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

import pytest

from tests.installation import Installation, new_installation

RULES = """\
[rules.hub]
kind = "rejected"
severity = "critical"
networks = ["devnet"]
modules = ["HUB"]
recipients = ["hub@example.org"]
active = ["mon-fri 08:00-18:00"]
time_zone = "Europe/Berlin"
"""


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    """Return an installation with an empty store."""
    installation = new_installation(tmp_path / "home")
    assert installation.run("migrate").returncode == 0
    return installation


def test_default_rules_are_listed_and_turned_off_one_by_one(installation: Installation) -> None:
    listed = installation.run("rules", "list")
    edited = installation.run("rules", "edit", "busy", "--set", "enabled=false")
    unknown = installation.run("rules", "edit", "bussy", "--set", "enabled=false")
    again = json.loads(installation.run("rules", "list", "--json").stdout)

    assert "rejections" in listed.stdout
    assert "the default recipients" in listed.stdout
    assert edited.stdout == "~ busy is changed\n    enabled: default → false\n"
    assert (unknown.returncode, "did you mean busy?" in unknown.stderr) == (2, True)
    assert {each["name"]: each.get("enabled") for each in again["rules"]}["busy"] is False


def test_file_is_imported_exported_and_logged(installation: Installation, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(RULES, "utf-8")

    planned = installation.run("rules", "import", str(file), "--replace", "--dry-run")
    before = installation.run("rules", "export").stdout
    imported = json.loads(
        installation.run("rules", "import", str(file), "--replace", "--json").stdout
    )
    exported = installation.run("rules", "export").stdout
    same = installation.run("rules", "import", "-", "--replace", given=exported)
    audit = json.loads(installation.run("audit", "--action", "add-rule", "--json").stdout)

    assert planned.stdout.startswith("+ hub is added\n    kind = rejected")
    assert planned.stdout.endswith("Dry run: nothing was changed.\n")
    assert "rules.disk" in before
    assert next(each["name"] for each in imported["changes"]) == "hub"
    assert "networks = [" in exported
    assert "rules.disk" not in exported
    assert same.stdout == "Nothing changes.\n"
    assert audit["entries"][0]["details"]["modules"] == '["HUB"]'


def test_what_people_change_is_told_from_what_a_file_says(
    installation: Installation, tmp_path: Path
) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(RULES, "utf-8")
    installation.run("rules", "import", str(file))
    of_file = installation.run("rules", "export", "--edited").stdout
    installation.run("rules", "edit", "hub", "--set", "severity=warning")
    edited = installation.run("rules", "export", "--edited").stdout
    installation.run("rules", "remove", "disk")
    gone = installation.run("rules", "export", "--edited")
    named = json.loads(installation.run("rules", "export", "--edited", "--json").stdout)
    again = installation.run("rules", "import", "-", given=gone.stdout)
    states = json.loads(installation.run("rules", "show", "hub", "--json").stdout)

    assert of_file == ""
    assert edited.startswith('[rules.hub]\nkind = "rejected"\nseverity = "warning"')
    assert edited.count("[rules.") == 1
    assert gone.stdout.startswith(f"{edited}# disk was removed on 20")
    assert named["removed"] == ["disk"]
    assert again.stdout == "Nothing changes.\n"
    assert states["source"] == "file"
    assert installation.run("rules", "export", "--edited").stdout == ""


def test_file_with_mistakes_changes_nothing_and_names_all(
    installation: Installation, tmp_path: Path
) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(RULES.replace("HUB", "H B").replace("Berlin", "Nowhere"), "utf-8")

    refused = installation.run("rules", "import", str(file))

    assert refused.returncode == 2
    assert f"rules.hub.modules (in {file}, line 5) holds 'H B'" in refused.stderr
    assert f"rules.hub.time_zone (in {file}, line 8) is 'Europe/Nowhere'" in refused.stderr
    assert "[rules.hub]" not in installation.run("rules", "export").stdout


def test_rules_are_added_shown_and_removed(installation: Installation) -> None:
    settings = ("--set", "kind=rejected", "--set", "modules=HUB,ADD", "--set", "remind_every=1h")
    added = installation.run("rules", "add", "hub", *settings)
    twice = installation.run("rules", "add", "hub", *settings)
    wrong = installation.run("rules", "add", "odd", "--set", "kind=busy", "--set", "stages=RPC")
    shown = installation.run("rules", "show", "hub")
    changed = installation.run("rules", "edit", "hub", "--unset", "remind_every")
    gone = installation.run("rules", "remove", "hub", "busy", "--json")

    assert [each.returncode for each in (added, twice, wrong, changed)] == [0, 2, 2, 0]
    assert "stages narrows rejections only, and this rule is busy" in wrong.stderr
    assert shown.stdout == (
        '[rules.hub]\nkind = "rejected"\nseverity = "warning"\nmodules = ["HUB", "ADD"]\n'
        'remind_every = "1h"\n'
    )
    assert [each["after"] for each in json.loads(gone.stdout)["changes"]] == [None, None]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        (["recipients=ops-hok"], "holds 'ops-hok': write an email address, or a name in "),
        (["networks=nowhere"], "networks holds 'nowhere'"),
        (["active=mon-fri 08:00-18:00", "time_zone=Europe/Zurch"], "time_zone is 'Europe/Zurch'"),
    ],
    ids=lambda each: each[-1] if isinstance(each, list) else None,
)
def test_name_that_is_none_of_this_installation_is_refused(
    installation: Installation, settings: list[str], said: str
) -> None:
    def added(*settings: str) -> tuple[int, str]:
        given = (each for setting in settings for each in ("--set", setting))
        done = installation.run("rules", "add", "mine", "--set", "kind=rejected", *given)
        return done.returncode, done.stdout + done.stderr

    status, answer = added(*settings)

    assert (status, said in answer) == (2, True), answer
    assert added("networks=devnet", "recipients=ops@example.org")[0] == 0


def test_rule_of_a_channel_that_left_the_settings_reaches_nobody(
    installation: Installation,
) -> None:
    file = installation.home / "linewatch.toml"
    secret = f"whsec_{b64encode(bytes(32)).decode()}"
    hook = f'kind = "webhook"\nurl = "https://hook.example/x"\nsecrets = ["{secret}"]\n'
    file.write_text(f"[channels.ops-hook]\n{hook}", encoding="utf-8")
    wanted = ("--set", "kind=rejected", "--set", "recipients=ops-hook")

    added = installation.run("rules", "add", "night", *wanted)
    file.unlink()
    listed = installation.run("rules", "list")

    assert (added.returncode, "reaches nobody" in added.stderr) == (0, False), added.stderr
    said = "rule 'night' reaches nobody (ops-hook: no channel ops-hook is configured)"
    assert said in listed.stdout


def test_rule_is_tried_on_the_stored_past(installation: Installation, tmp_path: Path) -> None:
    file = tmp_path / "rules.toml"
    file.write_text(RULES, "utf-8")

    held = installation.run("rules", "preview", "rejections")
    of_file = json.loads(
        installation.run("rules", "preview", "hub", "--file", str(file), "--json").stdout
    )
    too_long = installation.run("rules", "preview", "rejections", "--within", "40d")

    assert held.stdout.startswith("rejections would not have fired in the last 7 days.")
    assert (of_file["count"], of_file["atNight"], of_file["firings"]) == (0, 0, [])
    assert (too_long.returncode, "write at most 31d" in too_long.stderr) == (2, True)
