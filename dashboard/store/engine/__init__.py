"""The database itself: opened, read and written in transactions, on SQLite and PostgreSQL alike."""
