"""The wheel holds everything that runs, and two builds of it are the same to the last byte."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from hashlib import sha256
from pathlib import Path

import httpx
import pytest

from tests.installation import Installation, new_installation
from tests.processes import PROJECT
from tests.waiting import PATIENCE, eventually


def build(folder: Path) -> Path:
    """Build the wheel, as of a fixed moment."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=PROJECT,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1763980000"},
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    [wheel] = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("first"))


def unpacked(wheel: Path, folder: Path) -> Installation:
    """Return an installation that runs what is in the wheel, and nothing of this clone."""
    site = folder / "site"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    for each in site.rglob("*"):
        each.chmod(0o555 if each.is_dir() else 0o444)  # nothing of it may be written
    variables = {
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    return new_installation(folder / "home", **variables)


def run(installation: Installation, *arguments: str) -> str:
    """Run Python to its end; return what it prints."""
    done = subprocess.run(
        [sys.executable, *arguments],
        env=installation.environment(),
        cwd=installation.home.parent,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    )
    return done.stdout


def test_two_builds_are_the_same(wheel: Path, tmp_path: Path) -> None:
    again = build(tmp_path)

    assert wheel.name == again.name
    assert sha256(wheel.read_bytes()).digest() == sha256(again.read_bytes()).digest()


def test_wheel_holds_what_runs_and_no_test(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()

    assert any(each.endswith(".dist-info/sboms/sbom.cdx.json") for each in names)
    beside = {each.split("/")[0] for each in names}
    assert {each for each in beside if not each.endswith(".dist-info")} == {"dashboard"}
    for kept in ("config", ".streamlit"):
        held = {
            name.removeprefix("dashboard/project/")
            for name in names
            if name.startswith(f"dashboard/project/{kept}/")
        }
        here = [each for each in (PROJECT / kept).rglob("*.toml") if each.name != "secrets.toml"]
        assert held == {str(each.relative_to(PROJECT)) for each in here}


def test_everything_runs_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    installation = unpacked(wheel, tmp_path)
    linewatch = ("-m", "dashboard.cli.main")
    place = run(installation, "-c", "import dashboard; print(dashboard.__file__)")
    assert place.startswith(str(tmp_path))

    with installation.start([sys.executable, *linewatch, "up"], tmp_path / "log"):
        eventually(lambda: answers(f"{installation.serve}/ready"), what="serve")
        eventually(lambda: answers(f"{installation.pages}/_stcore/health"), what="the pages")
        index = httpx.get(installation.pages, timeout=PATIENCE)
        assert "Linewatch" in index.text
        eventually(
            lambda: "base fee" in run(installation, *linewatch, "fees"), what="the first fee"
        )
    log = (tmp_path / "log").read_text(encoding="utf-8")
    assert '"level": "error"' not in log
    assert str(PROJECT) not in log


def answers(url: str) -> bool:
    try:
        return httpx.get(url, timeout=PATIENCE).is_success
    except httpx.TransportError:
        return False
