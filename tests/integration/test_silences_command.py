"""`linewatch silences` and `linewatch maintenance`: made, listed and ended, on record."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.installation import Installation, new_installation

HOSTILE = "known \x1b[2J\u202e =1+1"


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return migrated(tmp_path / "home")


@pytest.fixture(scope="module")
def refusing(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Plan an installation for what is refused, which leaves its store as it is."""
    return migrated(tmp_path_factory.mktemp("refusing") / "home")


def migrated(home: Path) -> Installation:
    """Plan an installation with an empty store."""
    planned = new_installation(home)
    assert planned.run("migrate").returncode == 0
    return planned


def test_silence_is_made_listed_and_ended_on_record(installation: Installation) -> None:
    preview = installation.run("silences", "preview", "label=~payroll*").stdout
    made = installation.run(
        *("silences", "add", "module=hub", "network=devnet", "--for", "8h"),
        *("--reason", HOSTILE, "--by", "Ada", "--json"),
    )
    table = installation.run("silences", "list").stdout
    ended = installation.run("silences", "end", "1")
    again = installation.run("silences", "end", "1")
    audit = json.loads(installation.run("audit", "--json").stdout)["entries"]

    assert preview == (
        "In the last seven days it would have matched no change. Now it matches 0 open incidents.\n"
    )
    assert json.loads(made.stdout)["matchers"] == ["module=HUB", "network=devnet"]
    assert "module=HUB, network=devnet" in table
    assert "\x1b" not in table
    assert ended.stdout.startswith("Silence 1: module=HUB, network=devnet, from ")
    assert (again.returncode, "no silence 1 is active or planned" in again.stderr) == (2, True)
    assert [each["action"] for each in audit[:2]] == ["end-silence", "silence"]
    assert audit[1]["actor"] == "Ada"
    assert audit[1]["details"]["reason"] == HOSTILE


def test_maintenance_is_planned_for_everything_only_where_that_is_said(
    installation: Installation,
) -> None:
    planned = ("maintenance", "add", "--from", "2h", "--for", "1h", "--reason", "upgrade")

    refused = installation.run(*planned)
    made = installation.run(*planned, "--all")
    listed = json.loads(installation.run("maintenance", "list", "--json").stdout)
    ended = installation.run("maintenance", "end", "1")

    assert ", cancelled at " in ended.stdout
    assert (refused.returncode, "confirm that everything is meant" in refused.stderr) == (2, True)
    assert made.stdout.startswith("Maintenance window 1: everything, from ")
    [window] = listed["maintenanceWindows"]
    assert (window["state"], window["matchers"]) == ("planned", [])


def test_weekly_window_says_when_it_comes_next(installation: Installation) -> None:
    weekly = ("--every", "sun 02:00-04:00", "--time-zone", "Europe/Zurich")

    made = installation.run(
        *("maintenance", "add", "network=devnet", *weekly, "--until", "90d", "--reason", "patches")
    )
    preview = installation.run("silences", "preview", "network=devnet", *weekly)
    table = installation.run("maintenance", "list").stdout
    listed = json.loads(installation.run("maintenance", "list", "--json").stdout)

    assert "network=devnet, sun 02:00-04:00 Europe/Zurich, from " in made.stdout
    assert ", next from " in made.stdout
    assert preview.returncode == 0
    assert "sun 02:00-04:00 Europe/Zurich" in table
    [window] = listed["maintenanceWindows"]
    assert (window["weekly"], window["timeZone"]) == (["sun 02:00-04:00"], "Europe/Zurich")
    assert window["startsAt"] <= window["nextStartsAt"] < window["nextEndsAt"] < window["endsAt"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--for", "1h", "--until", "2h"), "say how long with --for"),
        (("--until", "yesterday"), "is not a time: write in how long"),
        (("--until", "2020-01-01"), "is not a time"),
        (("--for", "soon"), "is not a duration"),
        (("--for", "90d", "--every", "sun 02:00-04:00"), "say with --until when the weekly hours"),
        (("--for", "99999d"), "99999d is too long; write at most 366d"),
        (("--until", "9d", "--time-zone", "UTC"), "give --every as well"),
        (("--until", "9d", "--every", "sun 2-4"), "is not a weekly span"),
        (("--until", "9d", "--every", "sun 02:00-04:00", "--time-zone", "Moon"), "not a time zone"),
    ],
)
def test_times_that_cannot_be_meant_name_the_remedy(
    refusing: Installation, arguments: tuple[str, ...], said: str
) -> None:
    refused = refusing.run("silences", "add", "module=HUB", "--reason", "x", *arguments)

    assert refused.returncode == 2
    assert said in refused.stderr
