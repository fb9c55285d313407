"""The schema's history, one revision a file, run by Alembic."""
