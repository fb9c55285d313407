"""The templates of answers: which are in force, from where, and how people change them."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from dashboard.domain.answer_template import BUILT_IN, AnswerTemplates, built_in_file
from dashboard.domain.audit import Action, Actor
from dashboard.errors import InputError
from dashboard.store.access.audit_log import note_action

if TYPE_CHECKING:
    from dashboard.show.queries.context import QueryContext


@dataclass(frozen=True, slots=True)
class AnswerFileState:
    """The file of templates: its text, and the templates in force.

    `source` says where it is, to commands and the audit log: pages show no path. `text` is None
    where there is no file; then, and where the file has `mistakes`, the built-in templates are in
    force.
    """

    source: str
    text: str | None = None
    templates: AnswerTemplates = BUILT_IN
    mistakes: tuple[str, ...] = ()

    def editable(self) -> str:
        """Return the text to begin a change with."""
        return built_in_file() if self.text is None else self.text


class AnswerFile(Protocol):
    """The file of templates in the configuration folder."""

    def read(self) -> AnswerFileState:
        """Return the file as it is now."""

    def check(self, text: str) -> AnswerFileState:
        """Return what the file would be with this text."""

    def staged(self, text: str | None) -> AbstractContextManager[Callable[[], None]]:
        """Yield what replaces the file at once and whole; None removes it.

        All that may fail is tried before it is yielded; InputError says why it does. Others who
        change the file wait meanwhile.
        """


class AnswerQueries:
    """What pages and commands ask about the templates; they are one file."""

    def __init__(self, context: QueryContext) -> None:
        """Read nothing yet."""
        self._context = context

    def state(self) -> AnswerFileState:
        """Return the file as it is now; the built-in templates where files are not used."""
        file = self._context.settings.answers
        return AnswerFileState("the built-in templates") if file is None else file.read()

    def check(self, text: str) -> AnswerFileState:
        """Return what the file would be with this text."""
        return self._file().check(text)

    def change(self, text: str | None, by: Actor, seen: AnswerFileState | None = None) -> None:
        """Let this text be the file, or with None the built-in templates be in force again.

        InputError names every mistake of the text, why the file cannot be written, or that it is
        no more what was `seen` before the change began; nothing is changed then. It is logged
        before it is done: no change is without its record, also where this process dies between
        the two.
        """
        file = self._file()
        if text is not None and (mistakes := file.check(text).mistakes):
            raise InputError(f"it has a mistake: {'; '.join(mistakes)}")
        details = {"characters": len(text or "")}
        with file.staged(text) as put_in_force:
            found = file.read()
            if seen is not None and found.text != seen.text:
                raise InputError("the texts were changed by somebody else since you opened them")
            with self._context.store.write() as connection:
                act, where = Action.CHANGE_ANSWERS, found.source
                note_action(connection, by.at, by.name, act, where, details)
            put_in_force()

    def _file(self) -> AnswerFile:
        file = self._context.settings.answers
        if file is None:
            raise InputError("the templates cannot be changed here: use `linewatch answers`")
        return file
