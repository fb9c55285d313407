"""Read settings: config/default.toml, presets, the person's file, then variables; check them."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Final, get_type_hints

import msgspec
import platformdirs
from msgspec import Struct

from dashboard.domain.quantity import Wei, shorten
from dashboard.domain.secret import Secret
from dashboard.domain.tracking.transaction_cost import CoinPrice
from dashboard.errors import SettingsError
from dashboard.settings.check_keys import Inspector, holds_settings, not_a_setting
from dashboard.settings.check_together import check_together
from dashboard.settings.choosable import fixed_by
from dashboard.settings.layers import (
    Layer,
    Mistake,
    SettingLocation,
    Table,
    Unreadable,
    named,
    read_file,
)
from dashboard.settings.presets import FOLDER, PROJECT, preset_layers, preset_names
from dashboard.settings.schema import Settings
from dashboard.settings.values import (
    ByteSize,
    FreeSpace,
    KeptFor,
    Rate,
    parse_duration,
    parse_fee,
    parse_free_space,
    parse_kept_for,
    parse_point_in_time,
    parse_price,
    parse_rate_setting,
    parse_secret,
    parse_size,
)
from dashboard.store.engine.disk import path_of

DEFAULTS: Final = PROJECT / "config" / "default.toml"

_PREFIX: Final = "LINEWATCH_"
_HOME: Final = "LINEWATCH_HOME"
_OWN_FILE: Final = "LINEWATCH_CONFIG"
_RESERVED: Final = frozenset({_HOME, _OWN_FILE, "LINEWATCH_SERVER", "LINEWATCH_TOKEN"})
"""Variables that are not settings: the last two are for commands at another installation."""

_PARSERS: Final[Mapping[Any, Callable[[object], object]]] = {
    timedelta: parse_duration,
    ByteSize: parse_size,
    FreeSpace: parse_free_space,
    Wei: parse_fee,
    Rate: parse_rate_setting,
    KeptFor: parse_kept_for,
    datetime: parse_point_in_time,
    CoinPrice: parse_price,
}
_LISTS: Final = (
    ("fees", "range_percentiles"),
    ("serve", "method_prefixes"),
    ("serve", "cors_origins"),
    ("http", "allowed_hosts"),
    ("mail", "recipients"),
    ("sign_in", "second_factor"),
)


def is_ours(source: str) -> bool:
    """Whether a layer comes with Linewatch, rather than from a person."""
    return source == str(DEFAULTS) or source.startswith(f"{FOLDER}/")


def load_settings(variables: Mapping[str, str] | None = None) -> Settings:
    """Read and check the whole configuration; SettingsError names each mistake and its place.

    `variables` replaces the process environment.
    """
    settings, mistakes = read_configuration(variables).checked()
    if mistakes:
        more = f"; {len(mistakes) - 1} more: `linewatch config check` names them all"
        raise SettingsError(f"{mistakes[0]}{more if mistakes[1:] else ''}")
    return settings


def read_configuration(
    variables: Mapping[str, str] | None = None, own: Callable[[], Layer] | None = None
) -> Configuration:
    """Read all layers unchecked; `Configuration.mistakes` has what is wrong.

    `own` reads the replacement of the person's own file, or raises Unreadable.
    """
    environment = os.environ if variables is None else variables
    home = _home(environment)
    layers = [read_file(DEFAULTS)]
    if environment.get(_HOME):
        layers.append(Layer(f"the variable {_HOME}", {"home": str(home)}))
    unreadable = list(_wrong_home(home))
    try:
        given_ones = _own_layers(environment) if own is None else [own()]
        layers += [*preset_layers(given_ones), *given_ones]
    except Unreadable as error:
        unreadable.append(error.mistake)
    given, unknown = _variable_layers(environment, layers)
    layers += given
    merged: Table = {"home": str(home)}
    for layer in layers:
        _merge(merged, layer.table)
    _split_lists(merged)
    # An unknown variable may be a secret that the unreadable file refers to.
    found = unreadable or unknown
    return Configuration(merged, layers, environment, found, is_whole=not unreadable)


class Configuration(Struct, frozen=True):
    """All layers merged, not yet checked; `found` are the mistakes met while reading them.

    The last layer wins. `is_whole`: every file could be read.
    """

    merged: Table
    layers: Sequence[Layer]
    variables: Mapping[str, str]
    found: Sequence[Mistake] = ()
    is_whole: bool = True

    def mistakes(self) -> list[Mistake]:
        """Return everything that is wrong, each with its place and remedy."""
        return self.checked()[1]

    def checked(self) -> tuple[Settings, list[Mistake]]:
        """Return the settings with all of their mistakes.

        Settings are checked against each other once every table can be read; the replacement of a
        wrong value is blamed for nothing.
        """
        inspector = Inspector(self.layers, self._decode)
        settings: Settings = inspector.read(self._with_fees(), Settings)
        is_whole = self.is_whole and not inspector.left_out
        together = check_together(settings) if is_whole else ()
        unknown = list(self._unknown_presets())
        lacking = {named(path[:-1]) for path, _ in unknown}  # what the preset would have said
        found = [each for each in inspector.found if each.setting not in lacking]
        remarks = [*unknown, *together]
        wrong = [f"{each.setting}." for each in found]
        more = (
            inspector.mistake(path, message)
            for path, message in remarks
            if not any(_is_one_in_the_other(f"{named(path)}.", each) for each in wrong)
        )
        found = [each for each in found if not _is_of_all(each)]
        of_people = [each for each in self.layers if not is_ours(each.source)]
        fixed = dict(fixed_by(of_people, settings.networks))
        return msgspec.structs.replace(settings, fixed=fixed), [*self.found, *found, *more]

    def _with_fees(self) -> Table:
        """Return all layers, with the fees of all networks below those of each."""
        common, networks = self.merged.get("fees"), self.merged.get("networks")
        if not isinstance(common, dict) or not isinstance(networks, dict):
            return self.merged
        own = {name: _above(common, table) for name, table in networks.items()}
        return self.merged | {"networks": own}

    def _decode(self, kind: Any, value: object) -> object:  # noqa: ANN401 - a type, or `Wei`
        if kind is Secret:
            return parse_secret(value, self.variables)
        return Path(str(value)) if kind is Path else _PARSERS[kind](value)

    def _unknown_presets(self) -> Iterator[tuple[tuple[str, ...], str]]:
        known = preset_names()
        networks = self.merged.get("networks")
        for name, table in networks.items() if isinstance(networks, dict) else ():
            preset = table.get("preset") if isinstance(table, dict) else None
            if isinstance(preset, str) and preset and preset not in known:
                message = f"is {shorten(preset)}: choose one of {', '.join(known)}"
                yield ("networks", name, "preset"), message


def _home(environment: Mapping[str, str]) -> Path:
    named = environment.get(_HOME)
    return path_of(named or platformdirs.user_state_dir("linewatch", appauthor=False)).absolute()


def _wrong_home(home: Path) -> Iterator[Mistake]:
    """Report a state folder whose name no address of a store can hold."""
    if str(home).encode("utf-8", "replace").decode() != str(home):
        yield Mistake(
            f"the state folder {shorten(str(home))}",
            f"has a name that is not UTF-8: set {_HOME} to another",
        )


def own_file(variables: Mapping[str, str] | None = None) -> Path:
    """Return the path of the person's own file, whether it exists or not."""
    environment = os.environ if variables is None else variables
    if named := environment.get(_OWN_FILE):
        return path_of(named).absolute()
    return _home(environment) / "linewatch.toml"


def places_in_full(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that name a folder or a file, whole: a process may change its folder."""
    places: dict[str, Callable[[Mapping[str, str]], Path]] = {_HOME: _home, _OWN_FILE: own_file}
    return {name: str(of(environment)) for name, of in places.items() if environment.get(name)}


def _own_layers(environment: Mapping[str, str]) -> list[Layer]:
    """Read the person's own file: one that is named must exist, the usual one need not.

    A folder in its place, as Docker mounts one for a file that is not there, is a mistake.
    """
    path = own_file(environment)
    is_there = path.exists() or path.is_symlink()
    return [read_file(path)] if environment.get(_OWN_FILE) or is_there else []


def _variable_layers(
    environment: Mapping[str, str], layers: Sequence[Layer]
) -> tuple[list[Layer], list[Mistake]]:
    """Turn LINEWATCH_SECTION_KEY variables into one layer each; an unknown one is a mistake."""
    known = dict(_known_variables())
    referenced = {name for layer in layers for name in _referenced(layer.table)}
    found, unknown = [], []
    for name in sorted(environment):
        if not name.startswith(_PREFIX) or name in _RESERVED | referenced:
            continue
        subject = f"the variable {name}"
        if name in known:
            section, key = known[name]
            found.append(Layer(subject, {section: {key: environment[name]}}))
        else:
            remark = not_a_setting(name, [*known, *_RESERVED])
            if name.startswith(tuple(_inner_tables())):
                remark = "is in a table that no variable reaches: write it into linewatch.toml"
            unknown.append(Mistake(subject, remark, SettingLocation(subject)))
    return found, unknown


def _known_variables() -> Iterator[tuple[str, tuple[str, str]]]:
    for section, key, kind in _keys():
        if not holds_settings(kind):
            yield f"{_PREFIX}{section}_{key}".upper(), (section, key)


def _inner_tables() -> Iterator[str]:
    """Yield how variables of tables inside a section would begin, which only a file can hold."""
    for section, key, kind in _keys():
        if holds_settings(kind):
            yield f"{_PREFIX}{section}_{key}".upper().rstrip("_") + "_"


def _keys() -> Iterator[tuple[str, str, Any]]:
    """Yield section, key and type of all settings; the tables that people name have no key."""
    for section, kind in get_type_hints(Settings).items():
        if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
            yield from ((section, *each) for each in get_type_hints(kind).items())
        elif holds_settings(kind):
            yield section, "", kind


def _referenced(table: object) -> Iterator[str]:
    """Yield the variables that a table names with ``env:``."""
    if isinstance(table, dict):
        for value in table.values():
            yield from _referenced(value)
    elif isinstance(table, list):
        for value in table:
            yield from _referenced(value)
    elif isinstance(table, str) and table.startswith("env:"):
        yield table.removeprefix("env:")


def _split_lists(merged: Table) -> None:
    """Split comma-separated text from a variable into a list where the setting is one."""
    for section, key in _LISTS:
        table = merged.get(section)
        if isinstance(table, dict) and isinstance(text := table.get(key), str):
            table[key] = [part.strip() for part in text.split(",") if part.strip()]


def _above(common: Table, network: Any) -> Any:  # noqa: ANN401 - a table as it was written
    """Return the table of a network whose fees, if it has any, override those of all."""
    if not isinstance(network, dict) or not isinstance(network.get("fees"), dict):
        return network
    fees = dict(common)
    _merge(fees, network["fees"])
    return network | {"fees": fees}


def _is_one_in_the_other(one: str, other: str) -> bool:
    return one.startswith(other) or other.startswith(one)


def _is_of_all(mistake: Mistake) -> bool:
    """Whether a mistake in the fees of a network is one of [fees], where it is reported."""
    return mistake.location is None and mistake.setting.startswith("networks.")


def _merge(below: Table, above: Table) -> None:
    for key, value in above.items():
        if isinstance(value, dict):
            inner = below.get(key)
            below[key] = inner = dict(inner) if isinstance(inner, dict) else {}
            _merge(inner, value)
        else:
            below[key] = value
