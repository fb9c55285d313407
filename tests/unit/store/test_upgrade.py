"""A store is upgraded by the release after this one, and refused where that cannot be done."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from dashboard.errors import SchemaMismatch
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.backup import back_up, open_backup
from dashboard.store.maintenance.migrate import migrate
from dashboard.store.maintenance.verify import count_rows
from dashboard.store.schema.revisions import REVISION, REVISIONS
from tests.databases import set_schema
from tests.installation import command, new_installation
from tests.next_release import NEXT_REVISION, make_next_release
from tests.unit.store.fake_machine import Machine
from tests.unit.store.filled_store import live_in

BEFORE_RELEASE = ("0001", "0023")


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the next release."""
    return make_next_release(tmp_path_factory.mktemp("next") / "release")


def run(release: Path, home: Path, url: str, *arguments: str, code: int = 0) -> str:
    """Run a command of a release and return what it prints, or why it ends with another code."""
    variables = new_installation(home, LINEWATCH_STORE_URL=url).environment()
    done = subprocess.run(
        command(*arguments), cwd=release, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def fill(url: str) -> dict[str, int]:
    """Let something of every kind happen; return how many rows each table has then."""
    with open_store(url, Machine().clock) as store:
        live_in(store)
        with store.read() as connection:
            return count_rows(connection)


def schemas_named(entries: Sequence[dict[str, object]]) -> list[object]:
    """Return what the audit log tells of migrations."""
    return [each["details"] for each in entries if each["action"] == "migrate"]


def test_next_release_upgrades_a_store_with_everything_in_it(
    url: str, release: Path, tmp_path: Path
) -> None:
    before = fill(url)

    run(release, tmp_path / "home", url, "migrate")

    verified = json.loads(run(release, tmp_path / "home", url, "verify", "--json"))
    assert verified["isWhole"]
    assert verified["rows"] == before | {"audit_log": before["audit_log"] + 1}
    entries = json.loads(run(release, tmp_path / "home", url, "audit", "--json"))["entries"]
    assert schemas_named(entries) == [{"from": REVISION, "to": NEXT_REVISION}]


def test_next_release_uses_and_moves_no_store_before_it_is_upgraded(
    url: str, release: Path, tmp_path: Path
) -> None:
    target = f"sqlite:///{tmp_path}/target.sqlite"

    for asked in (("audit",), ("move", "--to", target)):
        said = run(release, tmp_path / "home", url, *asked, code=1)

        assert f"has schema {REVISION}" in said
        assert "run `linewatch migrate`" in said


@pytest.mark.parametrize("database", ["sqlite"])
def test_file_is_copied_beside_it_before_it_is_upgraded(
    url: str, release: Path, tmp_path: Path
) -> None:
    before = fill(url)

    said = run(release, tmp_path / "home", url, "migrate")

    copy = tmp_path / f"linewatch.db.schema-{REVISION}"
    assert str(copy) in said
    with open_backup(copy) as connection:
        assert count_rows(connection) == before


def test_next_release_restores_a_backup_of_this_one(
    url: str, release: Path, tmp_path: Path
) -> None:
    before = fill(url)
    with open_store(url) as store:
        backup = back_up(store, tmp_path / "backup.sqlite").path

    run(release, tmp_path / "home", url, "restore", str(backup))

    verified = json.loads(run(release, tmp_path / "home", url, "verify", "--json"))
    assert verified["rows"]["rejections"] == before["rejections"]


def test_store_of_the_next_release_is_refused_by_this_one(
    url: str, release: Path, tmp_path: Path
) -> None:
    run(release, tmp_path / "home", url, "migrate")

    for use in (open_store, migrate):
        with pytest.raises(SchemaMismatch, match=rf"{NEXT_REVISION}, .*{REVISION}: upgrade Line"):
            use(url)


@pytest.mark.parametrize("revision", BEFORE_RELEASE)
def test_schema_from_before_the_first_release_is_refused_with_the_remedy(
    url: str, revision: str
) -> None:
    set_schema(url, revision)

    for use in (open_store, migrate):
        with pytest.raises(
            SchemaMismatch,
            match=rf"schema {revision}, .* older than the first release \({REVISIONS[0]}\) .* "
            "put it aside, and run `linewatch migrate` for a new one",
        ):
            use(url)


@pytest.mark.parametrize("revision", [*BEFORE_RELEASE, NEXT_REVISION])
def test_backup_of_an_unknown_schema_is_refused(backup: Path, revision: str) -> None:
    set_schema(f"sqlite:///{backup}", revision)

    with (
        pytest.raises(SchemaMismatch, match=rf"backup\.sqlite has schema {revision}, "),
        open_backup(backup),
    ):
        pass
