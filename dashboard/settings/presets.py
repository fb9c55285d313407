"""Presets of well-known networks, and tables of module limits as nodes read them.

Our tables describe themselves in keys above it; a node's own file has none of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta, Struct

from dashboard.domain.quantity import NetworkId, shorten
from dashboard.domain.rejections.line_limits import LimitsEnd, LineLimits, ModuleLimits
from dashboard.errors import SettingsError, WireError
from dashboard.settings.layers import Layer, SettingPath, Table, read_file, read_text
from dashboard.settings.schema import NetworkSettings
from dashboard.store.engine.disk import path_of
from dashboard.wire.decoding import in_plain_words, read_toml
from dashboard.wire.node import LARGEST_NUMBER

_PACKAGE: Final = Path(__file__).parents[1]
_IN_WHEEL: Final = _PACKAGE / "project"

PROJECT: Final = _IN_WHEEL if _IN_WHEEL.is_dir() else _PACKAGE.parent
"""The folder with config and the settings of Streamlit: of the clone, or of the wheel."""

FOLDER: Final = PROJECT / "config" / "networks"


def preset_names() -> tuple[str, ...]:
    """Return the values of ``preset =``, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def preset_title(name: str) -> str:
    """Return the title of a preset, from the first line of its file."""
    text = read_text(FOLDER / f"{name}.toml")
    return text.removeprefix("# ").partition(":")[0]


def preset_variables(name: str) -> Mapping[str, Sequence[SettingPath]]:
    """Return the variables that a preset refers to, each with the settings that use it."""
    found: defaultdict[str, list[SettingPath]] = defaultdict(list)
    for role, endpoint in read_file(FOLDER / f"{name}.toml").table.items():
        for key, value in endpoint.items() if isinstance(endpoint, dict) else ():
            if str(value).startswith("env:"):
                found[value.removeprefix("env:")].append((role, key))
    return found


def preset_network_id(name: str) -> int | None:
    """Return the chain id of a preset; None for a preset of any network."""
    network_id: int | None = read_file(FOLDER / f"{name}.toml").table.get("network_id")
    return network_id


def preset_layers(layers: Sequence[Layer]) -> list[Layer]:
    """Return one layer for each network whose table names a preset that exists."""
    known = preset_names()
    tables = (pair for layer in layers for pair in _tables(layer))
    return [_layer(name, own) for name, own in tables if own.get("preset") in known]


def _tables(layer: Layer) -> Iterator[tuple[str, Table]]:
    networks = layer.table.get("networks")
    for name, table in networks.items() if isinstance(networks, dict) else ():
        if isinstance(table, dict):
            yield name, table


def _layer(name: str, own: Table) -> Layer:
    """Leave out endpoints whose address the user replaces: no key goes to the wrong server."""
    file = read_file(FOLDER / f"{own['preset']}.toml")
    table = {key: value for key, value in file.table.items() if not _is_replaced(own.get(key))}
    return Layer(file.source, {"networks": {name: table}}, file.text, ("networks", name))


def _is_replaced(own: object) -> bool:
    return isinstance(own, dict) and "url" in own


LIMITS_FOLDER: Final = PROJECT / "config" / "module_limits"


def table_names() -> tuple[str, ...]:
    """Return the values of ``module_limits =``, in alphabetical order."""
    return tuple(sorted(path.stem for path in LIMITS_FOLDER.glob("*.toml")))


def public_tables() -> tuple[ModuleLimits, ...]:
    """Return every table that is shipped, those of public networks first."""
    tables = _ours().values()
    return tuple(sorted(tables, key=lambda each: (not each.network_ids, each.title.lower())))


def line_limits_of(network: NetworkSettings) -> LineLimits:
    """Return the limits of a network: the tables of its periods, then the one outside; and the end.

    SettingsError says what is wrong with them.
    """
    end = None
    if network.ends_limits:
        end = LimitsEnd(network.line_limits_end, network.line_limits_end_block)
    usual = usual_limits_of(network)
    tables = (*_periods(network), *([] if usual is None else [usual]))
    return LineLimits(tables, end, is_asked_after=network.after_limits == "seldom")


def _periods(network: NetworkSettings) -> Iterator[ModuleLimits]:
    last: datetime | None = None
    first = datetime.min.replace(tzinfo=UTC)
    in_order = sorted(network.limit_periods, key=lambda each: each.since or first)
    for number, each in enumerate(in_order):
        since, until = each.since, each.until
        if since is not None and until is not None and until <= since:
            raise SettingsError(f"the period of {shorten(each.table)} ends before it begins")
        if number and (last is None or since is None or since < last):
            raise SettingsError(
                f"the period of {shorten(each.table)} overlaps the one before: end that one first"
            )
        last = until
        yield replace(_table_named(each.table), since=since, until=until)


def usual_limits_of(network: NetworkSettings) -> ModuleLimits | None:
    """Return the named table, or else the one for the network's id, if there is one."""
    if network.module_limits:
        return _table_named(network.module_limits)
    own = (table for table in _ours().values() if network.network_id in table.network_ids)
    return next(own, None)


def _table_named(named: str) -> ModuleLimits:
    """Return a table; a name with a slash is a file, such as the one that a node reads."""
    if named in table_names():
        return _ours()[named]
    if "/" in named:
        return _read(path_of(named))
    raise SettingsError(
        f"{shorten(named)} is not a table of module limits: write one of "
        f"{', '.join(table_names())}, or the path of a file"
    )


@cache
def _ours() -> dict[str, ModuleLimits]:
    return {name: _read(LIMITS_FOLDER / f"{name}.toml") for name in table_names()}


def _read(path: Path) -> ModuleLimits:
    try:
        return decode_module_limits(read_text(path))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    except (WireError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be used: {error}") from error


_Words = Annotated[str, Meta(pattern=r"^[A-Za-z0-9 ._/:-]{0,200}$")]
_Module = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_]{1,64}$")]
_Lines = Annotated[int, Meta(ge=0, le=LARGEST_NUMBER)]
_LIMITS: Final = "traces-limits"


class _File(Struct):
    limits: Annotated[dict[_Module, _Lines], Meta(min_length=1)] = msgspec.field(name=_LIMITS)
    name: _Words = ""
    version: _Words = ""
    source: _Words = ""
    path: _Words = ""
    commit: _Words = ""
    network_ids: tuple[_Lines, ...] = ()


def decode_module_limits(text: str) -> ModuleLimits:
    """Read a table, or raise WireError; one without a name is called `the node's own file`."""
    try:
        file = msgspec.convert(read_toml(text), _File)
    except msgspec.ValidationError as error:
        raise WireError(
            f"it is not a table of module limits: {in_plain_words(str(error), table='a table')}"
        ) from error
    except ValueError as error:
        raise WireError(f"it is not valid TOML: {error}") from error
    return ModuleLimits(
        name=file.name or "the node's own file",
        version=file.version,
        source=" ".join(each for each in (file.source, file.path, file.commit) if each),
        limits=file.limits,
        network_ids=tuple(NetworkId(each) for each in file.network_ids),
    )
