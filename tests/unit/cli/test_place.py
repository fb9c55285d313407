"""Where commands work: on the machine of the installation, or anywhere with a token."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from dashboard.application.tokens import SUBJECTS as KNOWN_SUBJECTS
from dashboard.cli.main import linewatch
from dashboard.cli.place import LOCAL, SUBJECTS
from dashboard.errors import InputError


def commands(group: click.Group, path: str = "") -> Iterator[str]:
    """Yield the words of each command that does something."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command, words = group.get_command(context, name), f"{path} {name}".strip()
        if isinstance(command, click.Group):
            yield from commands(command, words)
        else:
            yield words


def test_place_is_that_of_a_command_and_of_a_subject_of_the_api() -> None:
    every = list(commands(linewatch))

    assert {each for named in SUBJECTS.values() for each in named.split()} <= KNOWN_SUBJECTS
    for named in (*LOCAL, *SUBJECTS):
        assert any(each == named or each.startswith(f"{named} ") for each in every), named


@pytest.mark.parametrize("path", [*LOCAL, "doctor"])
def test_command_of_one_machine_asks_no_server(path: str) -> None:
    ended = CliRunner().invoke(linewatch, ["--server", "https://watch.invalid", *path.split()])

    assert isinstance(ended.exception, InputError)
    assert str(ended.exception) == (
        f"`linewatch {path}` runs on the machine of the installation only, since "
        f"{LOCAL.get(path, 'it is about that machine itself')}"
    )
