"""House rules of dependencies: what is declared has a reason and is what is tested."""

from __future__ import annotations

import re
import tomllib

from packaging.requirements import Requirement

from tests.house.sources import ROOT, declared_packages, optional_packages, project


def test_python_that_is_claimed_is_the_one_that_is_tested() -> None:
    pyproject = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")

    lowest = pyproject["project"]["requires-python"].removeprefix(">=")

    [claimed] = pyproject["project"]["classifiers"]
    assert claimed == f"Programming Language :: Python :: {lowest}"
    assert pyproject["tool"]["ruff"]["target-version"] == f"py{lowest.replace('.', '')}"
    assert f"for python in python{lowest} " in makefile
    assert f"--python-version {lowest} " in makefile


def test_declared_package_has_its_reason_in_contributing() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    cells = re.findall(r"^\| ([^|]+) \|", text.partition("\n## Dependencies\n")[2], re.MULTILINE)

    reasoned = {name for cell in cells for name in re.sub(r" \(npm\)", "", cell).split(", ")}

    assert (declared_packages("build", "dev") | optional_packages()) - reasoned == set()


def test_server_whose_inside_serve_subclasses_has_an_upper_bound() -> None:
    lines = project()["project"]["dependencies"]

    uvicorn = next(each for each in map(Requirement, lines) if each.name == "uvicorn")

    assert [bound.operator for bound in uvicorn.specifier if "<" in bound.operator] == ["<"]
