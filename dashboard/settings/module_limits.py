"""Which table of module limits a network has: the one it names, or one that lists its id."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final

from dashboard.domain.module_limits import ModuleLimits
from dashboard.domain.quantity import shorten
from dashboard.errors import SettingsError, WireError
from dashboard.settings.schema import NetworkSettings
from dashboard.wire.module_limits import decode_module_limits

FOLDER: Final = Path(__file__).parents[2] / "config" / "module_limits"


def table_names() -> tuple[str, ...]:
    """Return what may stand after ``module_limits =``, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


def public_tables() -> tuple[ModuleLimits, ...]:
    """Return every table that is shipped, those of public networks first."""
    tables = _ours().values()
    return tuple(sorted(tables, key=lambda each: (not each.network_ids, each.title.lower())))


def limits_of(network: NetworkSettings) -> ModuleLimits | None:
    """Return the table that is named, or else the one for the network's id, if there is one.

    A name with a slash is that of a file, such as the one that a node of the network reads.
    SettingsError says what is wrong with it.
    """
    named = network.module_limits
    if named in table_names():
        return _ours()[named]
    if "/" in named:
        return _read(Path(named).expanduser())
    if named:
        raise SettingsError(
            f"{shorten(named)} is no table of module limits: write one of "
            f"{', '.join(table_names())}, or the path of a file"
        )
    own = (table for table in _ours().values() if network.network_id in table.network_ids)
    return next(own, None)


@cache
def _ours() -> dict[str, ModuleLimits]:
    return {name: _read(FOLDER / f"{name}.toml") for name in table_names()}


def _read(path: Path) -> ModuleLimits:
    try:
        return decode_module_limits(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror}") from error
    except (WireError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be used: {error}") from error
