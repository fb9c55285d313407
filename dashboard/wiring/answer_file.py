"""The file of templates for answers, in the configuration folder; read anew when it changed."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import NamedTemporaryFile

from dashboard.errors import InputError
from dashboard.settings.answer_file import ANSWER_FILE, read_answer_file
from dashboard.settings.load import configuration_folder
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
        content = read_answer_file(str(self._path), text)
        mistakes = tuple(map(str, content.mistakes))
        return AnswerFileState(str(self._path), text, content.templates, mistakes)

    def write(self, text: str | None) -> None:
        """Replace the file whole, or remove it; InputError says why that fails."""
        try:
            if text is None:
                self._path.unlink(missing_ok=True)
            else:
                self._replace(text)
        except OSError as error:
            raise InputError(
                f"{self._path} cannot be written ({error.strerror}): "
                "let this process write there, or change the file yourself"
            ) from error

    def _parsed(self) -> AnswerFileState:
        try:
            return self.check(self._path.read_text(encoding="utf-8"))
        except OSError as error:
            return self._unreadable(error)
        except UnicodeDecodeError:
            remark = f"{self._path} is not UTF-8 text: save it as UTF-8"
            return AnswerFileState(str(self._path), mistakes=(remark,))

    def _unreadable(self, error: OSError) -> AnswerFileState:
        remark = f"{self._path} cannot be read: {error.strerror}"
        return AnswerFileState(str(self._path), mistakes=(remark,))

    def _replace(self, text: str) -> None:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(
            "w", encoding="utf-8", dir=self._path.parent, prefix=f".{ANSWER_FILE}.", delete=False
        ) as written:
            try:
                written.write(text)
                written.flush()
                os.fsync(written.fileno())
                Path(written.name).chmod(0o644)
                Path(written.name).replace(self._path)
            except OSError:
                Path(written.name).unlink()
                raise


def answer_file() -> StoredAnswerFile:
    """Return the file of this installation."""
    return StoredAnswerFile(configuration_folder() / ANSWER_FILE)
