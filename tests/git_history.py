"""What the history of the project says of a commit: whether it is in it, and what came since."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Final

_ROOT: Final = Path(__file__).parents[1]
_BRANCH: Final = "main"
"""What is published; a commit elsewhere may be written anew at any time, and then names nothing."""

NOT_THERE: Final = "not in the history"


def commit_of(page: Path) -> str:
    """Name the code that is played, with a mark where it differs from what is committed."""
    changes = _git("status", "--porcelain", "--", ":/", f":!/{page.relative_to(_ROOT).as_posix()}")
    return _git("rev-parse", "--short=10", "HEAD") + ("+" if changes else "")


def is_in_history(commit: str) -> bool:
    """Whether anybody who has the project can look at this commit."""
    return _run("merge-base", "--is-ancestor", commit, _BRANCH).returncode == 0


def changes_since(commit: str) -> str:
    """Say how often the code was changed that a run of this commit spoke of."""
    if not is_in_history(commit):
        return NOT_THERE
    return _git("rev-list", "--count", f"{commit}..{_BRANCH}", "--", ":/dashboard")


def _git(*arguments: str) -> str:
    done = _run(*arguments)
    done.check_returncode()
    return done.stdout.strip()


def _run(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = ["git", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=_ROOT)
