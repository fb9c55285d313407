"""Triggers of the audit log: its rows are neither changed nor deleted.

Rows may go that are older than `audit_log_kept_since` of the installation. That this moment was
moved is noted in the log by a trigger, whose notes never go, and it never moves back.

The owner of a table can disable its triggers. On PostgreSQL the log may therefore belong to a role
other than ours (deploy/postgresql/protect-audit-log.sql), which gives the trigger an argument: how
old a row has to be to go, whatever the installation says.
"""

from __future__ import annotations

import re
from typing import Final

# One statement each. A REPLACE of SQLite would delete without a word, so it is refused as well.
_SQLITE: Final = (
    """
CREATE TRIGGER audit_log_unchanged BEFORE UPDATE ON audit_log BEGIN
    SELECT RAISE(ABORT, 'the audit log only grows: its rows are neither changed nor deleted');
END
""",
    """
CREATE TRIGGER audit_log_not_replaced BEFORE INSERT ON audit_log
WHEN EXISTS (SELECT 1 FROM audit_log WHERE audit_id = NEW.audit_id) BEGIN
    SELECT RAISE(ABORT, 'the audit log only grows: its rows are neither changed nor deleted');
END
""",
    """
CREATE TRIGGER audit_log_kept BEFORE DELETE ON audit_log
WHEN OLD.action = 'purge'
    OR NOT EXISTS (SELECT 1 FROM installation WHERE audit_log_kept_since > OLD.at) BEGIN
    SELECT RAISE(ABORT, 'the audit log only grows: its rows are neither changed nor deleted');
END
""",
    """
CREATE TRIGGER audit_log_not_kept_longer
BEFORE UPDATE OF audit_log_kept_since ON installation
WHEN OLD.audit_log_kept_since IS NOT NULL AND
    (NEW.audit_log_kept_since IS NULL OR NEW.audit_log_kept_since < OLD.audit_log_kept_since) BEGIN
    SELECT RAISE(ABORT, 'audit_log_kept_since never goes back');
END
""",
    """
CREATE TRIGGER audit_log_purged AFTER UPDATE OF audit_log_kept_since ON installation
WHEN NEW.audit_log_kept_since IS NOT OLD.audit_log_kept_since BEGIN
    INSERT INTO audit_log (at, actor, action, subject, details) VALUES (
        CAST((julianday('now') - 2440587.5) * 86400000 AS INTEGER), 'database', 'purge',
        'audit log', json_object('before', NEW.audit_log_kept_since));
END
""",
)

_POSTGRESQL: Final = (
    """
CREATE FUNCTION audit_log_refuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF OLD.action <> 'purge'
            AND EXISTS (SELECT 1 FROM installation WHERE audit_log_kept_since > OLD.at)
            AND (TG_NARGS = 0 OR OLD.at <
                extract(epoch FROM clock_timestamp() - TG_ARGV[0]::interval) * 1000) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit log only grows: its rows are neither changed nor deleted';
END $$
""",
    """
CREATE TRIGGER audit_log_unchanged BEFORE UPDATE OR DELETE ON audit_log
FOR EACH ROW EXECUTE FUNCTION audit_log_refuses()
""",
    """
CREATE TRIGGER audit_log_not_emptied BEFORE TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuses()
""",
    """
CREATE FUNCTION audit_log_purged() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF NEW.audit_log_kept_since IS NOT DISTINCT FROM OLD.audit_log_kept_since THEN
        RETURN NEW;
    END IF;
    IF NEW.audit_log_kept_since IS NULL OR NEW.audit_log_kept_since < OLD.audit_log_kept_since THEN
        RAISE EXCEPTION 'audit_log_kept_since never goes back';
    END IF;
    INSERT INTO audit_log (at, actor, action, subject, details) VALUES (
        (extract(epoch FROM clock_timestamp()) * 1000)::bigint, 'database', 'purge',
        'audit log', json_build_object('before', NEW.audit_log_kept_since));
    RETURN NEW;
END $$
""",
    """
CREATE TRIGGER audit_log_purged AFTER UPDATE OF audit_log_kept_since ON installation
FOR EACH ROW EXECUTE FUNCTION audit_log_purged()
""",
)

TRIGGERS: Final = {"sqlite": _SQLITE, "postgresql": _POSTGRESQL}
"""The statements that make them, by the name of the dialect."""

_NAME: Final = re.compile(r"CREATE TRIGGER (\w+)")


def trigger_names(dialect: str) -> set[str]:
    """Return the triggers that a store must have."""
    return set(_NAME.findall("".join(TRIGGERS[dialect])))
