"""House rules of dependencies: what code imports is declared, and what is declared has a reason."""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable, Iterable
from importlib.metadata import packages_distributions
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.house.sources import ROOT, Source, sources_of_product, sources_of_tests

OURS = {"dashboard", "tests"}
UNIMPORTED = {"httptools", "tzdata"}
"""What another library imports for us, once it is told to, or finds its data in."""


@pytest.mark.parametrize(
    ("sources", "groups"),
    [(sources_of_product, ()), (sources_of_tests, ("dev",))],
    ids=["run", "dev"],
)
def test_import_is_of_a_declared_package(
    sources: Callable[[], tuple[Source, ...]], groups: tuple[str, ...]
) -> None:
    declared = _declared(*groups)

    offences = {package: path for package, path in _imported(sources()) if package not in declared}

    assert offences == {}


def test_python_that_is_claimed_is_the_one_that_is_tested() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    lowest = pyproject["project"]["requires-python"].removeprefix(">=")

    [claimed] = pyproject["project"]["classifiers"]
    assert claimed == f"Programming Language :: Python :: {lowest}"
    assert pyproject["tool"]["ruff"]["target-version"] == f"py{lowest.replace('.', '')}"
    assert f"for python in python{lowest} " in makefile
    assert f"--python-version {lowest} " in makefile


def test_declared_package_is_imported_when_running() -> None:
    imported = {package for package, _ in _imported(sources_of_product())}

    assert _declared() - imported == UNIMPORTED


def test_declared_package_has_its_reason_in_contributing() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \|", text.partition("\n## Dependencies\n")[2], re.MULTILINE)

    reasoned = {name for cell in cells for name in re.sub(r" \(npm\)", "", cell).split(", ")}

    assert _declared("build", "dev") - reasoned == set()


def test_server_whose_inside_serve_subclasses_has_an_upper_bound() -> None:
    lines = _project()["project"]["dependencies"]

    uvicorn = next(each for each in map(Requirement, lines) if each.name == "uvicorn")

    assert [bound.operator for bound in uvicorn.specifier if "<" in bound.operator] == ["<"]


def _imported(sources: Iterable[Source]) -> set[tuple[str, str]]:
    """Return the packages that are imported, each with a file that does it."""
    known = packages_distributions()
    tops = {
        (name.partition(".")[0], source.path)
        for source in sources
        for _, name in source.imported_names()
    }
    return {
        (canonicalize_name(package), path)
        for top, path in tops
        if top not in sys.stdlib_module_names and top not in OURS
        for package in known.get(top, [top])
    }


def _declared(*groups: str) -> set[str]:
    project = _project()
    lines = [
        *project["project"]["dependencies"],
        *(line for group in groups for line in project["dependency-groups"][group]),
    ]
    return {canonicalize_name(Requirement(line).name) for line in lines if isinstance(line, str)}


def _project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
