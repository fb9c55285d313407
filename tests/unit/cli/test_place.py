"""Every command has a place: the machine of the installation, or anywhere with a token."""

from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from dashboard.application.tokens import SUBJECTS as KNOWN_SUBJECTS
from dashboard.cli.main import linewatch
from dashboard.cli.place import LOCAL, SUBJECTS, of_command
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


def test_each_command_is_of_one_machine_or_of_a_subject_of_the_api() -> None:
    every = list(commands(linewatch))

    placeless = [
        each
        for each in every
        if (of_command(LOCAL, each) is None) is (of_command(SUBJECTS, each) is None)
        and LOCAL.get(each) is None
    ]

    assert placeless == []
    assert set(SUBJECTS.values()) <= KNOWN_SUBJECTS
    for named in (*LOCAL, *SUBJECTS):
        assert any(each == named or each.startswith(f"{named} ") for each in every), named


@pytest.mark.parametrize("path", sorted(LOCAL))
def test_command_of_one_machine_asks_no_server(path: str) -> None:
    ended = CliRunner().invoke(linewatch, ["--server", "https://watch.invalid", *path.split()])

    assert isinstance(ended.exception, InputError)
    assert str(ended.exception) == (
        f"`linewatch {path}` runs on the machine of the installation only, since {LOCAL[path]}"
    )
