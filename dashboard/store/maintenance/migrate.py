"""Bring a store's schema to this version, in one transaction, from wherever it stands."""

from __future__ import annotations

from pathlib import Path
from uuid import UUID, uuid4

from sqlalchemy import Connection, func, inspect, select

from dashboard.domain.people.access import Action, Actor
from dashboard.errors import StoreError
from dashboard.store.access.audit_log import note_action
from dashboard.store.engine.database import PATIENCE, database_at, store_errors
from dashboard.store.engine.engine import refuse_foreign, stored_revision
from dashboard.store.schema import REVISION, installation
from dashboard.store.schema.revisions import refuse_unknown_schema


def migrate(url: str, own_id: UUID | None = None, by: Actor | None = None) -> str:
    """Create the store or bring it to our schema; return that schema's name.

    Nothing changes where it has our schema already. A new store gets the installation id
    `own_id`, or one by chance; ForeignStore where one is there that has another. Processes that
    migrate at once take turns. `by` is who does it, for the audit log of a store that is
    upgraded.
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


def bring_up(
    connection: Connection, name: str, own_id: UUID | None = None, by: Actor | None = None
) -> None:
    """Do as `migrate` does, in a transaction that is open already."""
    before = _refuse_what_we_do_not_know(connection, name)
    if before is not None and own_id is not None:
        refuse_foreign(connection, name, own_id)
    upgrade_to(connection, "head")
    _found_installation(connection, own_id)
    if by is not None and before not in {None, REVISION}:
        steps = {"from": before, "to": REVISION}
        note_action(connection, by, Action.MIGRATE, "store", steps)


def _refuse_what_we_do_not_know(connection: Connection, name: str) -> str | None:
    """Return the schema that is there; raise where we cannot bring it to ours."""
    found = stored_revision(connection)
    if found is None and inspect(connection).get_table_names():
        raise StoreError(
            f"{name} holds the tables of another program: give Linewatch a database of its own"
        )
    if found is not None:
        refuse_unknown_schema(name, found)
    return found


def upgrade_to(connection: Connection, revision: str) -> None:
    """Run the revisions up to one of them; their environment takes our connection as it is."""
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
