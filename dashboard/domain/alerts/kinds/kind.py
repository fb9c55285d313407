"""What every kind of rule says of itself; `kinds.table` lists them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Any, Final, TypeAlias

from dashboard.domain.alerts.condition import Grounds, State, SubjectKind, Transition
from dashboard.domain.formatting import from_to, moment_in, span
from dashboard.domain.markup import unlinked, unlinked_name

LONGEST_VALUE: Final = 80
"""Characters of foreign text in a headline."""

Rows: TypeAlias = tuple[tuple[str, str], ...]
"""Labelled lines."""


class RuleKind(StrEnum):
    """What a rule is about: the name of its kind, as files and the store have it."""

    REJECTED = "rejected"
    CHANGED = "changed"
    INCLUDED = "included"
    REJECTION_RATE = "rejection-rate"
    BUSY = "busy"
    FEE = "fee"
    COVERAGE_GAP = "coverage-gap"
    WORKER_SILENT = "worker-silent"
    DELIVERY_FAILING = "delivery-failing"
    CREDITS_SHORT = "credits-short"
    EXPIRY = "expiry"
    UPSTREAM_SILENT = "upstream-silent"
    DATA_STALE = "data-stale"
    DISK_FILLING = "disk-filling"
    LIMITS_END = "limits-end"


class Dimension(StrEnum):
    """What changes are grouped by: those of one group are equal in each dimension of their rule.

    TAG is all the tags of a transaction; a rate counts a rejection for each of them.
    """

    NETWORK = "network"
    MODULE = "module"
    STAGE = "stage"
    SENDER = "sender"
    LABEL = "label"
    TAG = "tag"


class Measure(ABC):
    """The figures of a rule; a kind that has some has a subclass."""

    __slots__ = ()

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """Return the keys that say these figures."""

    @abstractmethod
    def when(self) -> str:
        """Say when such a rule reports."""


@dataclass(frozen=True, slots=True)
class Figure:
    """A key that says a figure, and its field in the form of a rule.

    `default` is what the key says where it is left out; `example` stands in the empty field.
    """

    key: str
    read: Callable[[object], object]
    label: str
    default: str = ""
    example: str = ""
    choices: Sequence[str] = ()
    is_needed: bool = False
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Judged:
    """The states of a subject that a kind judges, and what is said when trouble is over.

    `over` may name the {network}, and {what} the subject is told apart by.
    """

    closed: State
    opened: State
    over: str = ""


@dataclass(frozen=True, slots=True)
class IncidentText:
    """The text about a change of a condition.

    `headline` is what changed in a few words, `opening` the same as a sentence. `page` is the
    one that shows more; `quote` is foreign text, made visible, below its title. `changed` are the
    fields of a record that is another now: label, before and now. If `subject` is empty the
    headline is the subject; `kicker` stands above it, `preheader` beside it in lists of mails.
    """

    headline: str
    opening: str
    page: str
    rows: Rows = ()
    explanation: str = ""
    next_steps: tuple[str, ...] = ()
    quote: str = ""
    quote_title: str = "Why there is no answer"
    kicker: str = ""
    subject: str = ""
    preheader: str = ""
    changed: tuple[tuple[str, str, str], ...] = ()
    remark: str = ""


@dataclass(frozen=True, slots=True)
class DescribedChange:
    """A change that is put into words; in a message that comes when it is over, with its end.

    `network` is its name, made visible. `opened_at` is when the condition began that is over now.
    Times are in UTC, those of labelled lines also in `zone`.
    """

    transition: Transition
    network: str
    opened_at: datetime | None = None
    zone: tzinfo = UTC
    end: Transition | None = None

    @property
    def is_open(self) -> bool:
        """Whether something is wrong after the change."""
        return self.transition.after.is_open

    @property
    def rule(self) -> tuple[str, str]:
        """Return the labelled line that names the rule."""
        return "Rule", unlinked(self.transition.subject.rule, LONGEST_VALUE)

    @property
    def what(self) -> str:
        """Return what tells the subject apart, made visible: a channel, an address."""
        subject = self.transition.subject
        if subject.kind is SubjectKind.ADDRESS:
            return unlinked_name(subject.dimension)
        return unlinked(subject.dimension, LONGEST_VALUE)

    @property
    def lasted(self) -> Rows:
        """Return how long a condition that is over lasted, as a labelled line."""
        last = self.end or self.transition
        opened_at = self.opened_at if self.end is None else self.transition.began_at
        if opened_at is None or last.after.is_open:
            return ()
        length = span(last.began_at - opened_at)
        return (("Lasted", f"{length}, since {moment_in(opened_at, self.zone)}"),)

    @property
    def when(self) -> str:
        """Say from when to when it lasted; empty if that is not known."""
        return "" if self.end is None else from_to(self.transition.began_at, self.end.began_at)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """What there is to say of one kind of rule.

    title: of its incidents, with {network} or {where}; where each change is counted, of one
        and of several.
    when: when such a rule reports; if it has a measure, that says it with its figures.
    subjects: what is judged for it. Without any it is about transactions.
    rests_on: while one of these is silent, nobody can judge it.
    is_of_rejections: modules, stages, senders, labels and tags can narrow it.
    is_lasting: what it is about lasts and ends, so that it can be pending.
    is_of_networks: it is about networks; otherwise about the installation itself.
    is_measured: the worker measures it for each rule, with the rule's own hold periods.
    reads_some: what is measured is read only if there is trouble, so what is not read is over.
    figures: the keys that its rules have, and no others. `measure` is made of their values, and
        `check` says what is wrong with the keys of a table beside each other.
    grounds: what a change may rest on, by the name that the store has for it.
    describe: puts a change that rests on something into words; `describe_past` says of one that
        is over what was so, as a claim or as a whole text.
    """

    title: str | tuple[str, str]
    when: str = ""
    subjects: Mapping[SubjectKind, Judged] = field(default_factory=dict)
    rests_on: frozenset[SubjectKind] = frozenset()
    is_of_rejections: bool = False
    is_lasting: bool = True
    is_of_networks: bool = True
    is_measured: bool = False
    reads_some: bool = False
    figures: tuple[Figure, ...] = ()
    measure: Callable[[Mapping[str, Any]], Measure] | None = None
    check: Callable[[Mapping[str, object]], Iterator[str]] | None = None
    grounds: Mapping[str, type[Grounds]] = field(default_factory=dict)
    describe: Callable[[DescribedChange, Any], IncidentText] | None = None
    describe_past: Callable[[DescribedChange, Any], IncidentText | str] | None = None
