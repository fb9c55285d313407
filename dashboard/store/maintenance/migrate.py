"""Create a store, or upgrade its schema in one transaction; copy a SQLite file before that."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import Connection, func, inspect, select, update

from dashboard.domain.people.access import Action, Actor
from dashboard.errors import StoreError
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.connection import PATIENCE
from dashboard.store.engine.database import database_at, store_errors
from dashboard.store.engine.engine import refuse_foreign, stored_revision
from dashboard.store.engine.sqlite import SqliteFile
from dashboard.store.maintenance.sqlite_copy import copy_pages, finished_as
from dashboard.store.schema import (
    REVISION,
    REVISIONS,
    installation,
    leases,
    metadata,
    refuse_unknown_schema,
)
from dashboard.store.schema.access import TRIGGERS


def migrate(url: str, own_id: UUID | None = None, by: Actor | None = None) -> str:
    """Create the store or upgrade it to our schema; return that schema's name.

    A store with our schema does not change. A new store gets the installation id `own_id`, or a
    random one; ForeignStore if an existing store has another. Processes that migrate at once take
    turns. `by` is who does it, for the audit log of an upgraded store.
    """
    database = database_at(url)
    database.create()
    engine = database.writing_engine(PATIENCE)
    try:
        with store_errors(database), engine.begin() as connection:
            bring_up(connection, database.name, own_id, by)
    finally:
        engine.dispose()
    return REVISION


def copy_before_upgrade(url: str) -> Path | None:
    """Copy a SQLite file of an older schema beside it; None if there is nothing to copy."""
    database = database_at(url)
    if not isinstance(database, SqliteFile) or not database.exists():
        return None
    with store_errors(database), database.reading_engine().connect() as connection:
        found = stored_revision(connection)
    if found == REVISION or found not in REVISIONS:
        return None
    copy = database.path.with_name(f"{database.path.name}.schema-{found}")
    with finished_as(copy, overwrites=True) as unfinished:
        copy_pages(database, unfinished)
    return copy


def bring_up(
    connection: Connection, name: str, own_id: UUID | None = None, by: Actor | None = None
) -> None:
    """Do the same as `migrate`, in a transaction that is open already."""
    before = stored_revision(connection)
    is_older = before not in {None, REVISION}
    if before is None:
        _create(connection, name)
    else:
        refuse_unknown_schema(name, before)
        if own_id is not None:
            refuse_foreign(connection, name, own_id)
    if is_older:
        upgrade_to(connection, REVISION)
        # A worker of the version before writes nothing more: its term ends in this transaction.
        connection.execute(update(leases).values(holder=None))
    _found_installation(connection, own_id)
    if by is not None and is_older:
        steps = {"from": before, "to": REVISION}
        note_action(connection, by, Action.MIGRATE, "store", steps)


def _create(connection: Connection, name: str) -> None:
    """Create all tables as they are now; a test compares them with upgraded ones."""
    if inspect(connection).get_table_names():
        raise StoreError(
            f"{name} holds the tables of another program: give Linewatch a database of its own"
        )
    metadata.create_all(connection, checkfirst=False)
    for statement in TRIGGERS[connection.dialect.name]:
        connection.exec_driver_sql(statement)
    connection.exec_driver_sql(
        "CREATE TABLE alembic_version "
        "(version_num VARCHAR(32) NOT NULL CONSTRAINT alembic_version_pkc PRIMARY KEY)"
    )
    connection.exec_driver_sql(f"INSERT INTO alembic_version VALUES ('{REVISION}')")  # noqa: S608 - a name of ours


def upgrade_to(connection: Connection, revision: str) -> None:
    """Run the revisions up to this one; their environment uses our connection."""
    # Alembic takes 15 MB, which a process that finds its store up to date does not need.
    from alembic import command  # noqa: PLC0415 - as said
    from alembic.config import Config  # noqa: PLC0415 - as said

    scripts = str(Path(__file__).parents[1] / "migrations")
    configuration = Config()
    configuration.set_main_option("script_location", scripts.replace("%", "%%"))
    configuration.set_main_option("path_separator", "os")
    configuration.attributes["connection"] = connection
    command.upgrade(configuration, revision)


def _found_installation(connection: Connection, own_id: UUID | None) -> None:
    if connection.scalar(select(func.count()).select_from(installation)) == 0:
        row = {"installation_id": own_id or uuid4(), "last_token": 0}
        connection.execute(installation.insert().values(**row))
