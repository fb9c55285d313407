"""Configurations in files of their own."""

from __future__ import annotations

from pathlib import Path

from dashboard.settings import Settings, load_settings
from dashboard.settings.load import Configuration, read_configuration


def loaded(folder: Path, text: str = "", **variables: str) -> Settings:
    """Load settings from a file with `text` in a folder of its own, and variables."""
    return load_settings(_environment(folder, text) | variables)


def read(folder: Path, text: str = "", **variables: str) -> Configuration:
    """Read the same without a judgement."""
    return read_configuration(_environment(folder, text) | variables)


def _environment(folder: Path, text: str) -> dict[str, str]:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return {"LINEWATCH_CONFIG": str(path), "LINEWATCH_HOME": str(folder)}
