"""The files of `deploy`: what systemd hears and says of its unit, and when the rules fire."""

from __future__ import annotations

import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.domain.secret import Secret
from dashboard.settings.load import load_settings
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


SETTINGS_WITH_CREDENTIALS = """
store.url = "file:$CREDENTIALS_DIRECTORY/linewatch.store-url"
mail.password = "file:$CREDENTIALS_DIRECTORY/linewatch.smtp-password"
pages.public_url = "https://watch.example"
[networks.mine]
network_id = 59144
gas = { url = "https://gas.example", key = "file:$CREDENTIALS_DIRECTORY/linewatch.gateway-key" }
[sign_in.issuers.corp]
url = "https://id.example"
client_id = "us"
client_secret = "file:$CREDENTIALS_DIRECTORY/linewatch.oidc-client-secret"
roles = { "*" = "viewer" }
"""


def test_unit_loads_the_credentials_that_settings_name(tmp_path: Path) -> None:
    lines = UNIT.read_text(encoding="utf-8").splitlines()
    for line in lines:
        if line.startswith("LoadCredential="):
            name = line.removeprefix("LoadCredential=")
            (tmp_path / name).write_text(
                f"postgresql://{name}/linewatch?sslmode=require\n", encoding="utf-8"
            )
    own = tmp_path / "own.toml"
    own.write_text(SETTINGS_WITH_CREDENTIALS, encoding="utf-8")
    of_unit = dict(each.split("=")[1:] for each in lines if each.startswith("Environment="))
    of_systemd = {"CREDENTIALS_DIRECTORY": str(tmp_path)}

    settings = load_settings({**of_unit, **of_systemd, "LINEWATCH_CONFIG": str(own)})

    gas, issuer = settings.networks["mine"].gas, settings.sign_in.issuers["corp"]
    secrets = {
        "store-url": settings.store.url,
        "smtp-password": settings.mail.password,
        "gateway-key": gas and gas.key,
        "oidc-client-secret": issuer.client_secret,
    }
    for name, secret in secrets.items():
        assert secret == Secret(f"postgresql://linewatch.{name}/linewatch?sslmode=require")


@pytest.mark.parametrize("runs", [True, False])
def test_command_by_hand_has_the_credentials_of_the_service(tmp_path: Path, *, runs: bool) -> None:
    (tmp_path / "etc/credstore").mkdir(parents=True)
    (tmp_path / "etc/credstore/linewatch.smtp-password").write_text("as stored", encoding="utf-8")
    if runs:
        of_service = tmp_path / "run/credentials/linewatch@up.service"
        of_service.mkdir(parents=True)
        (of_service / "linewatch.smtp-password").write_text("as started with", encoding="utf-8")
    text = UNIT.with_name("linewatch").read_text(encoding="utf-8")
    for system, here in (
        ("/run/", f"{tmp_path}/run/"),
        ("/etc/credstore", f"{tmp_path}/etc/credstore"),
        ("-o linewatch", ""),
        ("/usr/sbin/runuser -u linewatch --", ""),
        ("/opt/linewatch/bin/linewatch", "sh -c"),
    ):
        text = text.replace(system, here)
    read = "cat $CREDENTIALS_DIRECTORY/linewatch.smtp-password"

    done = finished(["sh", "-c", text, "linewatch", read])

    assert (done.stdout, done.stderr) == ("as started with" if runs else "as stored", "")


def test_rules_of_prometheus_fire_when_they_should(tmp_path: Path) -> None:
    cases = PROJECT / "deploy" / "prometheus" / "linewatch.rules.test.yml"

    done = finished(
        [program("prometheus").with_name("promtool"), "test", "rules", cases],
        cwd=tmp_path,
    )

    assert done.returncode == 0, done.stdout + done.stderr
