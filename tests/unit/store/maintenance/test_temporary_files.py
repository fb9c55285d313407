"""Files that a killed command left are cleared by the next one, those of a living one never."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, cast

from dashboard.store.engine.disk import delete_abandoned, unfinished_beside
from tests.processes import PROJECT

KINDS = ("unfinished", "part", "restoring")
WRITER = """
import sys, threading
from contextlib import ExitStack
from pathlib import Path
from dashboard.store.engine.disk import unfinished_beside
with ExitStack() as opened:
    for kind in sys.argv[2:]:
        path = opened.enter_context(unfinished_beside(Path(sys.argv[1]), kind))
        for end in ("", "-journal", "-wal"):
            path.with_name(path.name + end).write_text("half a store")
    print(flush=True)
    threading.Event().wait()
"""


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Let another process write a file of each kind; kill it (-9) at the end."""
    command = [sys.executable, "-c", WRITER, str(path), *KINDS]
    with subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE) as process:
        try:
            cast("IO[bytes]", process.stdout).readline()
            yield
        finally:
            process.kill()


def hidden(folder: Path) -> list[str]:
    """Return the names of the hidden files of a folder."""
    return sorted(each.name for each in folder.iterdir() if each.name.startswith("."))


def test_files_of_a_living_process_are_left_alone_and_those_of_a_killed_one_cleared(
    tmp_path: Path,
) -> None:
    with writing(tmp_path / "first.sqlite"):
        before = hidden(tmp_path)
        with unfinished_beside(tmp_path / "second.sqlite"):
            pass
        assert hidden(tmp_path) == before
        assert len(before) == 4 * len(KINDS)

    with unfinished_beside(tmp_path / "second.sqlite") as ours:
        assert hidden(tmp_path) == [f"{ours.name}.lock"]
    assert hidden(tmp_path) == []


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
