"""Presets: settings of well-known networks from config/networks, which the user overrides."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from dashboard.settings.layers import Layer, Table, read_file

FOLDER: Final = Path(__file__).parents[2] / "config" / "networks"


def preset_names() -> tuple[str, ...]:
    """Return what may stand after ``preset =``, in alphabetical order."""
    return tuple(sorted(path.stem for path in FOLDER.glob("*.toml")))


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
    lines = {("networks", name, *path): line for path, line in file.lines.items()}
    return Layer(file.source, {"networks": {name: table}}, lines)


def _is_replaced(own: object) -> bool:
    return isinstance(own, dict) and "url" in own
