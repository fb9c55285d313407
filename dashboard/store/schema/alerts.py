"""Tables of alerts: conditions, incidents, notifications, rules, silences, recipients."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    SmallInteger,
    String,
    Text,
    Uuid,
    false,
)

from dashboard.store.schema.columns import (
    ForeignText,
    Hash,
    Moment,
    Network,
    RowId,
    key,
    needed,
    partial_index,
    table,
)

conditions = table(
    "conditions",
    key("subject", String(200)),
    needed("kind", String(20)),
    needed("network_id", Network),
    Column("tx_hash", Hash),
    needed("rule", String(64), server_default=""),
    needed("dimension", ForeignText, server_default=""),
    needed("state", String(20)),
    needed("since", Moment),
    Column("turning_since", Moment),
    Column("seen_at", Moment),
    Column("opening_id", Uuid),
    Column("opened_at", Moment),
    Column("rejection_id", RowId, ForeignKey("rejections.rejection_id")),
    Index(None, "tx_hash", "network_id"),
)

transitions = table(
    "transitions",
    key("transition_id", Uuid),
    needed("subject", String(200)),
    needed("kind", String(20)),
    needed("network_id", Network),
    Column("tx_hash", Hash),
    needed("rule", String(64), server_default=""),
    needed("dimension", ForeignText, server_default=""),
    Column("before", String(20)),
    needed("after", String(20)),
    needed("at", Moment),
    Column("since", Moment),
    Column("grounds", JSON(none_as_null=True)),
    Column("opening_id", Uuid),
    Column("opened_at", Moment),
    Column("rejection_id", RowId, ForeignKey("rejections.rejection_id")),
    Index(None, "subject", "rejection_id"),
    Index(None, "opening_id"),
)

for _table in (conditions, transitions):
    _refers = _table.c.rejection_id.is_not(None)
    partial_index(
        f"ix_{_table.name}_rejection_id",
        _table.c.rejection_id,
        where=_refers,
    )

outbox = table(
    "outbox",
    key("outbox_id", RowId),
    needed("transition_id", Uuid, ForeignKey("transitions.transition_id"), unique=True),
    Column("expanded_at", Moment),
    sqlite_autoincrement=True,
)

partial_index(
    "ix_outbox_pending",
    outbox.c.outbox_id,
    where=outbox.c.expanded_at.is_(None),
)

notifications = table(
    "notifications",
    key("notification_id", Uuid),
    # Its first member; the others stand in `notification_members`.
    needed("transition_id", Uuid, ForeignKey("transitions.transition_id")),
    # The place of its first member in the outbox: notifications are sent in this order.
    needed("position", BigInteger),
    needed("channel", String(40)),
    needed("address", ForeignText),
    needed("message_id", String(200), unique=True),
    needed("in_reply_to", String(200), server_default=""),
    # The Message-IDs before it in its thread, the first one first, with blanks between.
    needed("thread", String(1000), server_default=""),
    needed("members", Integer, server_default="1"),
    needed("is_urgent", Boolean, server_default=false()),
    needed("kind", String(20), server_default="change"),
    # Which goes first, see `Precedence`.
    needed("precedence", SmallInteger, server_default="3"),
    # What holds it until it is released: quiet hours, maintenance.
    needed("held_for", ForeignText, server_default=""),
    # The windows and quiet hours that hold it, with blanks between.
    needed("held_by", Text, server_default=""),
    needed("created_at", Moment),
    needed("release_at", Moment),
    # Null while it groups members; the token is that of the worker that fixed them.
    Column("closed_at", Moment),
    Column("closed_by", BigInteger),
    needed("state", String(10)),
    needed("attempts", Integer),
    Column("next_attempt_at", Moment),
    Column("claimed_by", BigInteger),
    Column("claimed_at", Moment),
    Column("sent_at", Moment),
    needed("outcome", ForeignText),
    Index(None, "transition_id"),
    Index(None, "created_at", "state", "sent_at"),
    Index(None, "channel", "address", "closed_at"),
)

partial_index(
    "ix_notifications_pending",
    notifications.c.channel,
    notifications.c.address,
    notifications.c.attempts,
    notifications.c.created_at,
    where=notifications.c.state == "pending",
)

partial_index(
    "ix_notifications_held",
    notifications.c.created_at,
    where=notifications.c.state == "held",
)

incidents = table(
    "incidents",
    key("incident_id", Uuid),
    # What no two open incidents share; null once it is over.
    Column("open_key", String(64), unique=True),
    needed("rule", ForeignText),
    needed("kind", String(20)),
    needed("severity", String(20)),
    needed("grouped_by", JSON(none_as_null=True)),
    # That of the group, null where its rule does not group by networks.
    Column("network_id", Network),
    needed("state", String(20)),
    needed("opened_at", Moment),
    needed("changed_at", Moment),
    needed("transitions", Integer),
    needed("troubled", Integer),
    needed("reminders", Integer, server_default="0"),
    Column("reminded_at", Moment),
    Column("escalated_at", Moment),
    # When the first message about it was tried; null where release 0.1.0 did that.
    Column("notified_at", Moment),
    Column("next_at", Moment),
    Column("resolved_at", Moment),
    needed("version", Integer),
    needed("owner", ForeignText, server_default=""),
    Index(None, "next_at"),
    Index(None, "opened_at"),
    Index(None, "resolved_at"),
)

partial_index(
    "ix_incidents_pending",
    incidents.c.next_at,
    where=incidents.c.state == "pending",
)

incident_transitions = table(
    "incident_transitions",
    key("incident_id", Uuid, ForeignKey("incidents.incident_id")),
    key("transition_id", Uuid, ForeignKey("transitions.transition_id")),
    Index(None, "transition_id"),
    sqlite_with_rowid=False,
)

incident_events = table(
    "incident_events",
    key("event_id", RowId),
    needed("incident_id", Uuid, ForeignKey("incidents.incident_id")),
    needed("at", Moment),
    needed("kind", String(30)),
    needed("transitions", Integer),
    needed("actor", ForeignText),
    needed("note", ForeignText),
    needed("owner", ForeignText),
    Index(None, "incident_id"),
    sqlite_autoincrement=True,
)

# Each transition reaches each recipient once: in a notification, or not at all, with the reason.
notification_members = table(
    "notification_members",
    key("transition_id", Uuid, ForeignKey("transitions.transition_id")),
    key("channel", String(40)),
    key("address", ForeignText),
    needed("position", BigInteger),
    needed("incident_id", Uuid, ForeignKey("incidents.incident_id")),
    Column("notification_id", Uuid, ForeignKey("notifications.notification_id")),
    needed("reason", ForeignText),
    Index(None, "notification_id", "position"),
    Index(None, "incident_id"),
    sqlite_with_rowid=False,
)

# Which incidents a notification is about, and of which it says, perhaps beside others that were
# merged with it, that nobody acknowledged it in time.
notification_incidents = table(
    "notification_incidents",
    key("notification_id", Uuid, ForeignKey("notifications.notification_id")),
    key("incident_id", Uuid, ForeignKey("incidents.incident_id")),
    needed("is_escalation", Boolean, server_default=false()),
    Index(None, "incident_id"),
    sqlite_with_rowid=False,
)

deliveries = table(
    "deliveries",
    key("delivery_id", RowId),
    needed("notification_id", Uuid),
    needed("attempted_at", Moment),
    needed("result", String(10)),
    needed("outcome", ForeignText),
    ForeignKeyConstraint(["notification_id"], ["notifications.notification_id"]),
    Index(None, "notification_id"),
    sqlite_autoincrement=True,
)


# One that ended before it was reported has both times of reports, so that nobody hears of it.
mail_outages = table(
    "mail_outages",
    key("after_delivery", RowId),
    needed("since", Moment),
    Column("reported_at", Moment),
    Column("ended_at", Moment),
    Column("end_reported_at", Moment),
)


# `source` is where a rule was changed last: in a file, on a page, by the API or by a command.
rules = table(
    "rules",
    key("name", String(64)),
    needed("position", Integer),
    needed("body", JSON),
    needed("changed_at", Moment),
    needed("changed_by", ForeignText),
    Column("source", String(16)),
)

# What people removed since a file of rules was imported last.
removed_rules = table(
    "removed_rules",
    key("name", String(64)),
    needed("removed_at", Moment),
    needed("removed_by", ForeignText),
)


# It lasts only in the hours `weekly` of every week, in `zone`; without any it lasts throughout.
# `request_id` is chosen by the caller, so that a repeated request finds what the first one made.
silences = table(
    "silences",
    key("silence_id", RowId),
    needed("request_id", Uuid, unique=True),
    needed("kind", String(20)),
    needed("matchers", JSON),
    needed("starts_at", Moment),
    needed("ends_at", Moment),
    needed("weekly", JSON),
    needed("zone", String(64)),
    needed("author", ForeignText),
    needed("reason", ForeignText),
    needed("created_at", Moment),
    Column("ended_at", Moment),
    Column("ended_by", ForeignText),
    Index(None, "ends_at"),
    sqlite_autoincrement=True,
)


addresses_off = table(
    "addresses_off",
    key("channel", String(40)),
    key("address", ForeignText),
    needed("cause", String(20)),
    needed("since", Moment),
    needed("by", ForeignText),
    needed("note", ForeignText),
    sqlite_with_rowid=False,
)

suspect_addresses = table(
    "suspect_addresses",
    key("channel", String(40)),
    key("address", ForeignText),
    needed("since", Moment),
    needed("message_id", String(200)),
    needed("note", ForeignText),
    sqlite_with_rowid=False,
)

recipients = table(
    "recipients",
    key("channel", String(40)),
    key("address", ForeignText),
    Column("requested_at", Moment),
    Column("counted_from", Moment),
    needed("requests", Integer),
    needed("wrong_codes", Integer),
    needed("attempts", Integer),
    Column("next_attempt_at", Moment),
    Column("message_id", String(200)),
    Column("sent_at", Moment),
    needed("outcome", ForeignText),
    needed("deliveries", JSON),
    Column("verified_at", Moment),
    needed("verified_by", ForeignText),
    Column("caught_up_at", Moment),
    needed("zone", String(64)),
    needed("active", JSON),
    needed("digest", String(20), server_default=""),
    # Until when digests told them what happened; null before the first time that was due.
    Column("digested_until", Moment),
    Index(None, "message_id"),
    sqlite_with_rowid=False,
)
