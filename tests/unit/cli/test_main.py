"""The help of `linewatch`, which imports no command."""

from __future__ import annotations

import subprocess
import sys
from typing import Final

import click
import pytest

from dashboard.cli.alerts import alerts
from dashboard.cli.main import LazyGroup, linewatch

_OF_OTHER_STORES: Final = ("sqlalchemy.dialects.postgresql", "psycopg", "alembic")
"""What a store in a file that is up to date does without."""


@pytest.mark.parametrize("group", [linewatch, alerts], ids=["linewatch", "alerts"])
def test_help_says_of_each_command_what_its_own_help_begins_with(group: click.Group) -> None:
    assert isinstance(group, LazyGroup)
    context = click.Context(group)
    commands = {name: group.get_command(context, name) for name in group.list_commands(context)}

    own = {
        name: command.get_short_help_str(limit=300)
        for name, command in commands.items()
        if command is not None
    }

    assert group.lazy == own


@pytest.mark.parametrize(
    ("modules", "heavy"),
    [
        (
            "dashboard.cli.main, dashboard.cli.run, dashboard.supervise",
            {"sqlalchemy", "alembic", "coincurve", "numpy", "pandas", "streamlit"},
        ),
        (
            "dashboard.cli.lookup, dashboard.wiring.lookup",
            {"numpy", "pandas", "streamlit", "jinja2", *_OF_OTHER_STORES},
        ),
        (
            "dashboard.cli.run, dashboard.wiring.worker",
            {"pandas", "plotly", "streamlit", "starlette", "apprise", *_OF_OTHER_STORES},
        ),
        (
            "dashboard.cli.run, dashboard.wiring.serve",
            {"numpy", "pandas", "plotly", "streamlit", "jinja2", "apprise", *_OF_OTHER_STORES},
        ),
        (
            "dashboard.cli.run, dashboard.wiring.pages",
            {"pandas", "apprise", "authlib", "webauthn", "apscheduler", *_OF_OTHER_STORES},
        ),
    ],
    ids=["start", "lookup", "worker", "serve", "pages"],
)
def test_command_loads_nothing_that_it_does_without(modules: str, heavy: set[str]) -> None:
    script = f"import sys, {modules}\nprint(sorted({heavy!r} & set(sys.modules)))"

    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert loaded.stdout == "[]\n"
