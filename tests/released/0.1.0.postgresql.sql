-- The schema of release 0.1.0, one statement after the other, with ;; behind each.

CREATE TABLE alembic_version (
    version_num VARCHAR(32) NOT NULL,
    CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
)
;;

CREATE TABLE installation (
    installation_id UUID NOT NULL,
    last_token BIGINT NOT NULL,
    api_keys_version BIGINT DEFAULT '0' NOT NULL,
    restored_at BIGINT,
    moved_to TEXT,
    audit_log_kept_since BIGINT,
    link_key BYTEA,
    heartbeat_at BIGINT,
    heartbeat_trouble TEXT,
    purged_at BIGINT,
    backed_up_at BIGINT,
    CONSTRAINT pk_installation PRIMARY KEY (installation_id)
)
;;

CREATE TABLE leases (
    name VARCHAR(64) NOT NULL,
    token BIGINT NOT NULL,
    boot_id VARCHAR(64) NOT NULL,
    granted_at BIGINT NOT NULL,
    expires_at BIGINT NOT NULL,
    holder VARCHAR(200),
    CONSTRAINT pk_leases PRIMARY KEY (name)
)
;;

CREATE TABLE audit_log (
    audit_id BIGSERIAL NOT NULL,
    at BIGINT NOT NULL,
    actor TEXT NOT NULL,
    action VARCHAR(40) NOT NULL,
    subject TEXT NOT NULL,
    details JSON,
    CONSTRAINT pk_audit_log PRIMARY KEY (audit_id)
)
;;

CREATE INDEX ix_audit_log_at ON audit_log (at)
;;

CREATE TABLE suggested_gas_fees (
    network_id BIGINT NOT NULL,
    asked_at BIGINT NOT NULL,
    low_max_priority_fee BIGINT NOT NULL,
    low_max_fee BIGINT NOT NULL,
    low_min_wait BIGINT NOT NULL,
    low_max_wait BIGINT NOT NULL,
    medium_max_priority_fee BIGINT NOT NULL,
    medium_max_fee BIGINT NOT NULL,
    medium_min_wait BIGINT NOT NULL,
    medium_max_wait BIGINT NOT NULL,
    high_max_priority_fee BIGINT NOT NULL,
    high_max_fee BIGINT NOT NULL,
    high_min_wait BIGINT NOT NULL,
    high_max_wait BIGINT NOT NULL,
    estimated_base_fee BIGINT NOT NULL,
    network_congestion FLOAT NOT NULL,
    latest_priority_fee_from BIGINT NOT NULL,
    latest_priority_fee_to BIGINT NOT NULL,
    historical_priority_fee_from BIGINT NOT NULL,
    historical_priority_fee_to BIGINT NOT NULL,
    historical_base_fee_from BIGINT NOT NULL,
    historical_base_fee_to BIGINT NOT NULL,
    priority_fee_trend TEXT NOT NULL,
    base_fee_trend TEXT NOT NULL,
    source VARCHAR(20) DEFAULT 'gas API' NOT NULL,
    version TEXT,
    is_busy SMALLINT,
    CONSTRAINT pk_suggested_gas_fees PRIMARY KEY (network_id, asked_at)
)
;;

CREATE TABLE estimated_base_fees (
    network_id BIGINT NOT NULL,
    at BIGINT NOT NULL,
    base_fee BIGINT NOT NULL,
    is_busy SMALLINT,
    CONSTRAINT pk_estimated_base_fees PRIMARY KEY (network_id, at)
)
;;

CREATE TABLE base_fee_histories (
    network_id BIGSERIAL NOT NULL,
    asked_at BIGINT NOT NULL,
    base_fees JSON NOT NULL,
    CONSTRAINT pk_base_fee_histories PRIMARY KEY (network_id)
)
;;

CREATE TABLE fee_percentiles (
    network_id BIGINT NOT NULL,
    operation VARCHAR(40) NOT NULL,
    asked_at BIGINT NOT NULL,
    fee BIGINT NOT NULL,
    source VARCHAR(20) DEFAULT 'gas API' NOT NULL,
    CONSTRAINT pk_fee_percentiles PRIMARY KEY (network_id, operation, asked_at)
)
;;

CREATE TABLE standing_failures (
    network_id BIGINT NOT NULL,
    operation VARCHAR(40) NOT NULL,
    failing_since BIGINT NOT NULL,
    last_failed_at BIGINT NOT NULL,
    failure_kind VARCHAR(20) NOT NULL,
    failure_message TEXT NOT NULL,
    CONSTRAINT pk_standing_failures PRIMARY KEY (network_id, operation)
)
;;

CREATE TABLE rejections (
    rejection_id BIGSERIAL NOT NULL,
    network_id BIGINT NOT NULL,
    tx_hash BYTEA NOT NULL,
    sender BYTEA NOT NULL,
    nonce BYTEA NOT NULL,
    tx_rejection_stage VARCHAR(10) NOT NULL,
    reason_message TEXT NOT NULL,
    timestamp BIGINT NOT NULL,
    first_seen_at BIGINT NOT NULL,
    version_digest BYTEA NOT NULL,
    source VARCHAR(20) NOT NULL,
    reason_kind VARCHAR(20) DEFAULT 'unparsed' NOT NULL,
    block_number BIGINT,
    reported_at BIGINT,
    reported_reason_digest BYTEA,
    overflows JSON,
    module VARCHAR(64),
    seen_again_at BIGINT,
    CONSTRAINT pk_rejections PRIMARY KEY (rejection_id),
    CONSTRAINT uq_rejections_tx_hash_network_id_reported_reason_digest UNIQUE (tx_hash, network_id, reported_reason_digest),
    CONSTRAINT uq_rejections_tx_hash_network_id_version_digest UNIQUE (tx_hash, network_id, version_digest)
)
;;

CREATE INDEX ix_rejections_first_seen_at ON rejections (first_seen_at)
;;

CREATE INDEX ix_rejections_module_first_seen_at ON rejections (module, first_seen_at)
;;

CREATE INDEX ix_rejections_module_network_id ON rejections (module, network_id)
;;

CREATE INDEX ix_rejections_network_id_first_seen_at ON rejections (network_id, first_seen_at)
;;

CREATE INDEX ix_rejections_sender_first_seen_at ON rejections (sender, first_seen_at)
;;

CREATE INDEX ix_rejections_sender_network_id ON rejections (sender, network_id)
;;

CREATE INDEX ix_rejections_tx_hash_network_id_timestamp ON rejections (tx_hash, network_id, timestamp)
;;

CREATE INDEX ix_rejections_unparsed ON rejections (first_seen_at) WHERE reason_kind = 'unparsed'
;;

CREATE TABLE signed_transactions (
    tx_hash BYTEA NOT NULL,
    raw BYTEA NOT NULL,
    recipient BYTEA,
    chain_id BIGINT,
    CONSTRAINT pk_signed_transactions PRIMARY KEY (tx_hash)
)
;;

CREATE TABLE fee_rollups (
    network_id BIGINT NOT NULL,
    series SMALLINT NOT NULL,
    level SMALLINT NOT NULL,
    begins_at BIGINT NOT NULL,
    first_at BIGINT NOT NULL,
    last_at BIGINT NOT NULL,
    lowest BIGINT NOT NULL,
    highest BIGINT NOT NULL,
    total BYTEA NOT NULL,
    seen INTEGER NOT NULL,
    estimated INTEGER NOT NULL,
    median BIGINT NOT NULL,
    p90 BIGINT NOT NULL,
    last BIGINT NOT NULL,
    longest_gap BIGINT NOT NULL,
    histogram BYTEA NOT NULL,
    CONSTRAINT pk_fee_rollups PRIMARY KEY (network_id, series, level, begins_at)
)
;;

CREATE TABLE rejection_counters (
    level SMALLINT NOT NULL,
    begins_at BIGINT NOT NULL,
    tx_rejection_stage VARCHAR(10) NOT NULL,
    reason_kind VARCHAR(20) NOT NULL,
    module VARCHAR(64) NOT NULL,
    network_id BIGINT NOT NULL,
    many BIGINT NOT NULL,
    CONSTRAINT pk_rejection_counters PRIMARY KEY (level, begins_at, tx_rejection_stage, reason_kind, module, network_id)
)
;;

CREATE TABLE sender_counters (
    sender BYTEA NOT NULL,
    level SMALLINT NOT NULL,
    begins_at BIGINT NOT NULL,
    tx_rejection_stage VARCHAR(10) NOT NULL,
    reason_kind VARCHAR(20) NOT NULL,
    module VARCHAR(64) NOT NULL,
    network_id BIGINT NOT NULL,
    many BIGINT NOT NULL,
    CONSTRAINT pk_sender_counters PRIMARY KEY (sender, level, begins_at, tx_rejection_stage, reason_kind, module, network_id)
)
;;

CREATE TABLE rejection_senders (
    sender BYTEA NOT NULL,
    many BIGINT NOT NULL,
    has_counters BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_rejection_senders PRIMARY KEY (sender)
)
;;

CREATE TABLE rejection_modules (
    module VARCHAR(64) NOT NULL,
    CONSTRAINT pk_rejection_modules PRIMARY KEY (module)
)
;;

CREATE TABLE cohorts (
    cohort_id BIGSERIAL NOT NULL,
    tracked_at BIGINT NOT NULL,
    size INTEGER NOT NULL,
    is_rejected BOOLEAN DEFAULT false NOT NULL,
    CONSTRAINT pk_cohorts PRIMARY KEY (cohort_id)
)
;;

CREATE TABLE watched_cohorts (
    cohort_id BIGINT NOT NULL,
    network_id BIGINT NOT NULL,
    watch_id BIGINT NOT NULL,
    watched_at BIGINT NOT NULL,
    born_at BIGINT NOT NULL,
    is_rejected BOOLEAN NOT NULL,
    last_asked_at BIGINT,
    first_answered_at BIGINT,
    last_answered_at BIGINT,
    failing_since BIGINT,
    failure_kind VARCHAR(20),
    failure_message TEXT,
    CONSTRAINT pk_watched_cohorts PRIMARY KEY (cohort_id, network_id),
    CONSTRAINT fk_watched_cohorts_cohort_id FOREIGN KEY(cohort_id) REFERENCES cohorts (cohort_id)
)
;;

CREATE TABLE tracked_hashes (
    tracked_id BIGSERIAL NOT NULL,
    tx_hash BYTEA NOT NULL,
    cohort_id BIGINT NOT NULL,
    label TEXT NOT NULL,
    note TEXT NOT NULL,
    case_id TEXT DEFAULT '' NOT NULL,
    owner TEXT DEFAULT '' NOT NULL,
    tags TEXT DEFAULT '' NOT NULL,
    attempted_at BIGINT,
    CONSTRAINT pk_tracked_hashes PRIMARY KEY (tracked_id),
    CONSTRAINT fk_tracked_hashes_cohort_id FOREIGN KEY(cohort_id) REFERENCES cohorts (cohort_id),
    CONSTRAINT uq_tracked_hashes_tx_hash UNIQUE (tx_hash)
)
;;

CREATE INDEX ix_tracked_hashes_cohort_id ON tracked_hashes (cohort_id)
;;

CREATE INDEX ix_tracked_hashes_noted ON tracked_hashes (tracked_id) WHERE note != ''
;;

CREATE INDEX ix_tracked_hashes_label ON tracked_hashes (label, tracked_id, cohort_id) WHERE label != ''
;;

CREATE INDEX ix_tracked_hashes_case_id ON tracked_hashes (case_id, tracked_id, cohort_id) WHERE case_id != ''
;;

CREATE INDEX ix_tracked_hashes_owner ON tracked_hashes (owner, tracked_id, cohort_id) WHERE owner != ''
;;

CREATE TABLE tracked_labels (
    label TEXT NOT NULL,
    many BIGINT NOT NULL,
    CONSTRAINT pk_tracked_labels PRIMARY KEY (label)
)
;;

CREATE INDEX ix_watched_cohorts_born_at ON watched_cohorts (born_at)
;;

CREATE INDEX ix_watched_cohorts_unanswered ON watched_cohorts (born_at) WHERE failing_since IS NOT NULL OR last_answered_at IS NULL
;;

CREATE INDEX ix_watched_cohorts_rejected ON watched_cohorts (cohort_id) WHERE is_rejected
;;

CREATE TABLE tracked_tags (
    tag VARCHAR(40) NOT NULL,
    tracked_id BIGINT NOT NULL,
    CONSTRAINT pk_tracked_tags PRIMARY KEY (tag, tracked_id)
)
;;

CREATE INDEX ix_tracked_tags_tracked_id ON tracked_tags (tracked_id)
;;

CREATE TABLE saved_filters (
    name TEXT NOT NULL,
    parameters JSON NOT NULL,
    saved_at BIGINT NOT NULL,
    saved_by TEXT NOT NULL,
    CONSTRAINT pk_saved_filters PRIMARY KEY (name)
)
;;

CREATE TABLE checks (
    tx_hash BYTEA NOT NULL,
    network_id BIGINT NOT NULL,
    last_asked_at BIGINT NOT NULL,
    first_answered_at BIGINT,
    last_answered_at BIGINT,
    failing_since BIGINT,
    failure_kind VARCHAR(20),
    failure_message TEXT,
    CONSTRAINT pk_checks PRIMARY KEY (tx_hash, network_id)
)
;;

CREATE TABLE last_answers (
    network_id BIGINT NOT NULL,
    operation VARCHAR(40) NOT NULL,
    answered_at BIGINT NOT NULL,
    CONSTRAINT pk_last_answers PRIMARY KEY (network_id, operation)
)
;;

CREATE TABLE saved_lookups (
    lookup_id VARCHAR(32) NOT NULL,
    hashes BYTEA NOT NULL,
    asked_at BIGINT NOT NULL,
    CONSTRAINT pk_saved_lookups PRIMARY KEY (lookup_id)
)
;;

CREATE INDEX ix_saved_lookups_asked_at ON saved_lookups (asked_at)
;;

CREATE TABLE watched_senders (
    sender BYTEA NOT NULL,
    network_id BIGINT NOT NULL,
    watched_at BIGINT NOT NULL,
    label TEXT NOT NULL,
    CONSTRAINT pk_watched_senders PRIMARY KEY (sender, network_id)
)
;;

CREATE TABLE follow_ups (
    tx_hash BYTEA NOT NULL,
    network_id BIGINT NOT NULL,
    last_asked_at BIGINT NOT NULL,
    answered_at BIGINT,
    block_number BIGINT,
    block_hash BYTEA,
    is_successful BOOLEAN,
    included_since BIGINT,
    next_nonce BYTEA,
    replaced_since BIGINT,
    settled_at BIGINT,
    failing_since BIGINT,
    failure_kind VARCHAR(20),
    failure_message TEXT,
    CONSTRAINT pk_follow_ups PRIMARY KEY (tx_hash, network_id)
)
;;

CREATE TABLE conditions (
    subject VARCHAR(200) NOT NULL,
    kind VARCHAR(20) NOT NULL,
    network_id BIGINT NOT NULL,
    state VARCHAR(20) NOT NULL,
    since BIGINT NOT NULL,
    rule VARCHAR(64) DEFAULT '' NOT NULL,
    dimension TEXT DEFAULT '' NOT NULL,
    tx_hash BYTEA,
    turning_since BIGINT,
    opening_id UUID,
    opened_at BIGINT,
    rejection_id BIGINT,
    CONSTRAINT pk_conditions PRIMARY KEY (subject),
    CONSTRAINT fk_conditions_rejection_id FOREIGN KEY(rejection_id) REFERENCES rejections (rejection_id)
)
;;

CREATE INDEX ix_conditions_rejection_id ON conditions (rejection_id) WHERE rejection_id IS NOT NULL
;;

CREATE INDEX ix_conditions_tx_hash_network_id ON conditions (tx_hash, network_id)
;;

CREATE TABLE transitions (
    transition_id UUID NOT NULL,
    subject VARCHAR(200) NOT NULL,
    kind VARCHAR(20) NOT NULL,
    network_id BIGINT NOT NULL,
    after VARCHAR(20) NOT NULL,
    at BIGINT NOT NULL,
    rule VARCHAR(64) DEFAULT '' NOT NULL,
    dimension TEXT DEFAULT '' NOT NULL,
    tx_hash BYTEA,
    before VARCHAR(20),
    grounds JSON,
    opening_id UUID,
    opened_at BIGINT,
    rejection_id BIGINT,
    CONSTRAINT pk_transitions PRIMARY KEY (transition_id),
    CONSTRAINT fk_transitions_rejection_id FOREIGN KEY(rejection_id) REFERENCES rejections (rejection_id)
)
;;

CREATE INDEX ix_transitions_opening_id ON transitions (opening_id)
;;

CREATE INDEX ix_transitions_rejection_id ON transitions (rejection_id) WHERE rejection_id IS NOT NULL
;;

CREATE INDEX ix_transitions_subject_rejection_id ON transitions (subject, rejection_id)
;;

CREATE TABLE outbox (
    outbox_id BIGSERIAL NOT NULL,
    transition_id UUID NOT NULL,
    expanded_at BIGINT,
    CONSTRAINT pk_outbox PRIMARY KEY (outbox_id),
    CONSTRAINT fk_outbox_transition_id FOREIGN KEY(transition_id) REFERENCES transitions (transition_id),
    CONSTRAINT uq_outbox_transition_id UNIQUE (transition_id)
)
;;

CREATE INDEX ix_outbox_pending ON outbox (outbox_id) WHERE expanded_at IS NULL
;;

CREATE TABLE notifications (
    notification_id UUID NOT NULL,
    transition_id UUID NOT NULL,
    position BIGINT NOT NULL,
    channel VARCHAR(40) NOT NULL,
    address TEXT NOT NULL,
    message_id VARCHAR(200) NOT NULL,
    created_at BIGINT NOT NULL,
    release_at BIGINT NOT NULL,
    state VARCHAR(10) NOT NULL,
    attempts INTEGER NOT NULL,
    outcome TEXT NOT NULL,
    in_reply_to VARCHAR(200) DEFAULT '' NOT NULL,
    thread VARCHAR(1000) DEFAULT '' NOT NULL,
    members INTEGER DEFAULT '1' NOT NULL,
    is_urgent BOOLEAN DEFAULT false NOT NULL,
    kind VARCHAR(20) DEFAULT 'change' NOT NULL,
    held_for TEXT DEFAULT '' NOT NULL,
    closed_at BIGINT,
    closed_by BIGINT,
    next_attempt_at BIGINT,
    claimed_by BIGINT,
    claimed_at BIGINT,
    sent_at BIGINT,
    CONSTRAINT pk_notifications PRIMARY KEY (notification_id),
    CONSTRAINT fk_notifications_transition_id FOREIGN KEY(transition_id) REFERENCES transitions (transition_id),
    CONSTRAINT uq_notifications_message_id UNIQUE (message_id)
)
;;

CREATE INDEX ix_notifications_transition_id ON notifications (transition_id)
;;

CREATE INDEX ix_notifications_created_at_state_sent_at ON notifications (created_at, state, sent_at)
;;

CREATE INDEX ix_notifications_channel_address_closed_at ON notifications (channel, address, closed_at)
;;

CREATE INDEX ix_notifications_held ON notifications (created_at) WHERE state = 'held'
;;

CREATE INDEX ix_notifications_pending ON notifications (channel, address, attempts, created_at) WHERE state = 'pending'
;;

CREATE TABLE deliveries (
    delivery_id BIGSERIAL NOT NULL,
    notification_id UUID NOT NULL,
    attempted_at BIGINT NOT NULL,
    result VARCHAR(10) NOT NULL,
    outcome TEXT NOT NULL,
    CONSTRAINT pk_deliveries PRIMARY KEY (delivery_id),
    CONSTRAINT fk_deliveries_notification_id FOREIGN KEY(notification_id) REFERENCES notifications (notification_id)
)
;;

CREATE INDEX ix_deliveries_notification_id ON deliveries (notification_id)
;;

CREATE TABLE incidents (
    incident_id UUID NOT NULL,
    rule TEXT NOT NULL,
    kind VARCHAR(20) NOT NULL,
    severity VARCHAR(20) NOT NULL,
    grouped_by JSON NOT NULL,
    state VARCHAR(20) NOT NULL,
    opened_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    transitions INTEGER NOT NULL,
    troubled INTEGER NOT NULL,
    version INTEGER NOT NULL,
    owner TEXT DEFAULT '' NOT NULL,
    reminders INTEGER DEFAULT '0' NOT NULL,
    open_key VARCHAR(64),
    network_id BIGINT,
    next_at BIGINT,
    resolved_at BIGINT,
    reminded_at BIGINT,
    escalated_at BIGINT,
    CONSTRAINT pk_incidents PRIMARY KEY (incident_id),
    CONSTRAINT uq_incidents_open_key UNIQUE (open_key)
)
;;

CREATE INDEX ix_incidents_next_at ON incidents (next_at)
;;

CREATE INDEX ix_incidents_opened_at ON incidents (opened_at)
;;

CREATE INDEX ix_incidents_resolved_at ON incidents (resolved_at)
;;

CREATE TABLE incident_transitions (
    incident_id UUID NOT NULL,
    transition_id UUID NOT NULL,
    CONSTRAINT pk_incident_transitions PRIMARY KEY (incident_id, transition_id),
    CONSTRAINT fk_incident_transitions_incident_id FOREIGN KEY(incident_id) REFERENCES incidents (incident_id),
    CONSTRAINT fk_incident_transitions_transition_id FOREIGN KEY(transition_id) REFERENCES transitions (transition_id)
)
;;

CREATE INDEX ix_incident_transitions_transition_id ON incident_transitions (transition_id)
;;

CREATE TABLE incident_events (
    event_id BIGSERIAL NOT NULL,
    incident_id UUID NOT NULL,
    at BIGINT NOT NULL,
    kind VARCHAR(30) NOT NULL,
    transitions INTEGER NOT NULL,
    actor TEXT NOT NULL,
    note TEXT NOT NULL,
    owner TEXT NOT NULL,
    CONSTRAINT pk_incident_events PRIMARY KEY (event_id),
    CONSTRAINT fk_incident_events_incident_id FOREIGN KEY(incident_id) REFERENCES incidents (incident_id)
)
;;

CREATE INDEX ix_incident_events_incident_id ON incident_events (incident_id)
;;

CREATE TABLE notification_members (
    transition_id UUID NOT NULL,
    channel VARCHAR(40) NOT NULL,
    address TEXT NOT NULL,
    position BIGINT NOT NULL,
    incident_id UUID NOT NULL,
    reason TEXT NOT NULL,
    notification_id UUID,
    CONSTRAINT pk_notification_members PRIMARY KEY (transition_id, channel, address),
    CONSTRAINT fk_notification_members_transition_id FOREIGN KEY(transition_id) REFERENCES transitions (transition_id),
    CONSTRAINT fk_notification_members_incident_id FOREIGN KEY(incident_id) REFERENCES incidents (incident_id),
    CONSTRAINT fk_notification_members_notification_id FOREIGN KEY(notification_id) REFERENCES notifications (notification_id)
)
;;

CREATE INDEX ix_notification_members_notification_id_position ON notification_members (notification_id, position)
;;

CREATE INDEX ix_notification_members_incident_id ON notification_members (incident_id)
;;

CREATE TABLE notification_incidents (
    notification_id UUID NOT NULL,
    incident_id UUID NOT NULL,
    CONSTRAINT pk_notification_incidents PRIMARY KEY (notification_id, incident_id),
    CONSTRAINT fk_notification_incidents_notification_id FOREIGN KEY(notification_id) REFERENCES notifications (notification_id),
    CONSTRAINT fk_notification_incidents_incident_id FOREIGN KEY(incident_id) REFERENCES incidents (incident_id)
)
;;

CREATE INDEX ix_notification_incidents_incident_id ON notification_incidents (incident_id)
;;

CREATE TABLE rules (
    name VARCHAR(64) NOT NULL,
    position INTEGER NOT NULL,
    body JSON NOT NULL,
    changed_at BIGINT NOT NULL,
    changed_by TEXT NOT NULL,
    CONSTRAINT pk_rules PRIMARY KEY (name)
)
;;

CREATE TABLE silences (
    silence_id BIGSERIAL NOT NULL,
    request_id UUID NOT NULL,
    kind VARCHAR(20) NOT NULL,
    matchers JSON NOT NULL,
    starts_at BIGINT NOT NULL,
    ends_at BIGINT NOT NULL,
    weekly JSON NOT NULL,
    zone VARCHAR(64) NOT NULL,
    author TEXT NOT NULL,
    reason TEXT NOT NULL,
    created_at BIGINT NOT NULL,
    ended_at BIGINT,
    ended_by TEXT,
    CONSTRAINT pk_silences PRIMARY KEY (silence_id),
    CONSTRAINT uq_silences_request_id UNIQUE (request_id)
)
;;

CREATE INDEX ix_silences_ends_at ON silences (ends_at)
;;

CREATE TABLE addresses_off (
    channel VARCHAR(40) NOT NULL,
    address TEXT NOT NULL,
    cause VARCHAR(20) NOT NULL,
    since BIGINT NOT NULL,
    by TEXT NOT NULL,
    note TEXT NOT NULL,
    CONSTRAINT pk_addresses_off PRIMARY KEY (channel, address)
)
;;

CREATE TABLE recipients (
    channel VARCHAR(40) NOT NULL,
    address TEXT NOT NULL,
    requested_at BIGINT,
    counted_from BIGINT,
    requests INTEGER NOT NULL,
    wrong_codes INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    next_attempt_at BIGINT,
    message_id VARCHAR(200),
    sent_at BIGINT,
    outcome TEXT NOT NULL,
    deliveries JSON NOT NULL,
    verified_at BIGINT,
    verified_by TEXT NOT NULL,
    caught_up_at BIGINT,
    zone VARCHAR(64) NOT NULL,
    active JSON NOT NULL,
    CONSTRAINT pk_recipients PRIMARY KEY (channel, address)
)
;;

CREATE INDEX ix_recipients_message_id ON recipients (message_id)
;;

CREATE TABLE mail_outages (
    after_delivery BIGSERIAL NOT NULL,
    since BIGINT NOT NULL,
    reported_at BIGINT,
    ended_at BIGINT,
    end_reported_at BIGINT,
    CONSTRAINT pk_mail_outages PRIMARY KEY (after_delivery)
)
;;

CREATE TABLE coverage (
    network_id BIGINT NOT NULL,
    watched VARCHAR(20) NOT NULL,
    since BIGINT NOT NULL,
    until BIGINT NOT NULL,
    began_at BIGINT,
    CONSTRAINT pk_coverage PRIMARY KEY (network_id, watched)
)
;;

CREATE TABLE coverage_gaps (
    network_id BIGINT NOT NULL,
    watched VARCHAR(20) NOT NULL,
    begins_at BIGINT NOT NULL,
    cause VARCHAR(20) NOT NULL,
    reason TEXT NOT NULL,
    ends_at BIGINT,
    CONSTRAINT pk_coverage_gaps PRIMARY KEY (network_id, watched, begins_at)
)
;;

CREATE INDEX ix_coverage_gaps_begins_at ON coverage_gaps (begins_at)
;;

CREATE INDEX ix_coverage_gaps_open ON coverage_gaps (network_id, watched) WHERE ends_at IS NULL
;;

CREATE TABLE credit_ledger (
    hour BIGINT NOT NULL,
    network_id BIGINT NOT NULL,
    operation VARCHAR(64) NOT NULL,
    calls BIGINT NOT NULL,
    credits BIGINT NOT NULL,
    CONSTRAINT pk_credit_ledger PRIMARY KEY (hour, network_id, operation)
)
;;

CREATE TABLE answer_counts (
    quarter BIGINT NOT NULL,
    network_id BIGINT NOT NULL,
    operation VARCHAR(64) NOT NULL,
    answered INTEGER NOT NULL,
    instead INTEGER NOT NULL,
    failed INTEGER NOT NULL,
    times_0 INTEGER NOT NULL,
    times_1 INTEGER NOT NULL,
    times_2 INTEGER NOT NULL,
    times_3 INTEGER NOT NULL,
    times_4 INTEGER NOT NULL,
    times_5 INTEGER NOT NULL,
    times_6 INTEGER NOT NULL,
    times_7 INTEGER NOT NULL,
    times_8 INTEGER NOT NULL,
    times_9 INTEGER NOT NULL,
    times_10 INTEGER NOT NULL,
    times_11 INTEGER NOT NULL,
    CONSTRAINT pk_answer_counts PRIMARY KEY (quarter, network_id, operation)
)
;;

CREATE TABLE api_keys (
    api_key_id BIGSERIAL NOT NULL,
    name VARCHAR(64) NOT NULL,
    may_report BOOLEAN NOT NULL,
    created_at BIGINT NOT NULL,
    network_ids JSON,
    methods JSON,
    requests_per_second FLOAT,
    burst INTEGER,
    revoked_at BIGINT,
    CONSTRAINT pk_api_keys PRIMARY KEY (api_key_id)
)
;;

CREATE UNIQUE INDEX ix_api_keys_name_in_use ON api_keys (name) WHERE revoked_at IS NULL
;;

CREATE TABLE api_key_credentials (
    key_digest BYTEA NOT NULL,
    secret_digest BYTEA NOT NULL,
    api_key_id BIGINT NOT NULL,
    created_at BIGINT NOT NULL,
    ends_at BIGINT,
    CONSTRAINT pk_api_key_credentials PRIMARY KEY (key_digest),
    CONSTRAINT fk_api_key_credentials_api_key_id FOREIGN KEY(api_key_id) REFERENCES api_keys (api_key_id)
)
;;

CREATE INDEX ix_api_key_credentials_api_key_id ON api_key_credentials (api_key_id)
;;

CREATE TABLE api_key_uses (
    key_digest BYTEA NOT NULL,
    last_used_at BIGINT NOT NULL,
    calls BIGINT NOT NULL,
    refusals BIGINT NOT NULL,
    CONSTRAINT pk_api_key_uses PRIMARY KEY (key_digest)
)
;;

CREATE TABLE store_growth (
    kind VARCHAR(20) NOT NULL,
    day BIGINT NOT NULL,
    measured_at BIGINT NOT NULL,
    rows BIGINT NOT NULL,
    bytes BIGINT NOT NULL,
    is_estimated BOOLEAN NOT NULL,
    CONSTRAINT pk_store_growth PRIMARY KEY (kind, day)
)
;;

CREATE FUNCTION audit_log_refuses() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        IF EXISTS (SELECT 1 FROM installation WHERE audit_log_kept_since > OLD.at) THEN
            RETURN OLD;
        END IF;
    END IF;
    RAISE EXCEPTION 'the audit log only grows: its rows are neither changed nor deleted';
END $$
;;

CREATE TRIGGER audit_log_unchanged BEFORE UPDATE OR DELETE ON audit_log
FOR EACH ROW EXECUTE FUNCTION audit_log_refuses()
;;

CREATE TRIGGER audit_log_not_emptied BEFORE TRUNCATE ON audit_log
FOR EACH STATEMENT EXECUTE FUNCTION audit_log_refuses()
;;

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
;;

CREATE TRIGGER audit_log_purged AFTER UPDATE OF audit_log_kept_since ON installation
FOR EACH ROW EXECUTE FUNCTION audit_log_purged()
;;

INSERT INTO alembic_version (version_num) VALUES ('0.1.0')
;;
