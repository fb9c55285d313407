"""Groups of commands: a module is imported when its command is called, so that all start fast."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, cast

import click


class LazyGroup(click.Group):
    """Finds its commands in `modules`: each command by the module of this package that holds it.

    A command is the module's value of the same name, with `_` for `-`, or what follows a colon.
    """

    def __init__(self, *args: Any, modules: Mapping[str, str], **attributes: Any) -> None:  # noqa: ANN401 - click's own
        """Import nothing yet."""
        super().__init__(*args, **attributes)
        self._modules = modules

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - named by click
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002 - named by click
        if cmd_name not in self._modules:
            return None
        module, _, name = self._modules[cmd_name].partition(":")
        held = import_module(f"dashboard.cli.{module}")
        return cast("click.Command", getattr(held, name or cmd_name.replace("-", "_")))
