"""docs/store.md does what it says: its commands are typed, as it says them, on either database."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.domain.alerts.notification import NotificationState
from dashboard.store.engine.engine import open_store
from tests.builders import a_hash
from tests.delivery_checks import make_pending, states
from tests.installation import Installation, new_installation
from tests.postgresql import empty_database
from tests.processes import PROJECT, finished, shared_launcher

PAGE = (PROJECT / "docs" / "store.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([^\n]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
MANY_PENDING = 3


def typed(section: str) -> list[str]:
    """Return what a section says to type, line by line."""
    blocks = re.findall(r"^```\n(.*?)^```", SECTIONS[section], re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines()]


class Typist:
    """Somebody who types what the page says, in one shell after another."""

    def __init__(self, installation: Installation, url: str) -> None:
        self.installation = installation
        self.url = url
        self.environment = installation.environment() | {
            "PATH": f"{shared_launcher().client.parent}:/usr/local/bin:/usr/bin:/bin"
        }

    def type(self, *lines: str) -> str:
        """Type lines into one shell; return what is printed. The first that fails ends it."""
        ended = finished(
            ["/bin/sh", "-ec", "\n".join(lines)],
            env=self.environment,
            cwd=self.installation.home.parent,
        )
        assert (ended.returncode, ended.stderr) == (0, ""), f"{lines}: {ended.stderr}"
        return ended.stdout


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.full)])
def typist(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Typist]:
    """Sit down before a machine on which nothing was done yet."""
    home = tmp_path / "home"
    if request.param == "sqlite":
        yield Typist(new_installation(home), f"sqlite:///{home}/linewatch.sqlite")
        return
    with empty_database() as url:
        yield Typist(new_installation(home, LINEWATCH_STORE_URL=url), url)


def test_restore_drill_loses_nothing_and_tells_nobody_twice(typist: Typist) -> None:
    typist.type(*typed("Migrate"))
    with open_store(typist.url) as store:
        make_pending(store, MANY_PENDING)
    typist.type(*typed("Backup"))
    typist.type(f"linewatch track {a_hash(50)}")

    told = typist.type(*typed("Restore"))

    assert "verified" in told
    assert "The store that was there before is" in told
    assert f"{MANY_PENDING} notifications are held." in told
    with open_store(typist.url) as store:
        assert states(store) == {NotificationState.PENDING: MANY_PENDING}
    assert str(a_hash(50)) not in typist.type("linewatch export tracked --to -")


@pytest.mark.parametrize("typist", ["sqlite"], indirect=True)
def test_store_moves_to_a_server_as_the_page_says(typist: Typist) -> None:
    typist.type(*typed("Migrate"))
    with open_store(typist.url) as store:
        make_pending(store, MANY_PENDING)
    with empty_database() as target:
        typist.environment["TARGET"] = target

        told = typist.type(*typed("Move to PostgreSQL"))

        assert "is whole" in told
        with open_store(target) as store:
            assert states(store) == {NotificationState.PENDING: MANY_PENDING}


def test_page_has_every_command_that_looks_after_the_store() -> None:
    named = set(re.findall(r"linewatch ([a-z-]+)", PAGE))

    assert named >= {"migrate", "join", "backup", "verify", "rebuild", "restore", "release", "move"}
