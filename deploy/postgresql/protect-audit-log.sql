-- Takes the audit log from Linewatch's own database user: it adds entries and reads them, and
-- nothing else. Run it as a superuser, in the database of the store, while Linewatch runs or not:
--   psql -d linewatch -f protect-audit-log.sql
-- Run it again after you changed a line below. docs/store.md says what else it changes.

-- The user in store.url.
SET linewatch.product_user = 'linewatch';
-- How old an entry has to be to go, such as '365 days', which is then the most that keep_audit_log
-- of [store] can do. Empty: no entry ever goes, and keep_audit_log has to be forever.
SET linewatch.audit_log_kept = '';

DO $protect$
DECLARE
    product text := current_setting('linewatch.product_user');
    kept text := current_setting('linewatch.audit_log_kept');
    place text := (
        SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'audit_log'::regclass
    );
BEGIN
    IF (SELECT rolsuper FROM pg_roles WHERE rolname = product) THEN
        RAISE EXCEPTION '% is a superuser, whom nothing keeps out: give Linewatch a user of its own',
            product;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'linewatch_audit') THEN
        CREATE ROLE linewatch_audit NOLOGIN;
    END IF;
    EXECUTE format('REVOKE linewatch_audit FROM %I', product);

    -- Who owns a database or a schema can drop what is in it.
    EXECUTE format('ALTER DATABASE %I OWNER TO linewatch_audit', current_database());
    EXECUTE format('GRANT CREATE, CONNECT, TEMPORARY ON DATABASE %I TO %I',
        current_database(), product);
    EXECUTE format('ALTER SCHEMA %s OWNER TO linewatch_audit', place);
    EXECUTE format('GRANT CREATE, USAGE ON SCHEMA %s TO %I', place, product);

    -- Who owns a table can disable its triggers, and who owns a function can replace it.
    ALTER TABLE audit_log OWNER TO linewatch_audit;
    ALTER FUNCTION audit_log_refuses() OWNER TO linewatch_audit;
    EXECUTE format('REVOKE ALL ON audit_log FROM PUBLIC, %I', product);
    EXECUTE format('GRANT SELECT, INSERT ON audit_log TO %I', product);
    EXECUTE format('GRANT USAGE ON SEQUENCE %s TO %I',
        pg_get_serial_sequence('audit_log', 'audit_id'), product);

    -- What the function calls must not be what somebody put before it.
    EXECUTE format('ALTER FUNCTION audit_log_refuses() SET search_path = pg_catalog, %s, pg_temp',
        place);
    DROP TRIGGER audit_log_unchanged ON audit_log;
    IF kept = '' THEN
        CREATE TRIGGER audit_log_unchanged BEFORE UPDATE OR DELETE ON audit_log
        FOR EACH ROW EXECUTE FUNCTION audit_log_refuses();
    ELSE
        EXECUTE format('GRANT DELETE ON audit_log TO %I', product);
        EXECUTE format('CREATE TRIGGER audit_log_unchanged BEFORE UPDATE OR DELETE ON audit_log '
            'FOR EACH ROW EXECUTE FUNCTION audit_log_refuses(%L)', kept::interval);
    END IF;
END $protect$;
