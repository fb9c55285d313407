"""What all tables share: one collection, predictable names, and columns without null."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, MetaData

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    }
)


def needed(name: str, kind: Any, *more: Any, **options: Any) -> Column[Any]:  # noqa: ANN401 - as SQLAlchemy's Column takes them
    """Make a column that always has a value."""
    return Column(name, kind, *more, nullable=False, **options)


def key(name: str, kind: Any, *more: Any, **options: Any) -> Column[Any]:  # noqa: ANN401 - as SQLAlchemy's Column takes them
    """Make a column of the primary key."""
    return Column(name, kind, *more, primary_key=True, **options)
