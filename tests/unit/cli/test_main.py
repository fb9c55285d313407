"""The help of `linewatch`, which imports no command."""

from __future__ import annotations

import subprocess
import sys

import click
import pytest

from dashboard.cli.alerts import alerts
from dashboard.cli.main import LazyGroup, linewatch


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
            {"numpy", "pandas", "streamlit", "psycopg", "jinja2"},
        ),
    ],
    ids=["start", "lookup"],
)
def test_command_loads_nothing_that_it_does_without(modules: str, heavy: set[str]) -> None:
    script = f"import sys, {modules}\nprint(sorted({heavy!r} & set(sys.modules)))"

    loaded = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )

    assert loaded.stdout == "[]\n"
