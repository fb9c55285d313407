"""Tables of conditions, their transitions, and the notifications that follow from these."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Column,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    Integer,
    String,
    Table,
    UniqueConstraint,
    Uuid,
)

from dashboard.store.schema.base import key, metadata, needed
from dashboard.store.schema.columns import ForeignText, Hash, Moment, Network, RowId

conditions = Table(
    "conditions",
    metadata,
    key("subject", String(200)),
    needed("kind", String(20)),
    needed("network_id", Network),
    Column("tx_hash", Hash),
    needed("rule", String(64), server_default=""),
    needed("dimension", ForeignText, server_default=""),
    needed("state", String(20)),
    needed("since", Moment),
    Column("turning_since", Moment),
    Column("incident_id", Uuid),
    Column("opened_at", Moment),
    Column("rejection_id", RowId, ForeignKey("rejections.rejection_id")),
    Index(None, "tx_hash", "network_id"),
)

transitions = Table(
    "transitions",
    metadata,
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
    Column("grounds", JSON(none_as_null=True)),
    Column("incident_id", Uuid),
    Column("opened_at", Moment),
    Column("rejection_id", RowId, ForeignKey("rejections.rejection_id")),
    Index(None, "subject", "rejection_id"),
    Index(None, "incident_id"),
)

for _table in (conditions, transitions):
    _refers = _table.c.rejection_id.is_not(None)
    Index(
        f"ix_{_table.name}_rejection_id",
        _table.c.rejection_id,
        sqlite_where=_refers,
        postgresql_where=_refers,
    )

outbox = Table(
    "outbox",
    metadata,
    key("outbox_id", RowId),
    needed("transition_id", Uuid, ForeignKey("transitions.transition_id"), unique=True),
    Column("expanded_at", Moment),
    sqlite_autoincrement=True,
)

Index(
    "ix_outbox_unexpanded",
    outbox.c.outbox_id,
    sqlite_where=outbox.c.expanded_at.is_(None),
    postgresql_where=outbox.c.expanded_at.is_(None),
)

notifications = Table(
    "notifications",
    metadata,
    key("notification_id", Uuid),
    needed("transition_id", Uuid, ForeignKey("transitions.transition_id")),
    needed("channel", String(40)),
    needed("address", ForeignText),
    needed("message_id", String(200), unique=True),
    needed("created_at", Moment),
    needed("state", String(10)),
    needed("attempts", Integer),
    Column("next_attempt_at", Moment),
    Column("claimed_by", BigInteger),
    Column("claimed_at", Moment),
    Column("sent_at", Moment),
    needed("outcome", ForeignText),
    UniqueConstraint("transition_id", "channel", "address"),
    Index(None, "created_at", "state", "sent_at"),
)

Index(
    "ix_notifications_pending",
    notifications.c.channel,
    notifications.c.address,
    notifications.c.attempts,
    notifications.c.created_at,
    sqlite_where=notifications.c.state == "pending",
    postgresql_where=notifications.c.state == "pending",
)

Index(
    "ix_notifications_held",
    notifications.c.created_at,
    sqlite_where=notifications.c.state == "held",
    postgresql_where=notifications.c.state == "held",
)

deliveries = Table(
    "deliveries",
    metadata,
    key("delivery_id", RowId),
    needed("notification_id", Uuid),
    needed("attempted_at", Moment),
    needed("result", String(10)),
    needed("outcome", ForeignText),
    ForeignKeyConstraint(["notification_id"], ["notifications.notification_id"]),
    Index(None, "notification_id"),
    sqlite_autoincrement=True,
)
