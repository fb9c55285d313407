"""Everything that is stored, kind by kind, as columns for a file: streamed, of any size."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any, Final

from msgspec import Struct
from sqlalchemy import ColumnElement, Connection, FromClause, Table, case, func, literal, select

from dashboard.domain.fees.gas import FeeSeries, RollupLevel
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.errors import InputError
from dashboard.store.evidence.evidence import sentences_among
from dashboard.store.maintenance.export_files import Column, Field, Form, field, moment_field
from dashboard.store.schema import (
    audit_log,
    cohorts,
    coverage_gaps,
    credit_ledger,
    deliveries,
    endpoint_statements,
    estimated_base_fees,
    fee_percentiles,
    fee_rollups,
    notifications,
    polled_cohorts,
    rejections,
    signed_transactions,
    suggested_gas_fees,
    tracked_hashes,
    transitions,
)
from dashboard.store.schema.columns import Exact, escape, milliseconds_of

_AT_ONCE: Final = 10_000
"""Rows of one batch: a few megabytes."""


class ExportKind(StrEnum):
    """What can be exported."""

    FEES = "fees"
    FEE_PERCENTILES = "fee-percentiles"
    ESTIMATED_BASE_FEES = "estimated-base-fees"
    FEE_ROLLUPS = "fee-rollups"
    REJECTIONS = "rejections"
    TRACKED = "tracked"
    NOTIFICATIONS = "notifications"
    DELIVERIES = "deliveries"
    CREDITS = "credits"
    COVERAGE_GAPS = "coverage-gaps"
    ENDPOINT_STATEMENTS = "endpoint-statements"
    AUDIT = "audit"


class ExportRequest(Struct, frozen=True):
    """Which part of a kind is exported; None is all. Both times are inclusive."""

    kind: ExportKind
    since: datetime | None = None
    until: datetime | None = None
    network_id: NetworkId | None = None


class Source(Struct, frozen=True):
    """Where the rows of a kind come from; `dated` bounds them, `order` is that of an index.

    If they are `about_hashes`, a last column says what exclusion endpoints report of each.
    """

    fields: tuple[Field, ...]
    rows: FromClause
    dated: ColumnElement[Any]
    network: ColumnElement[Any] | None
    order: tuple[ColumnElement[Any], ...]
    about_hashes: bool = False


def export(
    connection: Connection, wanted: ExportRequest
) -> tuple[tuple[Field, ...], Iterator[Sequence[Column]]]:
    """Return the columns of a kind, and its rows in batches, each column by column.

    All rows are of one moment. InputError if the kind knows no networks and one is asked for.
    """
    source = _SOURCES[wanted.kind]()
    conditions = list(_conditions(source, wanted))
    fields = (*source.fields, *(_SAID if source.about_hashes else ()))
    query = (
        select(*(each.value.label(each.name) for each in fields))
        .select_from(source.rows)
        .where(*conditions)
        .order_by(*source.order)
    )
    batches = _batches(connection, query)
    if source.about_hashes:
        names = [each.name for each in fields]
        places = (names.index("tx_hash"), names.index("network_id"))
        batches = (_with_statements(connection, each, *places) for each in batches)
    return fields, batches


def _batches(connection: Connection, query: Any) -> Iterator[Sequence[Column]]:  # noqa: ANN401 - a selection of any columns
    result = connection.execute(query, execution_options={"yield_per": _AT_ONCE})
    return (list(zip(*rows, strict=True)) for rows in result.partitions())


_SAID: Final = (field("endpoints_say", literal(""), Form.TEXT),)
"""The column of what endpoints say, empty as the database returns it."""


def _with_statements(
    connection: Connection, columns: Sequence[Column], hash_place: int, network_place: int
) -> Sequence[Column]:
    """Fill the last column: the sentence that pages and messages show of a hash on a network.

    It is empty if records say everything.
    """
    pairs = list(zip(map(TxHash, columns[hash_place]), columns[network_place], strict=True))
    said = sentences_among(connection, [tx_hash for tx_hash, _ in pairs])
    words = {pair: escape(sentence) for pair, sentence in said.items()}
    return [*columns[:-1], list(map(words.get, pairs))]


def _conditions(source: Source, wanted: ExportRequest) -> Iterator[ColumnElement[bool]]:
    if wanted.network_id is not None:
        if source.network is None:
            raise InputError(f"{wanted.kind} belong to no network: leave out --network")
        yield source.network == wanted.network_id
    for moment, compare in ((wanted.since, "__ge__"), (wanted.until, "__le__")):
        if moment is not None:
            is_exact = isinstance(source.dated.type, Exact)
            bound = moment if is_exact else milliseconds_of(moment)
            yield getattr(source.dated, compare)(bound)


def _plain(table: Table, dated: str) -> Source:
    """Export a table as it is."""
    fields = tuple(field(each.name, each) for each in table.columns)
    network = table.c.get("network_id")
    return Source(fields, table, table.c[dated], network, tuple(table.primary_key))


def _fee_rollups() -> Source:
    column = fee_rollups.c
    times = {"begins_at", "first_at", "last_at"}
    levels, series = (
        {int(each): each.name.lower() for each in numbered} for numbered in (RollupLevel, FeeSeries)
    )
    named = {
        "level": field("level", case(levels, value=column.level)),
        "series": field("series", case(series, value=column.series)),
        "longest_gap": field("longest_gap_ms", column.longest_gap),
    }
    fields = tuple(
        moment_field(each.name, each)
        if each.name in times
        else named.get(each.name) or field(each.name, each)
        for each in column
        if each.name != "histogram"
    )
    order = tuple(fee_rollups.primary_key)
    return Source(fields, fee_rollups, column.begins_at, column.network_id, order)


def _rejections() -> Source:
    column, signed = rejections.c, signed_transactions.c
    last_seen = func.coalesce(
        column.seen_again_at, column.first_seen_at, type_=column.first_seen_at.type
    )
    names = (
        *("rejection_id", "network_id", "tx_hash", "sender", "nonce", "tx_rejection_stage"),
        *("reason_message", "reason_kind", "timestamp", "block_number", "added"),
        *("overflows", "first_seen_at", "reported_at"),
    )
    fields = (
        *(field(name, column[name]) for name in names),
        field("module", column.module, Form.TEXT),
        field("last_seen_at", last_seen),
        field("source", column.source),
        field("recipient", signed.recipient),
    )
    rows = rejections.outerjoin(signed_transactions, signed.tx_hash == column.tx_hash)
    order = (column.rejection_id,)
    return Source(fields, rows, column.first_seen_at, column.network_id, order, about_hashes=True)


def _tracked() -> Source:
    """Export one row for each network on which a hash is tracked."""
    tracked, asked = tracked_hashes.c, polled_cohorts.c
    names = ("last_asked_at", "first_answered_at", "last_answered_at", "failing_since")
    fields = (
        field("tx_hash", tracked.tx_hash),
        field("network_id", asked.network_id),
        field("tracked_at", cohorts.c.tracked_at),
        field("attempted_at", tracked.attempted_at),
        field("label", tracked.label),
        field("note", tracked.note),
        *(field(name, tracked[name]) for name in ("case_id", "owner", "tags")),
        *(field(name, asked[name]) for name in names),
    )
    rows = tracked_hashes.join(cohorts, cohorts.c.cohort_id == tracked.cohort_id)
    rows = rows.join(polled_cohorts, asked.cohort_id == tracked.cohort_id)
    order = (tracked.tracked_id, asked.network_id)
    dated = cohorts.c.tracked_at
    return Source(fields, rows, dated, asked.network_id, order, about_hashes=True)


def _notifications() -> Source:
    column, cause = notifications.c, transitions.c
    names = (
        *("notification_id", "channel", "address", "message_id", "created_at", "state", "attempts"),
        *("next_attempt_at", "sent_at", "outcome"),
    )
    of_cause = ("transition_id", "kind", "network_id", "tx_hash", "before", "after", "at")
    fields = (
        *(field(name, column[name]) for name in names),
        *(field(name, cause[name]) for name in of_cause),
        field("opening_id", cause.opening_id),
        field("members", column.members),
    )
    rows = notifications.join(transitions, cause.transition_id == column.transition_id)
    order = (column.created_at, column.notification_id)
    return Source(fields, rows, column.created_at, cause.network_id, order)


_SOURCES: Final[dict[ExportKind, Callable[[], Source]]] = {
    ExportKind.FEES: lambda: _plain(suggested_gas_fees, "asked_at"),
    ExportKind.FEE_PERCENTILES: lambda: _plain(fee_percentiles, "asked_at"),
    ExportKind.ESTIMATED_BASE_FEES: lambda: _plain(estimated_base_fees, "at"),
    ExportKind.FEE_ROLLUPS: _fee_rollups,
    ExportKind.REJECTIONS: _rejections,
    ExportKind.TRACKED: _tracked,
    ExportKind.NOTIFICATIONS: _notifications,
    ExportKind.DELIVERIES: lambda: _plain(deliveries, "attempted_at"),
    ExportKind.CREDITS: lambda: _plain(credit_ledger, "hour"),
    ExportKind.COVERAGE_GAPS: lambda: _plain(coverage_gaps, "begins_at"),
    ExportKind.ENDPOINT_STATEMENTS: lambda: _plain(endpoint_statements, "said_at"),
    ExportKind.AUDIT: lambda: _plain(audit_log, "at"),
}
