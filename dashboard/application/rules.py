"""Questions about rules and acts on them, for pages and commands."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple
from zoneinfo import ZoneInfo

from msgspec import Struct
from msgspec.structs import replace

from dashboard.application.context import ApplicationContext, ApplicationSubject, shared_for
from dashboard.application.incidents import MOST_COUNTED
from dashboard.application.listing import Column, Json, Listing, for_programs, instant
from dashboard.application.rule_preview import preview_rule
from dashboard.application.silences import silent_now
from dashboard.domain.alerts.condition import INSTALLATION, Subject, SubjectKind
from dashboard.domain.alerts.incident import Incident, IncidentState, close_unreported
from dashboard.domain.alerts.inhibition import SourceOutage, inhibited_rules
from dashboard.domain.alerts.kinds.table import subject_kinds
from dashboard.domain.alerts.rule import MOST_RULES, Rule
from dashboard.domain.alerts.rule_preview import RulePreview
from dashboard.domain.alerts.rule_table import (
    RuleDifference,
    RuleEdit,
    RuleRemark,
    Rules,
    RuleTable,
    differences,
    merged_with,
    read_rule,
    replaced_by,
    why_closed,
    write_rule,
)
from dashboard.domain.alerts.rule_text import (
    preview_in_words,
    recipients_in_words,
    scope_in_words,
    written,
)
from dashboard.domain.formatting import counted, moment, unnamed_network
from dashboard.domain.markup import visible
from dashboard.domain.people.access import LONGEST_NAME, Action, Actor, Detail, Way
from dashboard.domain.quantity import NetworkId
from dashboard.domain.toml_tables import write_toml
from dashboard.errors import InputError
from dashboard.store.access.audit_log import note_action
from dashboard.store.alerts.alert_status import PendingCondition, pending_conditions
from dashboard.store.alerts.incidents import (
    add_events,
    all_open_incidents,
    open_incidents_of_rule,
    save_incident,
)
from dashboard.store.alerts.outbox import covered_anew
from dashboard.store.alerts.rules import (
    RemovedRule,
    StoredRule,
    note_file,
    read_removed,
    read_rules,
    rules_in_force,
    save_rules,
)
from dashboard.store.engine.connection import Connection

LATELY: Final = timedelta(days=7)
"""How far back the page tries a rule."""

ENDED: Final = "ended"
"""The state of a rule whose `until` has passed."""

_KEPT_FOR: Final = timedelta(minutes=5)
_OPEN_STATES: Final = (
    IncidentState.FIRING,
    IncidentState.ACKNOWLEDGED,
    IncidentState.SILENCED,
    IncidentState.NO_DATA,
)


def zone_of(rule: Rule) -> ZoneInfo:
    """Return the time zone whose nights count for a rule."""
    return ZoneInfo("UTC" if rule.active_hours is None else rule.active_hours.zone)


class AlertRules(ApplicationSubject):
    def in_force(self) -> tuple[StoredRule, ...]:
        """Return the rules in order, or the default ones if none is stored."""
        with self._context.store.read() as connection:
            return read_rules(connection)

    def listed(self) -> list[ListedRule]:
        situation = self.situation()
        return [ListedRule(each, situation.state_of(each.rule)) for each in self.in_force()]

    def situation(self) -> RuleSituation:
        networks = [each.network_id for each in self._context.networks]
        with self._context.store.read() as connection:
            return RuleSituation(
                all_open_incidents(connection, MOST_COUNTED),
                pending_conditions(connection),
                silent_now(connection, networks, self._context.now()),
                self._context.now(),
                self._context.network_name,
            )

    def as_file(self) -> str:
        return rule_file([each.rule for each in self.in_force()])

    def edited_as_file(self) -> str:
        """Return the rules that people edited, as a file; empty if there are none.

        A rule is not edited if it is a default one, or as a file last defined it. Removed rules are
        comments at the end.
        """
        edited = [each.rule for each in self.in_force() if is_edited(each)]
        said = "# {} was removed on {} by {}\n"
        return (rule_file(edited) if edited else "") + "".join(
            said.format(each.name, moment(each.removed_at), visible(each.removed_by, LONGEST_NAME))
            for each in self.removed()
        )

    def removed(self) -> list[RemovedRule]:
        """Return the rules that people removed since the last import of a file."""
        with self._context.store.read() as connection:
            return read_removed(connection)

    def document(self, *, only_edited: bool = False) -> dict[str, Json]:
        """Return the rules in force for programs, or only what people edited and removed."""
        shown = [each for each in self.in_force() if is_edited(each) or not only_edited]
        gone = {"removed": list[Json](each.name for each in self.removed())} if only_edited else {}
        return {"rules": {each.rule.name: write_rule(each.rule) for each in shown}, **gone}

    def read_file(self, text: str) -> tuple[Rule, ...]:
        """Parse a file of rules; InputError names every mistake with its line."""
        read = self._context.settings.read_rules
        if read is None:
            raise InputError("files of rules cannot be read here: use `linewatch rules import`")
        return read(text)

    def read(self, name: str, table: RuleTable) -> Rule | list[RuleRemark]:
        """Return the rule that a table defines, or everything that is wrong with it."""
        return read_rule(name, table, self._context.settings.rule_names)

    def given(self, name: str, table: RuleTable) -> Rule:
        """Return the rule that a table defines; InputError names everything that is wrong."""
        found = self.read(name, table)
        if isinstance(found, Rule):
            return found
        raise InputError("; ".join(f"{key or name} {remark}" for key, remark in found))

    @shared_for(_KEPT_FOR)
    def lately(self, rule: Rule) -> str:
        """Say how often a rule would have fired in the last seven days; cached for some minutes.

        If that is unknown, say why.
        """
        try:
            return preview_in_words(self.preview(rule, LATELY), zone_of(rule))
        except InputError as error:
            return f"{error}."

    def preview(self, rule: Rule, within: timedelta) -> RulePreview:
        """Return what a rule would have reported lately; InputError for more than 31 days."""
        now = self._context.now()
        networks = {each.network_id: each.gas_period for each in self._context.networks}
        with self._context.store.read() as connection:
            return preview_rule(connection, rule, (now - within, now), networks)

    def plan(self, edit: RuleEdit) -> list[RuleDifference]:
        """Return what an edit would change; InputError if it is not possible."""
        with self._context.store.read() as connection:
            held = rules_in_force(connection)
        return differences(held, _wanted(held, edit))

    def import_file(
        self, given: Sequence[Rule], by: Actor, *, replaces: bool
    ) -> list[RuleDifference]:
        """Put the rules of a file into force, and record that they match the file.

        Other rules stay, unless the file replaces all.
        """
        edit = replaced_by(given) if replaces else merged_with(given)
        by = replace(by, way=Way.FILE)
        by.require(Action.CHANGE_RULE)
        with self._context.store.write() as connection:
            found = _changed(connection, edit, by)
            note_file(connection, [each.name for each in given])
        return found

    def change(self, edit: RuleEdit, by: Actor) -> list[RuleDifference]:
        """Edit the rules and return the differences; InputError if that is not possible."""
        with self._context.store.write() as connection:
            return _changed(connection, edit, by)


def is_edited(stored: StoredRule) -> bool:
    """Whether people changed a rule since it was a default one, or as a file defines it."""
    return stored.changed_at is not None and stored.source is not Way.FILE


def changed_in_words(stored: StoredRule) -> str:
    """Say who last changed a rule, when and how; the name is foreign text."""
    if stored.changed_at is None:
        return "default, unchanged"
    how = {
        Way.FILE: "from a file, imported",
        Way.API: "changed by the API",
        Way.COMMAND: "changed by a command",
        Way.PAGE: "changed on a page",
        None: "changed",
    }[stored.source]
    return f"{how} on {moment(stored.changed_at)} by {stored.changed_by}"


def rule_file(rules: Sequence[Rule]) -> str:
    return write_toml("rules", {each.name: write_rule(each) for each in rules})


def _wanted(held: Rules, edit: RuleEdit) -> Rules:
    """Return the rules after an edit; InputError if there are too many for the worker."""
    wanted = edit(held)
    if len(wanted) > MOST_RULES:
        raise InputError(f"these are {len(wanted):,} rules: keep at most {MOST_RULES}")
    return wanted


def _changed(connection: Connection, edit: RuleEdit, by: Actor) -> list[RuleDifference]:
    held = rules_in_force(connection)
    wanted = _wanted(held, edit)
    found = differences(held, wanted)
    _refuse_unreadable(found)
    if found:
        save_rules(connection, wanted, by)
        _close_unreported(connection, held, wanted, by)
    for each in found:
        note_action(connection, by, _action(each), each.name, _details(each))
    return found


def _refuse_unreadable(found: Sequence[RuleDifference]) -> None:
    """Raise InputError for a rule that could be stored, but then not be read by anybody."""
    for each in found:
        read = None if each.after is None else read_rule(each.name, each.after)
        if isinstance(read, list):
            said = "; ".join(f"{key or 'it'} {remark}" for key, remark in read)
            raise InputError(f"the rule {each.name} cannot be kept: {said}")


def _close_unreported(connection: Connection, held: Rules, wanted: Rules, by: Actor) -> None:
    """Resolve the open incidents that the new rules no longer report; others become as severe."""
    after = {each.name: each for each in wanted}
    for before in held:
        if after.get(before.name) == before:
            continue
        rule = after.get(before.name)
        for stored in open_incidents_of_rule(connection, before.name):
            why, incident = why_closed(rule, before, stored), stored
            if rule is not None and not why:
                more = covered_anew(connection, rule, before, stored) if stored.troubled else 0
                incident = replace(stored, troubled=max(0, stored.troubled + more))
                incident = replace(incident, severity=rule.severity.value)
                if stored.troubled and not incident.troubled:
                    why = "its rule covers nothing of it any more"
            response = close_unreported(incident, by, why)
            if why and response.event is not None:
                save_incident(connection, response.incident)
                add_events(connection, [(incident.incident_id, response.event)])
            elif incident != stored:
                save_incident(connection, incident)


def _action(difference: RuleDifference) -> Action:
    if difference.before is None:
        return Action.ADD_RULE
    return Action.REMOVE_RULE if difference.after is None else Action.CHANGE_RULE


def _details(difference: RuleDifference) -> dict[str, Detail]:
    """Format the keys that differ for the audit log: old → new if both exist."""
    return {
        key: f"{written(before)} → {written(after)}"
        if difference.before is not None and difference.after is not None
        else written(after if before is None else before)
        for key, before, after in difference.lines()
    }


class RuleState(NamedTuple):
    """The state of a rule in a word, and a sentence with the reason; empty if there is none."""

    word: str
    why: str = ""


_NEVER: Final = datetime.min.replace(tzinfo=UTC)


class RuleSituation(Struct, frozen=True):
    """What is open, pending, and not answering."""

    incidents: Sequence[Incident] = ()
    pending: Sequence[PendingCondition] = ()
    sources: Sequence[SourceOutage] = ()
    now: datetime = _NEVER
    network_name: Callable[[NetworkId], str] = unnamed_network

    def state_of(self, rule: Rule) -> RuleState:
        """Return the state of a rule; without a worker it is unknown.

        Open incidents take precedence over outages, which may concern another network.
        """
        if not rule.is_enabled or rule.is_over(self.now):
            return _without_effect(rule)
        silent = [each for each in self.sources if inhibited_rules(each, [rule])]
        is_unwatched = any(each.kind is SubjectKind.WORKER for each in silent)
        if is_unwatched:
            return self._without_data(silent)
        mine = [each for each in self.incidents if each.rule == rule.name]
        for state in _OPEN_STATES:
            if many := sum(each.state is state for each in mine):
                return RuleState(state, f"{counted(many, 'open incident')}.")
        if silent:
            return self._without_data(silent)
        since = [each.opened_at for each in mine]
        since += [each.since for each in self.pending if _concerns(each.subject, rule)]
        if since:
            return RuleState(IncidentState.PENDING, f"Pending since {moment(min(since))}.")
        return RuleState("on")

    def _without_data(self, silent: Sequence[SourceOutage]) -> RuleState:
        """Say why it is not evaluated, and unless that is so everywhere, on which network."""
        source, where = silent[0], ""
        if source.network_id != INSTALLATION:
            more = len({each.network_id for each in silent}) - 1
            where = f" on {self.network_name(source.network_id)}"
            where += f" and {counted(more, 'other network')}" if more else ""
        return RuleState(IncidentState.NO_DATA, f"Not evaluated{where}: {source}.")


def _without_effect(rule: Rule) -> RuleState:
    if not rule.is_enabled or rule.until is None:
        return RuleState("off")
    return RuleState(ENDED, f"Ended on {moment(rule.until)}.")


def _concerns(subject: Subject, rule: Rule) -> bool:
    if subject.rule:
        return subject.rule == rule.name
    is_taken = subject.network_id in (rule.scope.networks or {subject.network_id})
    return is_taken and subject.kind in subject_kinds(rule.kind)


class ListedRule(Struct, frozen=True):
    stored: StoredRule
    state: RuleState

    @property
    def rule(self) -> Rule:
        return self.stored.rule


def rule_form(stored: StoredRule) -> dict[str, Json]:
    """Format a rule for programs, with the keys of its file."""
    return {
        "name": stored.rule.name,
        **write_rule(stored.rule),
        "changedAt": instant(stored.changed_at),
        "changedBy": stored.changed_by,
        "source": stored.source,
    }


def rule_listing(context: ApplicationContext) -> Listing[ListedRule]:
    """Return the columns of rules; networks are named."""
    return Listing(
        "rules",
        (
            Column("name", lambda each: each.rule.name),
            Column("kind", lambda each: each.rule.kind.value),
            Column("severity", lambda each: each.rule.severity.value),
            Column("state", lambda each: each.state.word, "state"),
            Column("scope", lambda each: scope_in_words(each.rule, context.label)),
            Column("notifies", lambda each: recipients_in_words(each.rule.recipients)),
            for_programs("why", lambda each: each.state.why),
        ),
        "There is no rule.",
        lambda each: rule_form(each.stored),
    )
