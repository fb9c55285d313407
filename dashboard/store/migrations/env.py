"""Alembic's environment: run the revisions on the connection, in the transaction, of `migrate`."""

from alembic import context

from dashboard.store.schema import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
