"""Which roles of `linewatch up` keep dying: a file of the state folder tells the pages and doctor.

It is no part of the store: where the store is why roles die, it would not be written.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Final
from uuid import uuid4

import msgspec

from dashboard.domain.clock import Clock
from dashboard.domain.failing_role import FailingRole
from dashboard.logs import get_logger

_FILE: Final = "failing-roles.json"
_FEWEST: Final = 2
"""A role that died once is there again in a moment, which nobody has to see."""

_log = get_logger(__name__)


class _Noted(msgspec.Struct):
    supervisor: int
    roles: Sequence[FailingRole]


def failing_roles(home: Path) -> Sequence[FailingRole]:
    """Return the roles that keep dying under the `up` of this state folder, if one runs."""
    try:
        found = msgspec.json.decode((home / _FILE).read_bytes(), type=_Noted)
    except (OSError, msgspec.MsgspecError):
        return ()
    return found.roles if _is_alive(found.supervisor) else ()


def _is_alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    except PermissionError:  # of another user
        return True
    return True


@dataclass
class RoleDeaths:
    """Notes the deaths of roles in a state folder, for as long as the process lives."""

    home: Path
    clock: Clock
    known: dict[str, FailingRole] = field(default_factory=dict)

    def note(self, name: str, why: str, deaths: int, again_in: float) -> None:
        """Note that a role died once more, and starts again in so many seconds."""
        now = self.clock()
        before = self.known.get(name)
        since = now if before is None or deaths == 1 else before.since
        again_at = now + timedelta(seconds=again_in)
        self.known[name] = FailingRole(name, deaths, since, why, again_at)
        self._write(self.known)

    def forget(self, name: str) -> None:
        """Note that a role is well."""
        if self.known.pop(name, None) is not None:
            self._write(self.known)

    def _write(self, known: Mapping[str, FailingRole]) -> None:
        """Replace the file at once, so that nobody reads half of it; roles live without it."""
        path = self.home / _FILE
        told = [each for each in known.values() if each.deaths >= _FEWEST]
        unfinished = Path(f"{path}.{uuid4().hex[:8]}")
        try:
            if not told:
                path.unlink(missing_ok=True)
                return
            unfinished.write_bytes(msgspec.json.encode(_Noted(os.getpid(), told)))
            unfinished.replace(path)
        except OSError as error:
            _log.warning("which roles keep dying cannot be written down", error=str(error))
        finally:
            unfinished.unlink(missing_ok=True)

    def close(self) -> None:
        """Leave nothing behind: no role runs any more."""
        self.known.clear()
        self._write(self.known)
