"""Writes `requirements/sbom.cdx.json`: what a wheel of Linewatch runs with, as CycloneDX.

`make lock` runs it. Names, versions and hashes come from `run.lock`, licences from the packages as
they are installed; the same lock gives the same bytes.
"""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final
from uuid import UUID, uuid5

from cyclonedx.contrib.license.factories import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

_ROOT: Final = Path(__file__).parents[1]
SBOM: Final = _ROOT / "requirements" / "sbom.cdx.json"
_PIN: Final = re.compile(
    r"^([\w.-]+)==([^\s;]+)[^\n]*\n((?:    --hash=sha256:[0-9a-f]{64}(?: \\)?\n)+)", re.MULTILINE
)
_LICENCE: Final = "License :: OSI Approved :: "
_LONGEST_NAME: Final = 60
_OURS: Final = UUID("6a3ff0b4-5c0c-4f0f-9a3f-3f3c5d6a1f10")


def sbom_of(lock: str) -> str:
    """Return the bill of materials of a lock file."""
    project = tomllib.loads((_ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    bom = Bom(serial_number=uuid5(_OURS, lock), components=map(_component, _PIN.findall(lock)))
    bom.metadata.timestamp = None  # type: ignore[assignment] # left out of the text
    bom.metadata.component = linewatch = Component(
        type=ComponentType.APPLICATION,
        name=project["name"],
        version=project["version"],
        bom_ref=project["name"],
        licenses=[LicenseFactory().make_from_string(project["license"])],
    )
    bom.register_dependency(linewatch, bom.components)
    return JsonV1Dot6(bom).output_as_string(indent=1) + "\n"


def _component(pin: tuple[str, str, str]) -> Component:
    name, version, hashes = pin
    digests = re.findall(r"sha256:([0-9a-f]{64})", hashes)
    licence = _licence(name)
    return Component(
        name=name,
        version=version,
        bom_ref=f"{name}=={version}",
        purl=PackageURL("pypi", name=name, version=version),
        hashes=[HashType(alg=HashAlgorithm.SHA_256, content=each) for each in digests],
        licenses=[] if licence is None else [LicenseFactory().make_from_string(licence)],
    )


def _licence(name: str) -> str | None:
    """Return what a package says of its licence; None if it is not installed on this system."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        return None
    told = found.metadata.json
    given = str(told.get("license_expression") or told.get("license", ""))
    if given and len(given) <= _LONGEST_NAME and "\n" not in given:
        return given
    classified = [
        each.removeprefix(_LICENCE)
        for each in told.get("classifier", [])
        if each.startswith(_LICENCE)
    ]
    return " OR ".join(classified) or None


if __name__ == "__main__":
    SBOM.write_text(sbom_of((SBOM.parent / "run.lock").read_text(encoding="utf-8")), "utf-8")
