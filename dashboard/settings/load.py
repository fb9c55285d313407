"""Read settings from config/default.toml, the person's file and variables, and check them."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar, get_type_hints

import msgspec
import platformdirs

from dashboard.domain.secret import Secret
from dashboard.errors import SettingsError
from dashboard.settings.check import check_together
from dashboard.settings.mistakes import Layer, Table, describe_mistake, unknown_name
from dashboard.settings.schema import ApiKeySettings, NetworkSettings, Settings
from dashboard.settings.values import (
    ByteSize,
    Duration,
    parse_duration,
    parse_secret,
    parse_size,
)

DEFAULTS: Final = Path(__file__).parents[2] / "config" / "default.toml"
_PREFIX: Final = "LINEWATCH_"
_RESERVED: Final = frozenset({"LINEWATCH_HOME", "LINEWATCH_CONFIG"})
_PARSERS: Final = {Duration: parse_duration, ByteSize: parse_size}

_NAMED: Final = ((("networks",), NetworkSettings), (("serve", "keys"), ApiKeySettings))
_LISTS: Final = (("serve", "method_prefixes"), ("serve", "cors_origins"), ("mail", "recipients"))
_Kind = TypeVar("_Kind")


def load_settings(variables: Mapping[str, str] | None = None) -> Settings:
    """Read and check the whole configuration; SettingsError names what is wrong, and where.

    `variables` stands for the process environment (the default).
    """
    environment = os.environ if variables is None else variables
    home = _home(environment)
    layers = [_read_file(DEFAULTS), *_own_file(environment, home)]
    layers += _variable_layers(environment, layers)
    merged: Table = {"home": str(home)}
    for layer in layers:
        _merge(merged, layer.table)
    _split_lists(merged)
    settings = _Draft(merged, layers, environment).settings()
    check_together(settings)
    return settings


def _home(environment: Mapping[str, str]) -> Path:
    named = environment.get("LINEWATCH_HOME")
    path = Path(named) if named else platformdirs.user_state_path("linewatch", appauthor=False)
    return path.expanduser().absolute()


def _own_file(environment: Mapping[str, str], home: Path) -> list[Layer]:
    named = environment.get("LINEWATCH_CONFIG")
    if named:
        return [_read_file(Path(named).expanduser())]
    usual = home / "linewatch.toml"
    return [_read_file(usual)] if usual.is_file() else []


def _read_file(path: Path) -> Layer:
    try:
        return Layer(str(path), tomllib.loads(path.read_text(encoding="utf-8")))
    except OSError as error:
        msg = f"the configuration file {path} cannot be read: {error.strerror}"
        raise SettingsError(msg) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        msg = f"{path} is not valid TOML: {error}"
        raise SettingsError(msg) from error


def _variable_layers(environment: Mapping[str, str], layers: list[Layer]) -> list[Layer]:
    """Turn LINEWATCH_SECTION_KEY variables into one layer each; an unknown one is an error."""
    known = dict(_known_variables())
    referenced = {name for layer in layers for name in _referenced(layer.table)}
    found = []
    for name in sorted(environment):
        if not name.startswith(_PREFIX) or name in _RESERVED | referenced:
            continue
        if name not in known:
            raise SettingsError(unknown_name(f"the variable {name}", name, [*known, *_RESERVED]))
        section, key = known[name]
        found.append(Layer(f"the variable {name}", {section: {key: environment[name]}}))
    return found


def _known_variables() -> Iterator[tuple[str, tuple[str, str]]]:
    for section, kind in get_type_hints(Settings).items():
        if not (isinstance(kind, type) and issubclass(kind, msgspec.Struct)):
            continue
        for key in kind.__struct_fields__:
            if (section, key) != ("serve", "keys"):
                yield f"{_PREFIX}{section}_{key}".upper(), (section, key)


def _referenced(table: object) -> Iterator[str]:
    """Yield the variables that a table names with ``env:``."""
    if isinstance(table, dict):
        for value in table.values():
            yield from _referenced(value)
    elif isinstance(table, str) and table.startswith("env:"):
        yield table.removeprefix("env:")


def _split_lists(merged: Table) -> None:
    """Turn comma-separated text, which a variable gives, into a list where one is wanted."""
    for section, key in _LISTS:
        table = merged.get(section)
        if isinstance(table, dict) and isinstance(text := table.get(key), str):
            table[key] = [part.strip() for part in text.split(",") if part.strip()]


def _merge(below: Table, above: Table) -> None:
    for key, value in above.items():
        if isinstance(value, dict) and isinstance(below.get(key), dict):
            _merge(below[key], value)
        else:
            below[key] = value


@dataclass(frozen=True, slots=True)
class _Draft:
    """The configuration before it is checked, with what is needed to say what is wrong."""

    merged: Table
    layers: Sequence[Layer]
    variables: Mapping[str, str]

    def settings(self) -> Settings:
        """Check the whole; SettingsError describes the first mistake.

        Tables that a person names are checked alone first, so that an error can say the name.
        """
        for path, kind in _NAMED:
            for name, table in self._tables(path):
                self._convert((*path, name), table, kind)
        return self._convert((), self.merged, Settings)

    def _tables(self, path: tuple[str, ...]) -> Iterable[tuple[str, object]]:
        tables: object = self.merged
        for step in path:
            tables = tables.get(step) if isinstance(tables, dict) else None
        return tables.items() if isinstance(tables, dict) else ()

    def _convert(self, path: tuple[str, ...], table: object, kind: type[_Kind]) -> _Kind:
        try:
            return msgspec.convert(table, kind, strict=False, dec_hook=self._decode)
        except msgspec.ValidationError as error:
            message = describe_mistake(error, path, self.merged, self.layers)
            raise SettingsError(message) from None

    def _decode(self, kind: type, value: object) -> object:
        if kind is Secret:
            return parse_secret(value, self.variables)
        return Path(str(value)) if kind is Path else _PARSERS[kind](value)
