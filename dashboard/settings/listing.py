"""The effective configuration: each setting, its value, and where that comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import get_args

from dashboard.domain.secret import MASK, Secret
from dashboard.settings.layers import SettingLocation, SettingPath, location_of, named
from dashboard.settings.load import DEFAULTS, Configuration
from dashboard.settings.mistakes import holds_settings, kind_at
from dashboard.settings.presets import FOLDER
from dashboard.settings.schema import Settings


@dataclass(frozen=True, slots=True)
class EffectiveSetting:
    """One setting in force; a `value` that may be secret is masked."""

    setting: str
    value: object
    location: SettingLocation | None


def effective_settings(configuration: Configuration) -> Iterator[EffectiveSetting]:
    """Yield every setting that has a value, in the order of the sections."""
    for path, value in _values(configuration.merged):
        location = location_of(path, configuration.layers)
        yield EffectiveSetting(named(path), _shown(path, value, location), location)


def _values(
    table: dict[str, object], above: SettingPath = ()
) -> Iterator[tuple[SettingPath, object]]:
    for key, value in table.items():
        path = (*above, key)
        if isinstance(value, dict):
            yield from _values(value, path)
        else:
            yield path, value


def _shown(path: SettingPath, value: object, location: SettingLocation | None) -> object:
    """Mask a value of the user unless it is no secret, or only refers to one."""
    if value == "" or _is_ours(location) or _is_harmless(path, value):
        return value
    is_reference = isinstance(value, str) and value.startswith(("env:", "file:"))
    return value if is_reference else MASK


def _is_harmless(path: SettingPath, value: object) -> bool:
    """Whether the schema knows a setting there that is no secret, and no tables hide in it.

    What stands at a misspelt name, or where a table belongs, may be a key or an address with one.
    """
    kind = kind_at(path, Settings)
    if kind is None or Secret in {kind, *get_args(kind)} or holds_settings(kind):
        return False
    return not (isinstance(value, list) and any(isinstance(each, dict | list) for each in value))


def _is_ours(location: SettingLocation | None) -> bool:
    if location is None:
        return False
    return location.source == str(DEFAULTS) or location.source.startswith(f"{FOLDER}/")
