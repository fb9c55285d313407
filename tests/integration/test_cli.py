"""The command line tells a person's mistake in one line and leaves nothing half done."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from pathlib import Path

import pytest

from tests.installation import Installation, command, new_installation
from tests.integration.seeded_installation import tell_story
from tests.processes import ProcessOptions, shared_launcher
from tests.waiting import PATIENCE, eventually


@pytest.fixture
def installation(tmp_path: Path) -> Installation:
    return new_installation(tmp_path / "home")


def test_command_line_lists_its_commands(installation: Installation) -> None:
    shown = installation.run("--help")

    assert shown.returncode == 0
    commands = ("up", "worker", "serve", "devnet", "pages", "migrate")
    assert [each for each in commands if each not in shown.stdout] == []


def test_command_line_names_a_wrong_setting_in_one_line(tmp_path: Path) -> None:
    installation = new_installation(tmp_path, LINEWATCH_POLL_GAS_PERIOD="soon")

    refused = installation.run("worker")

    assert refused.returncode == 2
    assert refused.stderr.count("\n") == 1
    assert "poll.gas_period (in the variable LINEWATCH_POLL_GAS_PERIOD)" in refused.stderr


def test_fees_before_the_first_one_have_the_same_keys(
    installation: Installation, tmp_path: Path
) -> None:
    installation.run("migrate")
    told = new_installation(tmp_path / "told")
    tell_story(told)

    (before,), (after,) = (
        json.loads(each.run("fees", "--json").stdout)["networks"] for each in (installation, told)
    )

    assert list(before) == list(after)
    assert before["low"] is before["medium"] is before["high"] is None


def test_command_line_migrates_a_store_once(installation: Installation) -> None:
    first, second = installation.run("migrate"), installation.run("migrate")

    assert (first.returncode, second.returncode) == (0, 0)
    assert first.stdout == second.stdout
    assert (installation.home / "linewatch.sqlite").stat().st_size > 0


def test_command_line_says_that_a_store_must_be_migrated_first(installation: Installation) -> None:
    refused = installation.run("serve")

    assert refused.returncode == 1
    assert "linewatch migrate" in refused.stderr
    assert "Traceback" not in refused.stderr


def test_command_line_tells_in_one_line_that_its_answer_cannot_be_written(
    installation: Installation,
) -> None:
    with Path("/dev/full").open("w") as full:
        refused = subprocess.run(
            command("config", "show"),
            env=installation.environment(),
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            timeout=PATIENCE,
            check=False,
        )

    assert refused.returncode == 1
    assert refused.stderr.count("\n") == 1
    assert "No space left on device" in refused.stderr


@pytest.mark.parametrize("role", ["worker", "serve", "devnet", "pages"])
def test_role_without_a_store_says_in_one_line_how_to_make_one(
    installation: Installation, role: str
) -> None:
    refused = installation.run(role)

    assert (refused.returncode, refused.stderr.count("\n")) == (1, 1), refused.stderr
    assert "run `linewatch migrate` for a new one" in refused.stderr


@pytest.mark.parametrize("role", ["up", "worker", "serve", "devnet", "pages"])
def test_role_that_is_asked_to_stop_while_it_starts_ends_well(tmp_path: Path, role: str) -> None:
    settings = tmp_path / "linewatch.toml"
    os.mkfifo(settings)
    installation = new_installation(tmp_path / "home", LINEWATCH_CONFIG=str(settings))
    options = ProcessOptions(installation.environment(), tmp_path / "log")
    process = shared_launcher().linewatch([role], options)

    with settings.open("w"):  # it opens when the role reads its settings
        code = process.terminate()

    assert code == 0
    assert (tmp_path / "log").read_text() == ""


def test_invitation_says_that_passwords_are_off(installation: Installation) -> None:
    installation.run("migrate")
    proxy = "[sign_in.proxy]\naddresses = ['10.0.0.5']\nroles = { '*' = 'viewer' }\n"
    pages = "[pages]\npublic_url = 'https://watch.example'\n"
    (installation.home / "linewatch.toml").write_text(f"{pages}{proxy}", encoding="utf-8")

    invited = installation.run("people", "invite", "Ada")

    assert "https://watch.example/invitation/" in invited.stdout
    assert "Nobody signs in with a password yet: set accounts = true" in invited.stdout


def test_up_names_a_taken_port_and_starts_nothing(installation: Installation) -> None:
    with socket.create_server(("127.0.0.1", installation.serve_port)):
        refused = installation.run("up")

    assert refused.returncode == 1
    assert f"port {installation.serve_port}" in refused.stderr
    assert "LINEWATCH_SERVE_PORT" in refused.stderr
    assert not installation.home.exists()


def test_roles_come_up_though_standard_input_is_closed(
    installation: Installation, tmp_path: Path
) -> None:
    closed = ["sh", "-c", 'exec "$@" <&-', "sh", *command("up", "--no-pages")]

    with installation.start(closed, tmp_path / "log"):
        eventually(
            lambda: installation.run("ready", "devnet", "serve", "worker").returncode == 0,
            what="the start of all roles",
        )

    assert "role died" not in (tmp_path / "log").read_text()


def test_command_line_names_a_state_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    installation = new_installation(tmp_path / "file" / "home")

    refused = installation.run("migrate")

    assert refused.returncode == 1
    assert "LINEWATCH_HOME" in refused.stderr
    assert "Traceback" not in refused.stderr
