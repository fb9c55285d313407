"""`linewatch doctor` says what is wrong with the machine, and what the page Health says."""

from __future__ import annotations

import json
from pathlib import Path

from anyio import to_thread

from tests.certificate import make_certificate
from tests.full_disk import disk_that_takes_nothing
from tests.installation import free_ports, new_installation
from tests.integration.faulty_upstreams import an_upstream, replying
from tests.waiting import eventually

CANARY = "c4nary-k3y-0123456789abcdef"
OF_1999 = {"Date": "Fri, 31 Dec 1999 23:59:59 GMT"}


def test_installation_without_a_worker_is_told_what_helps(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")
    assert installation.run("migrate").returncode == 0
    assert installation.run("backup", str(tmp_path / "copy.sqlite")).returncode == 0

    said = installation.run("doctor", "--exit-code")
    found = json.loads(installation.run("doctor", "--json").stdout)

    assert said.returncode == 3
    assert (
        "Monitoring stopped: the worker is not running. Nothing is polled and nothing is sent"
        in said.stdout
    )
    assert "last backup" in said.stdout
    assert "linewatch.sqlite" in said.stdout
    assert [each["what"] for each in found["troubles"]] == [
        "Monitoring stopped: the worker is not running."
    ]
    assert found["isWell"] is False
    assert found["backedUpAt"] is not None


def test_store_that_saves_nothing_is_not_well(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")
    assert installation.run("migrate").returncode == 0

    with disk_that_takes_nothing():
        said = installation.run("doctor")

    assert "The store cannot be written." in said.stdout
    assert "its disk is full: free some space there" in said.stdout
    assert "All is well" not in said.stdout


def broken_settings(nothing: int, upstream: int) -> str:
    """Name a port where nothing listens, and one of a server that is no node."""
    return f"""
pages.public_url = "http://127.0.0.1:{nothing}"
serve.metrics_key = "file:$CREDENTIALS_DIRECTORY/metrics"
mail = {{ smtp_host = "127.0.0.1", smtp_port = {nothing}, recipients = ["a@b.c"] }}
[networks.mine]
network_id = 5
gas = {{ url = "http://127.0.0.1:{nothing}", key = "{CANARY}" }}
node = {{ url = "http://127.0.0.1:{upstream}/{CANARY}" }}
"""


async def test_everything_wrong_with_the_machine_is_named_with_its_remedy(tmp_path: Path) -> None:
    [nothing] = free_ports(1)
    file = tmp_path / "linewatch.toml"
    async with an_upstream(replying("404 Not Found", b"", OF_1999)) as upstream:
        installation = new_installation(
            tmp_path / "home",
            LINEWATCH_CONFIG=str(file),
            CREDENTIALS_DIRECTORY=str(tmp_path),
            LINEWATCH_PAGES_PORT=str(upstream.port),  # which is another server's
        )
        file.write_text(broken_settings(nothing, upstream.port), encoding="utf-8")
        credential = tmp_path / "metrics"
        credential.write_text(CANARY, encoding="utf-8")
        for each in (file, credential):
            each.chmod(0o644)
        await to_thread.run_sync(installation.run, "migrate")
        installation.home.chmod(0o755)
        said = await to_thread.run_sync(installation.run, "doctor", "--exit-code")

    assert said.returncode == 3, said.stderr
    for line in (
        f"may read {file}, which holds secrets. Run `chmod o= {file}`.",
        f"may read {credential}, which holds secrets.",
        f"may read the state folder {installation.home}. Run `chmod o=",
        f"Port {upstream.port} on 127.0.0.1 cannot be used",
        "or set LINEWATCH_PAGES_PORT.",
        f"Mail server 127.0.0.1 port {nothing}: cannot be reached",
        "Mine gas endpoint: no answer: cannot connect.",
        "The address in pages.public_url: no answer: cannot connect.",
        "days ahead of those of its servers",
        "Monitoring stopped: the worker is not running.",
        "SQLite 3.",
    ):
        assert line in said.stdout
    assert CANARY not in said.stdout + said.stderr
    asked = sorted(each.partition(b" HTTP")[0] for each in upstream.requests)
    assert asked == [b"GET /live", b"HEAD /"]


async def test_certificate_before_the_pages_that_is_not_trusted_is_named(tmp_path: Path) -> None:
    tls = make_certificate(tmp_path).for_server()
    async with an_upstream(replying("401 Unauthorized", b""), tls) as proxy:
        url = f"https://localhost:{proxy.port}"
        trusting = {"LINEWATCH_TLS_CA_FILE": str(tmp_path / "localhost.pem")}
        said = []
        for variables in ({}, trusting):
            here = new_installation(tmp_path / "home", LINEWATCH_PAGES_PUBLIC_URL=url, **variables)
            said.append((await to_thread.run_sync(here.run, "doctor")).stdout)

    assert "The address in pages.public_url: its TLS certificate is not trusted" in said[0]
    assert "renew its certificate" in said[0]
    assert "public_url" not in said[1]


def test_mistake_in_the_settings_hides_no_other(tmp_path: Path) -> None:
    installation = new_installation(tmp_path, LINEWATCH_MAIL_SENDER="nobody", LINEWATCH_X="1")

    said = installation.run("doctor", "--json")

    troubles = [each["what"] for each in json.loads(said.stdout)["troubles"]]
    assert said.returncode == 1
    assert [each.partition(" ")[0] for each in troubles] == ["the", "mail.sender"]


def test_role_that_answers_is_ready_and_one_that_does_not_is_named(tmp_path: Path) -> None:
    installation = new_installation(tmp_path / "home")
    installation.run("migrate")

    with installation.role("serve", tmp_path / "log"):
        eventually(
            lambda: installation.run("ready", "serve").returncode == 0, what="the start of serve"
        )
        said = installation.run("ready")

    assert said.returncode == 1
    assert "serve does not answer" not in said.stderr
    assert "worker does not answer" in said.stderr


def test_role_that_is_off_is_not_ready(tmp_path: Path) -> None:
    installation = new_installation(tmp_path, LINEWATCH_DEVNET_MODE="off")

    said = installation.run("ready", "devnet")

    assert (said.returncode, "devnet does not answer" in said.stderr) == (1, True)
