"""The effective configuration, setting by setting, with where each comes from."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dashboard.domain.secret import MASK
from dashboard.settings.load import DEFAULTS, Configuration
from dashboard.settings.locate import Path
from dashboard.settings.mistakes import Place, is_secret, named, place_of
from dashboard.settings.presets import FOLDER


@dataclass(frozen=True, slots=True)
class Effective:
    """One setting as it is in force; a `value` that is secret is masked."""

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
    """Show no secret but what this repository holds for everybody, and where others are kept."""
    if not is_secret(path) or value == "" or _is_ours(place):
        return value
    is_reference = isinstance(value, str) and value.startswith(("env:", "file:"))
    return value if is_reference else MASK


def _is_ours(place: Place | None) -> bool:
    if place is None:
        return False
    return place.source == str(DEFAULTS) or place.source.startswith(f"{FOLDER}/")
