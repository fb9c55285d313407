"""The settings that people may change on the page Settings, and those that a file fixes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from dashboard.settings.layers import Layer, SettingPath, location_of

_OF_MAIL: Final = (
    *("recipients", "smtp_host", "smtp_port", "security", "username", "password", "sender"),
)


def choosable_paths(networks: Iterable[str]) -> Iterator[SettingPath]:
    """Yield the settings that people may choose, given the names of networks in the file."""
    yield from (("mail", each) for each in _OF_MAIL)
    yield from (("networks", each, "coin_price") for each in networks)


def fixed_by(layers: Sequence[Layer], networks: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the changeable settings that a layer of files sets, which wins, with the place."""
    for path in choosable_paths(networks):
        location = location_of(path, layers)
        if location is not None:
            yield ".".join(path), str(replace(location, source=Path(location.source).name))
