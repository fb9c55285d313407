"""No secret turns up in any log, trace, error, metric, page, mail, export, URL or process list."""

from __future__ import annotations

import re
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
from msgspec import Struct

from dashboard.domain.secret import Secret
from dashboard.settings.layers import Layer
from dashboard.settings.listing import effective_settings
from dashboard.settings.load import load_settings, read_configuration
from dashboard.settings.schema import Settings
from tests.canaries import canaries_in, canary
from tests.certificate import make_certificate
from tests.integration.site_of_canaries import CanarySite, install, play, running_site

WORD = canary("wrong value")
LOGIN = f"https://me:{WORD}@watch.example/"
WRONG: dict[str, Any] = {
    "login": LOGIN,
    "half": f"postgresql://me:half@{WORD}@host/store",
    "port": f"https://me:{WORD}@host:port/",
    "short": f"me:{WORD}@host",
    "list": [LOGIN],
    "lists": [[LOGIN]],
    "table": {"x": LOGIN},
    "misspelt": WORD,
}
REQUIRED: dict[str, Any] = {
    "sign_in": {"issuers": {"x": {"client_id": "x", "roles": {"*": "viewer"}}}},
    "channels": {"x": {"kind": "webhook"}},
    "networks": {"x": {"network_id": 1}},
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CanarySite]:
    with running_site(tmp_path_factory.mktemp("site")) as site:
        play(site)
        yield site


@pytest.mark.full
def test_nothing_that_anybody_reads_holds_a_secret(site: CanarySite) -> None:
    found = [(where, canaries_in(content, site.made)) for where, content in site.said]

    assert [(where, leaks) for where, leaks in found if leaks] == []


def test_each_secret_of_the_settings_holds_a_canary(tmp_path: Path) -> None:
    make_certificate(tmp_path)
    here = install(tmp_path, "postgresql://linewatch@/linewatch")
    settings = load_settings(here.environment())
    known = {name for name, kind in _settings(Settings) if kind is Secret}
    held = {name for name, each in _values(settings) if canaries_in(each.reveal())}

    assert known - held == set()


@pytest.mark.full
def test_links_of_a_mail_are_for_its_recipient_alone(site: CanarySite) -> None:
    links: dict[str, set[str]] = {}
    for where, content in site.said:
        for link in re.findall(rb"/link/([\w.~%-]{20,})", content):
            links.setdefault(link.decode(), set()).add(where)

    assert len(links) > 1
    assert [where for where in links.values() if len(where) > 1] == []
    assert {each.partition(" ")[0] for where in links.values() for each in where} == {"mail"}


@pytest.mark.full
def test_files_are_for_their_owner_alone(site: CanarySite) -> None:
    files = [site.here.home, *site.here.home.rglob("*")]

    assert [str(each) for each in files if each.stat().st_mode & 0o077 and _is_open(each)] == []


def _is_open(file: Path) -> bool:
    """Whether others may enter all folders above; that of the state folder is in ours."""
    return all(each.stat().st_mode & 0o011 for each in (file, *file.parents))


@pytest.mark.parametrize("case", WRONG)
def test_wrong_address_or_secret_is_refused_without_being_shown(case: str) -> None:
    table = deepcopy(REQUIRED)
    for name, kind in _settings(Settings):
        *above, key = name.split(".")
        if kind is Secret or re.search("url|host|origin", key):
            wrong = WRONG[case]
            _put(table, above, f"z{key}" if case == "misspelt" else key, wrong)
    configuration = read_configuration({}, lambda: Layer("the file", table))
    _, mistakes = configuration.checked()
    shown = [*map(str, mistakes), *map(str, effective_settings(configuration))]

    assert len(mistakes) > 10
    assert canaries_in("\n".join(shown)) == []


def _settings(kind: Any, above: str = "") -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - a type
    """Yield each setting of the schema with its type; `x` names tables, 0 is a place in a list."""
    for name, hint in get_type_hints(kind).items():
        path, each = f"{above}{name}", hint
        if isinstance(each, UnionType):
            each = next(part for part in get_args(each) if part is not NoneType)
        if get_origin(each) is dict:
            path, each = f"{path}.x", get_args(each)[1]
        if get_origin(each) is list:
            [each] = get_args(each)
            path = f"{path}.0" if _is_struct(each) else path
        if _is_struct(each):
            yield from _settings(each, f"{path}.")
        else:
            yield path, each


def _is_struct(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Struct)


def _values(value: object, above: str = "") -> Iterator[tuple[str, Secret]]:
    """Yield the secrets that settings hold, by the same names."""
    if isinstance(value, Secret):
        yield above.rstrip("."), value
    elif isinstance(value, Struct):
        for name in value.__struct_fields__:
            yield from _values(getattr(value, name), f"{above}{name}.")
    elif isinstance(value, dict):
        for each in value.values():
            yield from _values(each, f"{above}x.")
    elif isinstance(value, list):
        for each in value:
            yield from _values(each, above if isinstance(each, Secret) else f"{above}0.")


def _put(table: dict[str, Any], above: list[str], key: str, value: object) -> None:
    for step, following in zip(above, [*above[1:], ""], strict=True):
        if step != "0":
            inner = table.setdefault(step, [{}] if following == "0" else {})
            table = inner[0] if following == "0" else inner
    table[key] = value
