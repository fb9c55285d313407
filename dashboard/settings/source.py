"""Read one file of settings, with the line of each; what is wrong with it as a whole."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Final

from dashboard.settings.locate import lines_of
from dashboard.settings.mistakes import Layer, Mistake, Place

_LINE: Final = re.compile(r"\(at line (\d+), ")


class Unreadable(Exception):
    """A file gives no settings at all; holds the mistake that says why."""

    def __init__(self, mistake: Mistake) -> None:
        """Keep what is to be told."""
        super().__init__(str(mistake))
        self.mistake = mistake


def read_file(path: Path) -> Layer:
    """Return the file's table and lines; Unreadable where it cannot be read or is no TOML."""
    try:
        text = path.read_text(encoding="utf-8")
        return Layer(str(path), tomllib.loads(text), lines_of(text))
    except OSError as error:
        remark = f"cannot be read: {error.strerror}"
        raise Unreadable(
            Mistake(f"the configuration file {path}", remark, Place(str(path)))
        ) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        place = Place(str(path), _line_of(error))
        raise Unreadable(Mistake(str(path), f"is not valid TOML: {error}", place)) from error


def _line_of(error: Exception) -> int | None:
    match = _LINE.search(str(error))
    return int(match[1]) if match else None
