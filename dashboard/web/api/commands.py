"""The endpoint of the command line: runs a command of another machine with the token's rights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Final, TypeAlias

import msgspec

from dashboard.application.application import CommandRequest, registered_commands
from dashboard.domain.people.access import Role
from dashboard.errors import NotAllowed, NotFound
from dashboard.web.api import access, alerts, installation, transactions
from dashboard.web.api.endpoint import (
    LARGEST_TEXT,
    WITHOUT_NUL,
    Asked,
    Endpoints,
    Fields,
    Reply,
    require_subject,
)

endpoints = Endpoints()
_MOST_WORDS: Final = 10_000
_Word: TypeAlias = Annotated[str, msgspec.Meta(max_length=1_000, pattern=WITHOUT_NUL)]
"""A file is named again with each of its lines."""


class Command(Fields):
    """The words after `linewatch`; `files` are the texts of the files named, `-` standard input."""

    arguments: Annotated[list[_Word], msgspec.Meta(min_length=1, max_length=_MOST_WORDS)]
    files: dict[_Word, str] = msgspec.field(default_factory=dict)


@endpoints.at(
    "POST /commands",
    "Run a command of the command line",
    "status output errors",
    body=Command,
    largest=LARGEST_TEXT,
    is_limited=False,
)
def run_command(asked: Asked) -> Reply:
    said: Command = asked.body
    run = registered_commands()
    if run is None:
        raise NotFound("no command runs here: start the pages with `linewatch pages`")

    def admit(subject: str) -> None:
        require_subject(asked.token, subject)
        if not asked.token.role.includes(_LEAST[subject]):
            raise NotAllowed(f"this takes the role {_LEAST[subject].value}")

    request = CommandRequest(tuple(said.arguments), said.files)
    done = run(request, asked.application, asked.by, admit)
    return Reply({"status": done.status, "output": done.output, "errors": done.errors})


def _least_roles() -> Mapping[str, Role]:
    """Return the least role that may ask anything about each subject."""
    found: dict[str, Role] = {}
    for part in (installation, transactions, alerts, access):
        for each in part.endpoints:
            known = found.setdefault(each.subject, each.role)
            found[each.subject] = each.role if known.includes(each.role) else known
    return found


_LEAST: Final = _least_roles()
