"""The file of templates for answers, in the configuration folder; read anew when it changed."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EISDIR
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from dashboard.errors import InputError
from dashboard.settings.answer_file import ANSWER_FILE, read_answer_file
from dashboard.settings.load import own_file
from dashboard.show.queries.answers import AnswerFileState


class StoredAnswerFile:
    """`answers.toml` beside the settings; one for the process."""

    def __init__(self, path: Path) -> None:
        """Read nothing yet."""
        self._path = path
        self._known: tuple[object, AnswerFileState] | None = None

    def read(self) -> AnswerFileState:
        """Return the file as it is now; it is parsed again only where it changed."""
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return AnswerFileState(str(self._path))
        except OSError as error:
            return self._unreadable(error)
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if self._known is None or self._known[0] != stamp:
            self._known = (stamp, self._parsed())
        return self._known[1]

    def check(self, text: str) -> AnswerFileState:
        """Return what the file would be with this text."""
        content = read_answer_file(ANSWER_FILE, text)
        mistakes = tuple(map(str, content.mistakes))
        return AnswerFileState(str(self._path), text, content.templates, mistakes)

    @contextmanager
    def staged(self, text: str | None) -> Iterator[Callable[[], None]]:
        """Write a text beside the file; yield what lets it be the file, or for None removes that.

        InputError says why that fails; nothing is left beside the file.
        """
        try:
            if self._path.is_dir():
                raise IsADirectoryError(EISDIR, os.strerror(EISDIR))
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with (
                _alone_in(self._path.parent),
                TemporaryDirectory(prefix=f".{ANSWER_FILE}.", dir=self._path.parent) as folder,
            ):
                beside = Path(folder, ANSWER_FILE)
                with beside.open("w", encoding="utf-8") as written:
                    written.write(text or "")
                    written.flush()
                    os.fsync(written.fileno())
                yield partial(self._put_in_force, None if text is None else beside)
        except OSError as error:
            raise InputError(
                f"{ANSWER_FILE} cannot be written ({error.strerror}): "
                "let this process write there, or change the file yourself"
            ) from error

    def _put_in_force(self, written: Path | None) -> None:
        if written is None:
            self._path.unlink(missing_ok=True)
        else:
            written.replace(self._path)

    def _parsed(self) -> AnswerFileState:
        try:
            return self.check(self._path.read_text(encoding="utf-8"))
        except OSError as error:
            return self._unreadable(error)
        except UnicodeDecodeError:
            remark = f"{ANSWER_FILE} is not UTF-8 text: save it as UTF-8"
            return AnswerFileState(str(self._path), mistakes=(remark,))

    def _unreadable(self, error: OSError) -> AnswerFileState:
        remark = f"{ANSWER_FILE} cannot be read: {error.strerror}"
        return AnswerFileState(str(self._path), mistakes=(remark,))


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Let one process or thread at a time change a file of this folder."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def answer_file() -> StoredAnswerFile:
    """Return the file of this installation."""
    return StoredAnswerFile(own_file().with_name(ANSWER_FILE))
