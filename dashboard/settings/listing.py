"""The effective configuration, setting by setting, with where each comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dashboard.domain.secret import MASK, Secret
from dashboard.settings.load import DEFAULTS, Configuration
from dashboard.settings.locate import Path
from dashboard.settings.mistakes import Place, holds_settings, kind_at, named, place_of
from dashboard.settings.presets import FOLDER
from dashboard.settings.schema import Settings


@dataclass(frozen=True, slots=True)
class Effective:
    """One setting as it is in force; a `value` that may be secret is masked."""

    setting: str
    value: object
    place: Place | None


def effective_settings(configuration: Configuration) -> Iterator[Effective]:
    """Yield every setting that something gives a value, in the order of the sections."""
    for path, value in _leaves(configuration.merged):
        place = place_of(path, configuration.layers)
        yield Effective(named(path), _shown(path, value, place), place)


def _leaves(table: dict[str, object], above: Path = ()) -> Iterator[tuple[Path, object]]:
    for key, value in table.items():
        path = (*above, key)
        if isinstance(value, dict):
            yield from _leaves(value, path)
        else:
            yield path, value


def _shown(path: Path, value: object, place: Place | None) -> object:
    """Mask a person's value unless it is known to be no secret, or only says where one is kept."""
    if value == "" or _is_ours(place) or _is_harmless(path, value):
        return value
    is_reference = isinstance(value, str) and value.startswith(("env:", "file:"))
    return value if is_reference else MASK


def _is_harmless(path: Path, value: object) -> bool:
    """Whether the schema knows a setting there that is no secret, and no tables hide in it.

    What stands at a misspelt name, or where a table belongs, may be a key or an address with one.
    """
    kind = kind_at(path, Settings)
    if kind is None or kind is Secret or holds_settings(kind):
        return False
    return not (isinstance(value, list) and any(isinstance(each, dict | list) for each in value))


def _is_ours(place: Place | None) -> bool:
    if place is None:
        return False
    return place.source == str(DEFAULTS) or place.source.startswith(f"{FOLDER}/")
