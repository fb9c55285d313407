"""Which installation a state folder belongs to: a file in it holds the id of its store."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final
from uuid import UUID, uuid4

from dashboard.errors import SettingsError
from dashboard.settings import Settings

FILE: Final = "installation"


def own_id(settings: Settings) -> UUID | None:
    """Return the id of this state folder's installation, None where it belongs to none yet."""
    path = settings.home / FILE
    try:
        return UUID(path.read_text(encoding="ascii").strip())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise SettingsError(
            f"{path} does not hold the id of an installation ({error}): delete it, then run "
            "`linewatch join`"
        ) from error


def belong_to(settings: Settings, installation_id: UUID) -> bool:
    """Make this state folder belong to an installation; False where no file can be written.

    The file is written beside and then renamed, so that nobody reads half an id.
    """
    path = settings.home / FILE
    unfinished = Path(f"{path}.{uuid4().hex[:8]}")
    try:
        settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)
        with unfinished.open("w", encoding="ascii") as file:
            file.write(f"{installation_id}\n")
            file.flush()
            os.fsync(file.fileno())
        unfinished.replace(path)
    except OSError:
        return False
    finally:
        unfinished.unlink(missing_ok=True)
    return True
