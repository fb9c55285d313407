"""The rules of an installation, stored, and the past transitions that they would have matched."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

from msgspec import Struct
from sqlalchemy import Connection, delete, select, update

from dashboard.domain.alerts.condition import SubjectKind
from dashboard.domain.alerts.rule import DEFAULT_RULES, ObservedChange, Rule
from dashboard.domain.alerts.rule_table import read_rule, write_rule
from dashboard.domain.people.access import Actor, Way
from dashboard.errors import SchemaMismatch
from dashboard.store.alerts.conditions import is_of_kinds
from dashboard.store.alerts.incidents import make_all_due
from dashboard.store.alerts.notifications import change_of, select_changes
from dashboard.store.engine.upsert import upsert
from dashboard.store.schema import removed_rules, rules, transitions
from dashboard.store.schema.columns import read_as

MOST_TRANSITIONS: Final = 20_000
"""How many transitions are read at most, the latest ones."""


class StoredRule(Struct, frozen=True):
    """A rule in force, and who changed it last, when and how; None for a default rule.

    `source` is also None if nobody recorded it, as before release 0.2.0.
    """

    rule: Rule
    changed_at: datetime | None = None
    changed_by: str | None = None
    source: Way | None = None


class RemovedRule(Struct, frozen=True):
    """A rule that is no longer in force, and who removed it when; the name is foreign."""

    name: str
    removed_at: datetime
    removed_by: str


def rules_in_force(connection: Connection) -> tuple[Rule, ...]:
    """Return the stored rules in their order, or the default rules if none is stored."""
    return tuple(each.rule for each in read_rules(connection))


def read_rules(connection: Connection) -> tuple[StoredRule, ...]:
    """Return the same rules with who changed each.

    The first change of any rule stores all of them; a rule that is still the default names nobody.
    """
    rows = connection.execute(select(rules).order_by(rules.c.position, rules.c.name)).all()
    if not rows:
        return tuple(map(StoredRule, DEFAULT_RULES))
    stored = (read_as(StoredRule, row, rules, rule=_rule_of(row.name, row.body)) for row in rows)
    return tuple(StoredRule(each.rule) if each.rule in DEFAULT_RULES else each for each in stored)


def save_rules(connection: Connection, wanted: Sequence[Rule], by: Actor) -> None:
    """Replace the rules in force; the author of an unchanged rule stays.

    Removals are recorded. All open incidents become due, since their timers may have changed.
    """
    held = {each.rule.name: each for each in read_rules(connection)}
    connection.execute(delete(rules))
    upsert(connection, rules, [_row(at, rule, held, by) for at, rule in enumerate(wanted)])
    gone = held.keys() - {each.name for each in wanted}
    back = removed_rules.c.name.in_([each.name for each in wanted])
    connection.execute(delete(removed_rules).where(back))
    said = {"removed_at": by.at, "removed_by": by.name}
    upsert(connection, removed_rules, [{"name": each, **said} for each in sorted(gone)])
    make_all_due(connection, by.at)


def read_removed(connection: Connection) -> list[RemovedRule]:
    """Return the rules that people removed since a file was last imported, by name."""
    query = select(removed_rules).order_by(removed_rules.c.name)
    return [RemovedRule(*row) for row in connection.execute(query)]


def note_file(connection: Connection, names: Collection[str]) -> None:
    """Record that a file contains these rules as they are, whoever changed them last.

    The removal of a rule that the file does not name no longer counts as a difference.
    """
    connection.execute(delete(removed_rules))
    these = rules.c.name.in_(names)
    connection.execute(update(rules).where(these).values(source=Way.FILE.value))


def _row(position: int, rule: Rule, held: dict[str, StoredRule], by: Actor) -> dict[str, object]:
    before = held.get(rule.name)
    if before is None or before.rule != rule:
        before = StoredRule(rule, by.at, by.name, by.way)
    return {
        "name": rule.name,
        "position": position,
        "body": write_rule(rule),
        "changed_at": before.changed_at or by.at,
        "changed_by": before.changed_by or by.name,
        "source": before.source and before.source.value,
    }


def _rule_of(name: str, body: object) -> Rule:
    found = read_rule(name, body)
    if isinstance(found, Rule):
        return found
    key, remark = found[0]
    raise SchemaMismatch(
        f"the stored rule {name} was written by another version of Linewatch "
        f"({key} {remark}): upgrade Linewatch, or replace it with `linewatch rules import`"
    )


def past_transitions(
    connection: Connection, kinds: Iterable[SubjectKind], since: datetime, until: datetime
) -> list[ObservedChange]:
    """Return the transitions of some kinds of subjects, oldest first."""
    column = transitions.c
    query = (
        select_changes()
        .where(is_of_kinds(column.subject, kinds), column.at > since, column.at <= until)
        .order_by(column.at.desc())
        .limit(MOST_TRANSITIONS)
    )
    return [change_of(row) for row in connection.execute(query).mappings()][::-1]
