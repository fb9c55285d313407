"""Tables of tracked hashes, in cohorts that share their poll results, and of look-ups."""

from __future__ import annotations

from typing import Any, Final

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    ColumnElement,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    String,
    Subquery,
    case,
    false,
    func,
    or_,
    select,
)

from dashboard.store.schema.columns import (
    Account,
    Digest,
    ForeignText,
    Hash,
    Moment,
    Network,
    RowId,
    Unsigned,
    key,
    needed,
    partial_index,
    table,
)

POLL_RESULT_COLUMNS: Final = (
    "last_asked_at",
    "first_answered_at",
    "last_answered_at",
    "failing_since",
    "failure_kind",
    "failure_message",
)
"""The columns of a poll result: of a cohort, or of a hash that is no longer tracked."""

# Hashes that were tracked together; `size` counts them. One may leave for a cohort of its own,
# none ever joins. Ids count up in the order of commits. `is_rejected`: a rejection record is stored
# of each of them, even if of a network where it is not watched. `renewed_at` is when their age
# began anew, for the last of so many `renewals`.
cohorts = table(
    "cohorts",
    key("cohort_id", RowId),
    needed("tracked_at", Moment),
    needed("size", Integer),
    needed("is_rejected", Boolean, server_default=false()),
    Column("renewed_at", Moment),
    needed("renewals", Integer, server_default="0"),
    sqlite_autoincrement=True,
)


def _poll_result_columns() -> list[Column[Any]]:
    return [
        *(Column(name, Moment) for name in POLL_RESULT_COLUMNS[:4]),
        Column("failure_kind", String(20)),
        Column("failure_message", ForeignText),
    ]


# Cohorts of one network that were asked together at `asked_at` and answered null. A group that
# joined another one is asked `within_id`, and its own time counts no more.
poll_groups = table(
    "poll_groups",
    key("group_id", RowId),
    needed("asked_at", Moment),
    Column("within_id", RowId, index=True),
    sqlite_autoincrement=True,
)

# A cohort on one of its networks, and the poll results there of all its hashes.
# `watch_id` is the cohort in which the watch began, which it keeps through every split.
# `born_at` is when the age of the youngest began; `is_rejected`: all have a record there.
# `included_at` is when its node was first seen to have all in blocks, null while it has not.
# While it has a `group_id`, later nulls stand in that group alone: read `polled_cohorts`.
watched_cohorts = table(
    "watched_cohorts",
    key("cohort_id", RowId, ForeignKey("cohorts.cohort_id")),
    key("network_id", Network),
    needed("watch_id", RowId),
    needed("watched_at", Moment),
    needed("born_at", Moment),
    needed("is_rejected", Boolean),
    *_poll_result_columns(),
    Column("group_id", RowId, ForeignKey("poll_groups.group_id")),
    Column("included_at", Moment),
    sqlite_with_rowid=False,
)

UNANSWERED: Final = or_(
    watched_cohorts.c.failing_since.is_not(None), watched_cohorts.c.last_answered_at.is_(None)
)
"""The last question failed, or none was asked; written so that its index is used."""

Index("ix_watched_cohorts_born_at", watched_cohorts.c.born_at)
partial_index(
    "ix_watched_cohorts_unanswered",
    watched_cohorts.c.born_at,
    where=UNANSWERED,
)
partial_index(
    "ix_watched_cohorts_rejected",
    watched_cohorts.c.cohort_id,
    where=watched_cohorts.c.is_rejected,
)

# With the columns by which a member differs from its group, so that the index alone is read.
partial_index(
    "ix_watched_cohorts_group_id",
    *watched_cohorts.c["group_id", "failing_since", "is_rejected", "included_at"],
    where=watched_cohorts.c.group_id.is_not(None),
)


def _polled_cohorts() -> Subquery:
    own, joined, asked = watched_cohorts.c, poll_groups.alias(), poll_groups.alias()
    at, asked_id = asked.c.asked_at, func.coalesce(joined.c.within_id, joined.c.group_id)
    latest: dict[str, ColumnElement[Any]] = {
        name: case((at > own[name], at), else_=own[name])
        for name in ("last_asked_at", "last_answered_at")
    }
    told = latest | {"group_id": asked_id}
    return (
        select(*(told.get(each.name, each).label(each.name) for each in own))
        .outerjoin_from(watched_cohorts, joined, joined.c.group_id == own.group_id)
        .outerjoin(asked, asked.c.group_id == asked_id)
        .subquery("polled_cohorts")
    )


polled_cohorts: Final = _polled_cohorts()
"""Watched cohorts with the times at which they were asked and answered last, alone or in a group,
and with the `group_id` of the group in which they are asked now."""

# `tags` are all words with # of the label and the note, and those given as tags: `#a #b`.
tracked_hashes = table(
    "tracked_hashes",
    key("tracked_id", RowId),
    needed("tx_hash", Hash, unique=True),
    needed("cohort_id", RowId, ForeignKey("cohorts.cohort_id"), index=True),
    Column("attempted_at", Moment),
    needed("label", ForeignText),
    needed("note", ForeignText),
    needed("case_id", ForeignText, server_default=""),
    needed("owner", ForeignText, server_default=""),
    needed("tags", ForeignText, server_default=""),
)

# With the cohort, so that those of a status are found in the index alone.
for _name in ("label", "case_id", "owner"):
    partial_index(
        f"ix_tracked_hashes_{_name}",
        *tracked_hashes.c[_name, "tracked_id", "cohort_id"],
        where=tracked_hashes.c[_name] != "",
    )

# Hashes with a note, since people look for words in it.
partial_index(
    "ix_tracked_hashes_noted",
    tracked_hashes.c.tracked_id,
    where=tracked_hashes.c.note != "",
)

# The hashes of each tag, as `tags` of the hash names them.
tracked_tags = table(
    "tracked_tags",
    key("tag", String(40)),
    key("tracked_id", RowId, index=True),
    sqlite_with_rowid=False,
)

# Filters of the page Tracked that people named; `parameters` are those of its address.
saved_filters = table(
    "saved_filters",
    key("name", ForeignText),
    needed("parameters", JSON),
    needed("saved_at", Moment),
    needed("saved_by", ForeignText),
    sqlite_with_rowid=False,
)

# How many hashes carry each label that is not empty.
tracked_labels = table(
    "tracked_labels",
    key("label", ForeignText),
    needed("many", BigInteger),
    sqlite_with_rowid=False,
)

# The poll results of a hash on a network where it is not watched.
checks = table(
    "checks",
    key("tx_hash", Hash),
    key("network_id", Network),
    needed("last_asked_at", Moment),
    *_poll_result_columns()[1:],
    sqlite_with_rowid=False,
)

# What exclusion endpoints say of hashes: a word of `Said`, and the status that was answered.
# `said_at` is when an endpoint first said it, `last_said_at` when it did last, to the hour.
endpoint_statements = table(
    "endpoint_statements",
    key("tx_hash", Hash),
    key("network_id", Network),
    key("endpoint", String(64)),
    needed("said", String(10)),
    needed("status", ForeignText),
    Column("block_number", BigInteger),
    needed("added", ForeignText),
    needed("said_at", Moment),
    needed("last_said_at", Moment),
    sqlite_with_rowid=False,
)

# When an operation of a network was answered last, whatever the answer was.
last_answers = table(
    "last_answers",
    key("network_id", Network),
    key("operation", String(40)),
    needed("answered_at", Moment),
    sqlite_with_rowid=False,
)

# What somebody looked up, under an id that is a digest of the hashes; these are stored in their
# order, 32 bytes each. `asked_at` is when they were looked up last.
saved_lookups = table(
    "saved_lookups",
    key("lookup_id", String(32)),
    needed("hashes", LargeBinary),
    needed("asked_at", Moment, index=True),
)

# Links that show one transaction to whoever has them; `ends_at` is also when one was revoked.
share_links = table(
    "share_links",
    key("link_id", RowId),
    needed("secret_digest", Digest, unique=True),
    needed("tx_hash", Hash),
    needed("case_id", ForeignText),
    needed("created_at", Moment),
    needed("created_by", ForeignText),
    needed("ends_at", Moment, index=True),
    sqlite_autoincrement=True,
)

# Addresses whose rejected transactions become tracked ones when a node reports them.
watched_senders = table(
    "watched_senders",
    key("sender", Account),
    key("network_id", Network),
    needed("watched_at", Moment),
    needed("label", ForeignText),
    sqlite_with_rowid=False,
)


# Times are those of our asking; `settled_at` is set once nothing can change any more.
follow_ups = table(
    "follow_ups",
    key("tx_hash", Hash),
    key("network_id", Network),
    needed("last_asked_at", Moment),
    Column("answered_at", Moment),
    Column("block_number", BigInteger),
    Column("block_hash", Digest),
    Column("is_successful", Boolean),
    Column("included_since", Moment),
    Column("next_nonce", Unsigned),
    Column("replaced_since", Moment),
    Column("settled_at", Moment),
    Column("failing_since", Moment),
    Column("failure_kind", String(20)),
    Column("failure_message", ForeignText),
    sqlite_with_rowid=False,
)
