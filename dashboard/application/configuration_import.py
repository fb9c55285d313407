"""Import what people configured elsewhere: as a whole or not at all, with every mistake named.

Settings stay in their own file: they are compared here, and never changed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from typing import Annotated, Final, TypeVar
from uuid import UUID

import msgspec
from msgspec import Struct, field

from dashboard.application.chosen_settings import ChosenSettings
from dashboard.application.configuration import (
    TEMPLATES,
    Difference,
    Document,
    Section,
    Table,
    configured,
    differences,
    silence_table,
    tracked_table,
    without_empty,
)
from dashboard.application.context import ApplicationContext, ApplicationSubject
from dashboard.application.customer_answers import AnswerTexts
from dashboard.application.listing import Json
from dashboard.application.people import People
from dashboard.application.recipients import Recipients
from dashboard.application.rules import AlertRules
from dashboard.application.senders import WatchedSenders
from dashboard.application.silences import Silences
from dashboard.application.tracked import TrackedTransactions
from dashboard.domain.alerts.notification import DigestTime, Recipient
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.alerts.silence import Silence, SilenceKind, SilenceRequest
from dashboard.domain.formatting import counted, is_far_off
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Action, Actor, Role
from dashboard.domain.people.active_hours import WeekSpan
from dashboard.domain.people.recipients import AddressOff, OffCause, RecipientProfile
from dashboard.domain.quantity import Address, NetworkId, TxHash
from dashboard.domain.tracking.remarks import (
    CaseId,
    Label,
    Note,
    Owner,
    Remarks,
    tidy_tags,
)
from dashboard.domain.tracking.track_csv import ListedTransaction
from dashboard.errors import InputError
from dashboard.store.access.audit_log import note_action
from dashboard.wire.decoding import in_plain_words, read_toml

Kind = TypeVar("Kind", bound=Struct)
_LONGEST_SETTING: Final = 200
_DONE: Final = {True: "taken as the file says", False: "nothing was changed yet"}


class _Silence(Struct):
    kind: SilenceKind
    matchers: list[str]
    starts_at: Annotated[datetime, msgspec.Meta(tz=True)]
    ends_at: Annotated[datetime, msgspec.Meta(tz=True)]
    reason: str
    weekly: tuple[str, ...] = ()
    time_zone: str = ""


class _Recipient(Struct):
    verified: bool = False
    off: OffCause | None = None
    note: str = ""
    time_zone: str = ""
    active: tuple[str, ...] = ()
    digest: str = ""


class _Sender(Struct):
    networks: list[int]
    label: Label = ""


class _Tracked(Struct):
    networks: tuple[int, ...] = ()
    attempted_at: Annotated[datetime, msgspec.Meta(tz=True)] | None = None
    label: Label = ""
    note: Note = ""
    case_id: CaseId = ""
    owner: Owner = ""
    tags: str = ""


class _Person(Struct):
    role: Role


class _Templates(Struct):
    text: str


class Taken(Struct, frozen=True):
    """What a file changed; `left` says what was left out, and why."""

    changes: tuple[Difference, ...]
    left: tuple[str, ...]


class WrongConfiguration(InputError):
    """A file was refused as a whole; `mistakes` has a line for everything that is wrong with it."""

    def __init__(self, mistakes: Sequence[str]) -> None:
        super().__init__("; ".join(mistakes))
        self.mistakes = tuple(mistakes)


class _Undone(Exception):
    """Rolls back a transaction that was only tried."""


class ConfigurationImport(ApplicationSubject):
    """Imports a file through the acts of the subjects, each on record."""

    def take(self, text: str, by: Actor, *, is_tried: bool = False) -> Taken:
        """Add and change what a file says, in one transaction; rules are replaced as a whole.

        WrongConfiguration names every mistake; then nothing is changed. With `is_tried` nothing is
        changed either way.
        """
        by.require(Action.IMPORT)
        wanted, taking = _read(text), _Taking(self._context, by)
        changes: tuple[Difference, ...] = ()
        with suppress(_Undone), self._context.store.write_together() as connection:
            taking.before = configured(self._context)
            taking.all(wanted)
            after = {**configured(self._context), "answers": taking.answers(wanted)}
            changes = tuple(differences(taking.before, after))
            if is_tried:
                raise _Undone
            if changes:
                details = {"changes": len(changes)}
                note_action(connection, by, Action.IMPORT, "configuration", details)
            for table in wanted.get("answers", {}).values():
                AnswerTexts(self._context).change(table["text"], by)
        return Taken(changes, tuple(taking.left))


class _Taking(Struct):
    """Applies a file, and collects what is wrong with it."""

    context: ApplicationContext
    by: Actor
    before: Document = field(default_factory=dict)
    mistakes: list[str] = field(default_factory=list)
    left: list[str] = field(default_factory=list)

    def all(self, wanted: Document) -> None:
        """Apply all sections, each after those that it depends on."""
        self._rules(wanted.get("rules", {}))
        steps: tuple[tuple[str, type[Struct], Callable[..., None]], ...] = (
            ("silences", _Silence, self._silence),
            ("recipients", _Recipient, self._recipient),
            ("senders", _Sender, self._sender),
            ("people", _Person, self._person),
            ("answers", _Templates, self._template),
        )
        for section, kind, take in steps:
            for name, table in self._each(wanted, section, kind):
                with self._blaming(section, name):
                    take(name, table)
        self._tracked(dict(self._each(wanted, "tracked", _Tracked)))
        for name, parameters in wanted.get("filters", {}).items():
            self._filter(name, parameters)
        if chosen := wanted.get("chosen"):
            with self._blaming("chosen", "all"):
                self.left += ChosenSettings(self.context).take(chosen, self.by)
        self._compare_settings(wanted.get("settings", {}))
        known = self.before.keys()
        self.mistakes += [
            f"{visible(each, 80)} is not a section: choose one of {', '.join(known)}"
            for each in wanted.keys() - known
        ]
        if self.mistakes:
            raise WrongConfiguration(self.mistakes)

    def answers(self, wanted: Document) -> Section:
        """Return the answer templates after the import."""
        return wanted.get("answers") or self.before["answers"]

    def _each(self, wanted: Document, section: str, kind: type[Kind]) -> Iterator[tuple[str, Kind]]:
        """Yield the readable tables of a section; wrong keys in others are recorded as mistakes."""
        for name, table in wanted.get(section, {}).items():
            wrong = list(_wrong_keys(table, kind))
            self.mistakes += [f"{section}.{visible(name, 80)}{each}" for each in wrong]
            if not wrong:
                yield name, msgspec.convert(table, kind, strict=True)

    @contextmanager
    def _blaming(self, section: str, name: str) -> Iterator[None]:
        try:
            yield
        except InputError as error:
            self.mistakes.append(f"{section}.{visible(name, 80)}: {error}")

    def _rules(self, tables: Section) -> None:
        ask, found = AlertRules(self.context), list[Rule]()
        for name, table in tables.items():
            read = ask.read(name, dict(table))
            if isinstance(read, Rule):
                found.append(read)
            else:
                named = f"rules.{visible(name, 80)}"
                self.mistakes += [f"{named}{f'.{key}' if key else ''} {what}" for key, what in read]
        if found and len(found) == len(tables):
            with self._blaming("rules", "all"):
                ask.import_file(found, self.by, replaces=True)

    def _silence(self, name: str, said: _Silence) -> None:
        ask = Silences(self.context)
        try:
            request_id = UUID(name)
        except ValueError:
            raise InputError("a silence is named by its id, as the export writes it") from None
        if said.ends_at <= self.by.at:
            self.left.append(f"silences.{name} is over")
            return
        request = SilenceRequest(
            request_id,
            said.kind,
            ask.read_matchers(said.matchers),
            said.starts_at,
            said.ends_at,
            said.reason,
            ask.weekly(said.weekly, said.time_zone),
        )
        given = Silence(0, request, "", self.by.at)
        known, is_new = ask.add(request, self.by, covers_all=True)
        if not is_new and silence_table(known) != silence_table(given):
            raise InputError("a different silence has this id: end it first")

    def _recipient(self, name: str, said: _Recipient) -> None:
        ask, recipient = Recipients(self.context), _recipient_named(name)
        if said.verified:
            ask.verify(recipient, self.by, "import")
        if said.off is not None:
            off = AddressOff(recipient, said.off, self.by.at, self.by.name, said.note)
            ask.stop(off, self.by, Action.TURN_OFF)
        spans = tuple(map(WeekSpan.parse, said.active))
        digest = DigestTime.parse(said.digest) if said.digest else None
        profile = RecipientProfile(said.time_zone, spans, digest)
        if profile not in {RecipientProfile(), ask.profile(recipient)}:
            ask.change(recipient, profile, self.by, must_be_named=False)

    def _sender(self, name: str, said: _Sender) -> None:
        networks = list(map(NetworkId, said.networks))
        given = without_empty(networks=list(said.networks), label=said.label)
        if self.before["senders"].get(name) != given:
            senders = (Address.parse(name),)
            WatchedSenders(self.context).watch(senders, networks, said.label, self.by)

    def _tracked(self, wanted: Mapping[str, _Tracked]) -> None:
        ask, listed = TrackedTransactions(self.context), list[ListedTransaction]()
        for line, (name, said) in enumerate(wanted.items(), start=1):
            with self._blaming("tracked", name):
                networks = tuple(map(NetworkId, said.networks))
                tags = tidy_tags(said.tags)
                remarks = Remarks(
                    said.attempted_at, said.label, said.note, said.case_id, said.owner, tags
                )
                tx_hash, held = TxHash.parse(name), self.before["tracked"].get(name)
                new = ListedTransaction(line, tx_hash, network_ids=networks).with_common(remarks)
                listed.append(new)
                if held is not None and held != tracked_table(networks, remarks):
                    ask.edit(tx_hash, msgspec.structs.asdict(remarks), self.by)
        if not self.mistakes:
            ask.track(listed, (), self.by)

    def _filter(self, name: str, parameters: Table) -> None:
        if not all(isinstance(each, str) for each in parameters.values()):
            self.mistakes.append(f"filters.{visible(name, 80)}: write each value as a text")
        elif self.before["filters"].get(name) != parameters:
            with self._blaming("filters", name):
                TrackedTransactions(self.context).save_filter(name, parameters, self.by)

    def _person(self, name: str, said: _Person) -> None:
        held = self.before["people"].get(name)
        if held is None:
            People(self.context).invite(name, said.role, self.by)
            self.left.append(
                f"people.{name} has no password here: `linewatch people invite` makes a link"
            )
        elif held["role"] != said.role.value:
            People(self.context).change_role(name, said.role, self.by)

    def _template(self, name: str, said: _Templates) -> None:
        if name != TEMPLATES:
            raise InputError(f"there is one table only: answers.{TEMPLATES}")
        self.mistakes += AnswerTexts(self.context).check(said.text).mistakes

    def _compare_settings(self, wanted: Section) -> None:
        here = self.before["settings"]
        for section in sorted({*wanted, *here}) if wanted else ():
            there, ours = wanted.get(section, {}), here.get(section, {})
            for key in sorted({*there, *ours}):
                if there.get(key) != ours.get(key):
                    value = visible(str(there.get(key)), _LONGEST_SETTING)
                    said = f"'{value}' in the file" if key in there else "not in the file"
                    self.left.append(f"the setting {section}.{key} is {said}: set it yourself")


def _wrong_keys(table: Table, kind: type[Struct]) -> Iterator[str]:
    """Yield what is wrong with the keys of a table, in words that follow its name."""
    known = {each.name: each for each in msgspec.structs.fields(kind)}
    for key, value in table.items():
        if key not in known:
            yield f".{visible(key, 80)} is not a key: choose one of {', '.join(known)}"
            continue
        try:
            read = msgspec.convert(value, known[key].type, strict=True)
        except msgspec.ValidationError as error:
            yield f".{key}: {in_plain_words(str(error), known[key].type, 'a table')}"
        else:
            if isinstance(read, datetime) and is_far_off(read):
                yield f".{key} is not a usable date: {read.isoformat()}"
    for key, each in known.items():
        if each.required and key not in table:
            yield f" lacks {key}: add it"


def _read(text: str) -> Document:
    """Parse the sections of a file; InputError unless it is TOML with tables in tables."""
    try:
        found = read_toml(text)
    except ValueError as error:
        raise WrongConfiguration([f"it is not TOML: {error}"]) from None
    wrong = [
        f"{visible(name, 80)} is not a table of tables: write [{section}.NAME]"
        for section, tables in found.items()
        for name, table in (tables.items() if isinstance(tables, dict) else [(section, None)])
        if not isinstance(table, dict)
    ]
    if wrong:
        raise WrongConfiguration(wrong)
    return found


def _recipient_named(name: str) -> Recipient:
    channel, colon, address = name.partition(":")
    return Recipient(channel, address) if colon and "@" not in channel else Recipient(MAIL, name)


def taken_form(taken: Taken, *, is_done: bool) -> dict[str, Json]:
    """Format what a file changed, or would change, for programs."""
    changes: list[Json] = [
        {
            "section": each.section,
            "name": each.name,
            "before": None if each.before is None else dict(each.before),
            "after": None if each.after is None else dict(each.after),
        }
        for each in taken.changes
    ]
    return {"isDone": is_done, "changes": changes, "left": list[Json](taken.left)}


def taken_lines(taken: Taken, *, is_done: bool) -> list[str]:
    """Format the same for people."""
    many = counted(len(taken.changes), "table differs", "tables differ")
    last = "Nothing changes." if not taken.changes else f"{many}: {_DONE[is_done]}."
    return [*map(str, taken.changes), *(f"Not imported: {each}." for each in taken.left), last]
