"""Settings that people chose on the page Settings, by name, with who chose them and when."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Final, TypeAlias

from msgspec import Struct
from sqlalchemy import Connection, delete, select

from dashboard.domain.people.access import Actor
from dashboard.domain.secret import Secret
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import chosen_settings

ChosenValue: TypeAlias = str | int | list[str] | Secret
"""A value as in TOML; a password is hidden."""

RECIPIENTS: Final = "mail.recipients"
PASSWORD: Final = "mail.password"  # noqa: S105 - the name of a setting
"""The name of the only secret."""

LOGIN: Final = ("mail.smtp_host", "mail.smtp_port", "mail.security", "mail.username")
"""The settings that say where the password goes, and how: it was given for these alone."""


class ChosenSetting(Struct, frozen=True):
    """What was chosen; `by` is foreign text."""

    value: ChosenValue
    at: datetime
    by: str


def read_chosen(connection: Connection) -> dict[str, ChosenSetting]:
    return {
        row.name: ChosenSetting(_value(row.name, *row.value), row.changed_at, row.changed_by)
        for row in connection.execute(select(chosen_settings))
    }


def chosen_values(connection: Connection) -> dict[str, ChosenValue]:
    return {name: each.value for name, each in read_chosen(connection).items()}


def save_chosen(
    connection: Connection, values: Mapping[str, ChosenValue | None], by: Actor
) -> None:
    """Store what somebody chose; None removes the choice."""
    for name, value in values.items():
        if value is None:
            connection.execute(delete(chosen_settings).where(chosen_settings.c.name == name))
            continue
        said = value.reveal() if isinstance(value, Secret) else value
        row = {"name": name, "value": [said], "changed_at": by.at, "changed_by": by.name}
        upsert(connection, chosen_settings, [row])


def _value(name: str, stored: ChosenValue) -> ChosenValue:
    return Secret(str(stored)) if name == PASSWORD else stored
