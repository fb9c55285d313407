"""What commands do while the disk of the store is full: what needs no room works."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.builders import a_hash
from tests.full_disk import disk_that_takes_nothing
from tests.installation import Installation, new_installation
from tests.integration.seeded_installation import tell_story


@pytest.fixture(scope="module")
def installation(tmp_path_factory: pytest.TempPathFactory) -> Installation:
    """Plan an installation with a store that nobody has open."""
    installation = new_installation(tmp_path_factory.mktemp("full") / "home")
    tell_story(installation)
    return installation


@pytest.mark.parametrize(
    "arguments",
    [
        ("lookup", "--stored", str(a_hash(1))),
        ("rejections",),
        ("alerts",),
        ("fees",),
        ("audit",),
        ("verify",),
        ("config", "check"),
    ],
)
def test_command_that_only_reads_works_on_a_full_disk(
    installation: Installation, arguments: tuple[str, ...]
) -> None:
    with disk_that_takes_nothing():
        printed = installation.run(*arguments)

    assert (printed.returncode, printed.stderr) == (0, "")
    assert printed.stdout


def test_command_that_writes_says_that_the_disk_is_full(installation: Installation) -> None:
    with disk_that_takes_nothing():
        printed = installation.run("track", str(a_hash(9)))

    assert printed.returncode == 1
    assert printed.stderr.endswith("cannot be used now: its disk is full: free some space there\n")
    assert printed.stderr.count("\n") == 1


def test_lookup_tells_what_it_was_answered_though_nothing_can_be_stored(
    installation: Installation,
) -> None:
    with disk_that_takes_nothing():
        printed = installation.run("lookup", str(a_hash(77)))

    assert printed.returncode == 1
    assert "Nothing is known until the API answers" in printed.stdout
    assert "the answers could not be stored. The store" in printed.stderr
    assert "Traceback" not in printed.stderr


def test_backup_is_made_though_the_audit_log_takes_nothing(
    installation: Installation, tmp_path: Path
) -> None:
    store = installation.home / "linewatch.sqlite"
    with closing(sqlite3.connect(store)) as broken:
        broken.execute(
            "CREATE TRIGGER full BEFORE INSERT ON audit_log BEGIN SELECT RAISE(ABORT, 'full'); END"
        )

    printed = installation.run("backup", str(tmp_path / "copy.sqlite"))

    assert printed.returncode == 0
    assert "verified" in printed.stdout
    assert "the audit log does not name this backup" in printed.stderr
