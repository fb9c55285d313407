"""The files of `deploy`: what systemd hears and says of its unit, and when the rules fire."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.supervise import run_beside
from tests import plain_http
from tests.installation import new_installation
from tests.processes import PROJECT, finished
from tests.provision import program
from tests.waiting import PATIENCE, eventually

MOST_EXPOSED = 20
"""The exposure of 2.0 that systemd may find at most, in its tenths."""

UNIT = PROJECT / "deploy" / "linewatch@.service"


@pytest.fixture
def told(tmp_path: Path) -> Iterator[socket.socket]:
    """Listen where systemd would."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        listening.bind(str(tmp_path / "notify"))
        listening.settimeout(PATIENCE)
        yield listening


def heard(told: socket.socket) -> str:
    return told.recv(200).decode()


@pytest.mark.parametrize("role", ["serve", "worker"])
def test_role_says_when_it_is_ready_that_it_lives_and_that_it_stops(
    told: socket.socket, tmp_path: Path, role: str
) -> None:
    installation = new_installation(
        tmp_path / "home", NOTIFY_SOCKET=str(tmp_path / "notify"), WATCHDOG_USEC="300000"
    )
    installation.run("migrate")

    with installation.role(role, tmp_path / "log") as process:
        assert heard(told) == "READY=1"
        if role == "serve":
            assert plain_http.get(f"{installation.serve}/live").is_success
        assert heard(told) == "WATCHDOG=1"
        process.signal(signal.SIGTERM)
        while (said := heard(told)) == "WATCHDOG=1":
            continue

    assert said == "STOPPING=1"


def test_role_ends_for_new_settings_on_sighup_and_goes_on_where_they_are_wrong(
    told: socket.socket, tmp_path: Path
) -> None:
    installation = new_installation(tmp_path / "home", NOTIFY_SOCKET=str(tmp_path / "notify"))
    installation.run("migrate")
    settings, log = installation.home / "linewatch.toml", tmp_path / "log"

    with installation.role("worker", log) as process:
        assert heard(told) == "READY=1"
        settings.write_text("[serve]\npage = 7\n", encoding="utf-8")
        process.signal(signal.SIGHUP)
        eventually(lambda: "serve.page (in " in log.read_text(encoding="utf-8"))
        goes_on = not process.ended.is_set()
        settings.write_text("", encoding="utf-8")
        process.signal(signal.SIGHUP)
        assert process.ended.wait(PATIENCE)

    assert goes_on
    assert (heard(told), process.code) == ("STOPPING=1", 0)


def test_long_migration_gets_as_much_time_again_as_a_start(
    told: socket.socket, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", str(tmp_path / "notify"))

    def migrate() -> None:
        sys.exit(heard(told) != "EXTEND_TIMEOUT_USEC=120000000")

    assert run_beside("migrate", migrate, lambda: None, every=0.01) == 0
    assert "TimeoutStartSec=120\n" in UNIT.read_text(encoding="utf-8")


def test_unit_is_one_that_systemd_reads_and_finds_safe(tmp_path: Path) -> None:
    unit = tmp_path / "linewatch@up.service"
    text = UNIT.read_text(encoding="utf-8").replace("/opt/linewatch/bin/linewatch", "/bin/true")
    unit.write_text(text, encoding="utf-8")
    analyze = str(program("systemd"))

    read = finished([analyze, "verify", unit])
    judged = finished(
        [analyze, "security", "--offline=true", f"--threshold={MOST_EXPOSED}", "--no-pager", unit],
    )

    assert (read.returncode, read.stdout + read.stderr) == (0, "")
    assert judged.returncode == 0, judged.stdout


def test_rules_of_prometheus_fire_when_they_should(tmp_path: Path) -> None:
    cases = PROJECT / "deploy" / "prometheus" / "linewatch.rules.test.yml"

    done = finished(
        [program("prometheus").with_name("promtool"), "test", "rules", cases],
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stdout + done.stderr
