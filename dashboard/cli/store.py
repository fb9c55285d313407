"""`linewatch migrate`: commands that look after the store."""

from __future__ import annotations

import click

from dashboard.settings import load_settings
from dashboard.wiring.migration import migrate_store


@click.command()
def migrate() -> None:
    """Bring the store's schema to this version; creates the store where there is none."""
    click.echo(f"The store has schema {migrate_store(load_settings())}.")
