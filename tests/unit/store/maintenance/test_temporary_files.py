"""Files that a killed command left are cleared by the next one, those of a living one never."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

import pytest

from dashboard.store.engine.engine import Store
from dashboard.store.maintenance.backup import back_up
from dashboard.store.maintenance.temporary_files import delete_abandoned, unfinished_beside
from tests.processes import PROJECT

WRITER = """
import sys, threading
from pathlib import Path
from dashboard.store.maintenance.temporary_files import unfinished_beside
with unfinished_beside(Path(sys.argv[1]), sys.argv[2]) as path:
    for end in ("", "-journal", "-wal"):
        path.with_name(path.name + end).write_text("half a store")
    print(path, flush=True)
    threading.Event().wait()
"""


@contextmanager
def writing(path: Path, kind: str = "unfinished") -> Iterator[Path]:
    """Let another process write a file; kill it (-9) at the end."""
    with subprocess.Popen(
        [sys.executable, "-c", WRITER, str(path), kind], cwd=PROJECT, stdout=subprocess.PIPE
    ) as process:
        try:
            heard = cast("IO[bytes]", process.stdout)
            yield Path(heard.readline().decode().strip())
        finally:
            process.kill()


def hidden(folder: Path) -> list[str]:
    """Return the names of the hidden files of a folder."""
    return sorted(each.name for each in folder.iterdir() if each.name.startswith("."))


@pytest.mark.parametrize("kind", ["unfinished", "part", "restoring"])
def test_file_of_a_living_process_is_left_alone_and_that_of_a_killed_one_cleared(
    tmp_path: Path, kind: str
) -> None:
    with writing(tmp_path / "first.sqlite", kind) as theirs:
        before = hidden(tmp_path)
        with unfinished_beside(tmp_path / "second.sqlite"):
            pass
        assert hidden(tmp_path) == before
        assert theirs.name in before

    with unfinished_beside(tmp_path / "second.sqlite"):
        assert theirs.name not in hidden(tmp_path)
    assert hidden(tmp_path) == []


def test_backup_clears_what_a_killed_one_left(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "backups"
    folder.mkdir()
    with writing(folder / "first.sqlite"):
        pass

    back_up(store, folder / "second.sqlite")

    assert [each.name for each in folder.iterdir()] == ["second.sqlite"]


def test_hidden_files_of_others_are_left_alone(tmp_path: Path) -> None:
    names = [".first.sqlite.0123abcd.unfinished", ".bashrc.lock", ".git.0123abcd.lock"]
    for name in names:
        (tmp_path / name).touch()

    with unfinished_beside(tmp_path / "second.sqlite"):
        pass

    assert hidden(tmp_path) == sorted(names)


def test_pipe_that_is_named_like_a_lock_makes_nobody_wait(tmp_path: Path) -> None:
    pipe = tmp_path / ".first.sqlite.0123abcd.unfinished.lock"
    os.mkfifo(pipe)

    delete_abandoned(tmp_path)

    assert hidden(tmp_path) == [pipe.name]
