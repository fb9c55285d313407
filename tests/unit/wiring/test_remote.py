"""Where a command is sent, and with which token: never in the clear, never shown."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dashboard.errors import InputError
from dashboard.wiring.remote import server_address, token_for
from tests.processes import PROJECT

SERVER = "https://watch.example"
A_KEYRING = """
import sys, types

class KeyringError(Exception):
    pass

def get_password(service, user):
    if "locked" in user:
        raise KeyringError("canary")
    return "lwt_kept" if (service, user) == ("linewatch", "https://watch.example") else None

errors = types.ModuleType("keyring.errors")
errors.KeyringError = KeyringError
sys.modules["keyring.errors"] = errors
"""


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("https://watch.example/", "https://watch.example"),
        ("https://watch.example:8443/base/", "https://watch.example:8443/base"),
        ("http://127.0.0.1:8501", "http://127.0.0.1:8501"),
        ("http://[::1]:8501", "http://[::1]:8501"),
        ("http://localhost:8501", "http://localhost:8501"),
    ],
)
def test_address_is_that_of_the_browser(text: str, address: str) -> None:
    assert server_address(text) == address


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("watch.example", "is not the address"),
        ("ftp://watch.example", "is not the address"),
        ("https://watch.example?token=x", "is not the address"),
        ("https://watch.example:x", "is not the address"),
        ("http://watch.example", "unencrypted"),
        ("http://127.0.0.1.example", "unencrypted"),
        ("https://lwt_c4nary@watch.example", "leave it out"),
    ],
)
def test_address_that_would_betray_the_token_is_refused(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as error:
        server_address(text)

    assert "c4nary" not in str(error.value)


def test_token_is_that_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEWATCH_TOKEN", " lwt_c4nary\n")
    assert token_for(SERVER).reveal() == "lwt_c4nary"

    monkeypatch.setenv("LINEWATCH_TOKEN", "lwt c4nary")
    with pytest.raises(InputError, match="copy it again") as error:
        token_for(SERVER)
    assert "c4nary" not in str(error.value)


@pytest.mark.parametrize(
    ("server", "said"),
    [
        (SERVER, "lwt_kept"),
        ("https://other.example", "keyring set linewatch https://other.example"),
        ("https://locked.example", "the keyring gives no token: unlock it"),
    ],
)
def test_token_is_kept_by_a_keyring(tmp_path: Path, server: str, said: str) -> None:
    (tmp_path / "keyring.py").write_text(A_KEYRING, encoding="utf-8")
    script = (
        "import os\nos.environ.pop('LINEWATCH_TOKEN', None)\n"
        "from dashboard.errors import InputError\nfrom dashboard.wiring.remote import token_for\n"
        f"try: print(token_for({server!r}).reveal())\nexcept InputError as error: print(error)"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script],
        env={"PYTHONPATH": f"{tmp_path}:{PROJECT}", "PATH": "/usr/bin"},
        capture_output=True,
        text=True,
        check=True,
    )

    assert said in ended.stdout
    assert "canary" not in ended.stdout
