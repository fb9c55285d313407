"""`linewatch export`: files appear whole or not at all, and mistakes are told."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from pyarrow import parquet

from tests.builders import a_hash
from tests.installation import Installation, new_installation
from tests.integration.seeded_installation import tell_story


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Plan an installation that has seen something."""
    installation = new_installation(tmp_path_factory.mktemp("export") / "home")
    tell_story(installation)
    return installation


def test_file_is_made_replaced_only_by_force_and_nothing_is_left_behind(
    installation: Installation, tmp_path: Path
) -> None:
    file = tmp_path / "rejections.csv"

    made = installation.run("export", "rejections", "--to", str(file))
    refused = installation.run("export", "fees", "--to", str(file))
    held = file.read_text(encoding="utf-8")
    forced = installation.run("export", "fees", "--to", str(file), "--force")

    assert (made.returncode, made.stdout) == (0, f"{file} holds 2 rows of rejections.\n")
    assert (refused.returncode, forced.returncode) == (2, 0)
    assert "exists already: choose another name, or replace it with --force" in refused.stderr
    assert [row["tx_hash"] for row in csv.DictReader(held.splitlines())] == [
        *(str(a_hash(1)), str(a_hash(2))),
    ]
    assert [each.name for each in tmp_path.iterdir()] == ["rejections.csv"]


def test_store_is_never_overwritten_by_its_export(installation: Installation) -> None:
    own = installation.home / "linewatch.sqlite"
    was = own.stat().st_ino

    refused = installation.run("export", "fees", "--to", str(own), "--force")

    assert refused.returncode == 2
    assert "is a database, perhaps the store itself: choose another name" in refused.stderr
    assert own.stat().st_ino == was


@pytest.mark.parametrize("end", ["-wal", "-shm", "-journal"])
def test_log_of_the_store_is_never_overwritten_by_an_export(
    installation: Installation, end: str
) -> None:
    log = installation.home / f"linewatch.sqlite{end}"

    refused = installation.run("export", "fees", "--to", str(log), "--force")

    assert refused.returncode == 2
    assert "belongs to the database beside it: choose another name" in refused.stderr


def test_folder_that_takes_no_file_is_named_with_the_remedy(installation: Installation) -> None:
    refused = installation.run("export", "fees", "--to", "/proc/fees.csv")

    assert (refused.returncode, refused.stdout) == (1, "")
    assert "/proc/fees.csv cannot be written (" in refused.stderr
    assert "check that its disk has room" in refused.stderr


def test_parquet_is_chosen_by_the_name_of_the_file(
    installation: Installation, tmp_path: Path
) -> None:
    file = tmp_path / "rejections.parquet"

    assert installation.run("export", "rejections", "--to", str(file)).returncode == 0

    assert parquet.read_table(file).column("tx_hash").to_pylist() == [
        *(str(a_hash(1)), str(a_hash(2))),
    ]


def test_standard_output_takes_csv(installation: Installation) -> None:
    told = installation.run("export", "notifications", "--to", "-")

    assert (told.returncode, told.stderr) == (0, "")
    assert [row["state"] for row in csv.DictReader(told.stdout.splitlines())] == ["sent"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("blocks", "--to", "-"), "'blocks' is not one of 'fees'"),
        (("fees",), "Missing option '--to'"),
        (("fees", "--to", "-", "--format", "parquet"), "Parquet cannot be streamed"),
        (("fees", "--to", "/nowhere/x.csv"), "the folder /nowhere does not exist"),
        (("fees", "--to", "/"), "/ is a folder: name a file in it"),
        (("fees", "--to", "/dev/null"), "/dev/null is not a plain file: name one"),
        (("audit", "--to", "-", "--network", "devnet"), "audit belong to no network"),
        (("fees", "--to", "-", "--since", "1h", "--until", "2h"), "let it begin earlier"),
    ],
)
def test_mistake_is_told_with_its_remedy(
    installation: Installation, arguments: tuple[str, ...], said: str
) -> None:
    refused = installation.run("export", *arguments)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert said in refused.stderr
