-- Gives the audit log back to Linewatch's own database user, for a restore, or an upgrade that
-- changes the table. Run it as a superuser, and protect-audit-log.sql again afterwards:
--   psql -d linewatch -f give-audit-log-back.sql

-- The user in store.url.
SET linewatch.product_user = 'linewatch';

DO $back$
DECLARE
    product text := current_setting('linewatch.product_user');
BEGIN
    EXECUTE format('ALTER TABLE audit_log OWNER TO %I', product);
    EXECUTE format('ALTER FUNCTION audit_log_refuses() OWNER TO %I', product);
    ALTER FUNCTION audit_log_refuses() RESET search_path;
END $back$;
