"""House rules of the lock files: everything pinned by hash, no registry named, versions agree."""

from __future__ import annotations

import json
import re
import tomllib

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.sources import ROOT
from tests.sbom import SBOM

LOCKS = ["bootstrap", "run", "dev", "tracing"]
ADDRESS = re.compile(r"://|index-url|find-links|trusted-host|\"resolved\"")
PIN = re.compile(
    r"^([\w.-]+)==(\S+)(?: ; ([^\\]+?))? \\\n"
    r"((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)",
    re.MULTILINE,
)


@pytest.mark.parametrize(
    "file", [*(f"requirements/{name}.lock" for name in LOCKS), "tests/node/package-lock.json"]
)
def test_lock_names_no_registry(file: str) -> None:
    text = (ROOT / file).read_text(encoding="utf-8")

    assert ADDRESS.findall(text) == []


@pytest.mark.parametrize("name", LOCKS)
def test_lock_pins_every_package_by_hash(name: str) -> None:
    text = _lock_text(name)

    pinned = PIN.findall(text)

    assert len(pinned) == len(re.findall(r"^[\w.-]+", text, re.MULTILINE)) > 0


def test_npm_lock_pins_every_package_by_hash() -> None:
    lock = json.loads((ROOT / "tests/node/package-lock.json").read_text(encoding="utf-8"))

    packages = {path: entry for path, entry in lock["packages"].items() if path}

    assert packages
    assert [path for path, entry in packages.items() if "integrity" not in entry] == []


def test_lock_of_what_runs_agrees_with_dev_lock() -> None:
    assert _pins("run") | _pins("tracing") <= _pins("dev")


def test_bill_of_materials_is_that_of_the_run_lock() -> None:
    listed = json.loads(SBOM.read_text(encoding="utf-8"))["components"]
    told = {
        (each["name"], each["version"]): {digest["content"] for digest in each["hashes"]}
        for each in listed
    }

    assert told == {
        (package, version): set(re.findall(r"sha256:(\w+)", hashes))
        for package, version, _, hashes in PIN.findall(_lock_text("run"))
    }
    assert [each["name"] for each in listed if not each.get("licenses")] == []


@pytest.mark.parametrize(("name", "group"), [("run", "build"), ("dev", "dev")])
def test_lock_holds_what_the_project_asks_for(name: str, group: str) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    groups = project["dependency-groups"]
    asked = [*project["project"]["dependencies"], *groups["build"], *groups[group]]

    wanted = {canonicalize_name(Requirement(line).name) for line in asked if isinstance(line, str)}

    assert wanted - {package for package, _, _ in _pins(name)} == set()


def _pins(name: str) -> set[tuple[str, str, str]]:
    return {
        (package, version, marker) for package, version, marker, _ in PIN.findall(_lock_text(name))
    }


def _lock_text(name: str) -> str:
    return (ROOT / f"requirements/{name}.lock").read_text(encoding="utf-8")
