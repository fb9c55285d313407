"""Everything that workers commit in PostgreSQL; the database itself notes by whom and when."""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime
from typing import Final

import psycopg
from psycopg import sql

from dashboard.domain.alerts.notification import DeliveryResult
from dashboard.store.schema import metadata

_NOTE_WRITES: Final = """
    CREATE TABLE noted_writes (
        number bigserial, who text, at timestamptz, part xid8, what text, result text
    );
    CREATE FUNCTION note_write() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO noted_writes (who, at, part, what, result) VALUES (
            current_setting('application_name'), clock_timestamp(), pg_current_xact_id(),
            TG_TABLE_NAME, to_jsonb(coalesce(NEW, OLD)) ->> 'result'
        );
        RETURN NULL;
    END $$;
"""
_OF_TABLE: Final = sql.SQL(
    "CREATE TRIGGER note_write AFTER INSERT OR UPDATE OR DELETE ON {} "
    "FOR EACH ROW EXECUTE FUNCTION note_write()"
)
_GRANT: Final = {"leases", "installation"}
"""What a grant of the lease writes: who has it, and the last fencing token."""

_MARK: Final = "a mark"
"""Stands for a delivery that is marked as sent."""

_TRANSACTIONS: Final = """
    SELECT who, min(at), array_agg(DISTINCT
        CASE WHEN what = 'deliveries' AND result = %s THEN %s ELSE what END)
    FROM noted_writes WHERE who = ANY(%s) GROUP BY who, part ORDER BY min(number)
"""


class NotedWrites:
    """What was written to a store; a worker is known by the `application_name` in its address."""

    def __init__(self, url: str) -> None:
        self._url = url
        with psycopg.connect(url) as connection:
            connection.execute(_NOTE_WRITES)
            for name in metadata.tables:
                connection.execute(_OF_TABLE.format(sql.Identifier(name)))

    def check_fenced(self, workers: Collection[str]) -> list[tuple[datetime, str]]:
        """Raise where a worker wrote while another one had the lease; return who got it, and when.

        It may mark as sent what it had sent: that is so, whoever has the lease. And each process
        notes at its start that it uses the store.
        """
        with psycopg.connect(self._url) as connection:
            given = [DeliveryResult.SENT.value, _MARK, list(workers)]
            found = connection.execute(_TRANSACTIONS, given).fetchall()
        turns: list[tuple[datetime, str]] = []
        for who, at, wrote in found:
            if set(wrote) == _GRANT:
                turns.append((at, who))
            is_stale = not turns or turns[-1][1] != who
            is_due = _MARK in wrote or wrote == ["installation"]
            tables = ", ".join(wrote)
            assert is_due or not is_stale, f"{who}, without the lease, wrote {tables} at {at}"
        return turns
