"""What each kind of rule defines; `kinds.table` lists them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from enum import StrEnum
from typing import Any, Final, TypeAlias

from msgspec import Struct, field

from dashboard.domain.alerts.condition import Grounds, State, SubjectKind, Transition
from dashboard.domain.formatting import from_to, moment_in, span
from dashboard.domain.markup import unlinked, unlinked_name

LONGEST_VALUE: Final = 80
"""Characters of foreign text in a headline."""

Rows: TypeAlias = tuple[tuple[str, str], ...]
"""Labelled lines."""


class RuleKind(StrEnum):
    """The name of a kind of rule, as files and the store write it."""

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
    """What changes are grouped by: those of a group are equal in each dimension of their rule.

    TAG is all the tags of a transaction; a rate counts a rejection for each of them.
    """

    NETWORK = "network"
    MODULE = "module"
    STAGE = "stage"
    SENDER = "sender"
    LABEL = "label"
    TAG = "tag"


class Measure(ABC):
    """The figures of a rule; each kind with figures has a subclass."""

    __slots__ = ()

    @abstractmethod
    def table(self) -> dict[str, Any]:
        """Return the keys and values that define the measure."""

    @abstractmethod
    def when(self) -> str:
        """Say when such a rule reports."""


class Figure(Struct, frozen=True):
    """A key with a figure of the rule, and its field in the form.

    `default` applies if the key is left out; `example` is the placeholder of the field.
    """

    key: str
    read: Callable[[object], object]
    label: str
    default: str = ""
    example: str = ""
    choices: Sequence[str] = ()
    is_needed: bool = False
    is_number: bool = False


class Judged(Struct, frozen=True):
    """The states of a subject that a kind evaluates, and what a message says when trouble is over.

    `over` may contain {network}, and {what} for the value that tells the subject apart.
    """

    closed: State
    opened: State
    over: str = ""


class IncidentText(Struct, frozen=True):
    """The text about a change of a condition.

    `headline` says what changed in a few words, `opening` in a sentence. `page` shows more; `quote`
    is foreign text, made visible, below `quote_title`. `changed` are the fields of a record that
    changed: label, before and after. If `subject` is empty, the headline is the subject; `kicker`
    stands above it, `preheader` beside it in lists of mails.
    """

    headline: str
    opening: str
    page: str
    rows: Rows = ()
    explanation: str = ""
    next_steps: tuple[str, ...] = ()
    quote: str = ""
    quote_title: str = "Last error"
    kicker: str = ""
    subject: str = ""
    preheader: str = ""
    changed: tuple[tuple[str, str, str], ...] = ()
    remark: str = ""


class DescribedChange(Struct, frozen=True):
    """A change that is put into words; in a message sent after it was over, with its end.

    `network` is the name of the network, made visible. `opened_at` is when the condition began that
    is over now. Times are in UTC, and in labelled lines also in `zone`.
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
        """The labelled line that names the rule."""
        return "Rule", unlinked(self.transition.subject.rule, LONGEST_VALUE)

    @property
    def what(self) -> str:
        """The value that tells the subject apart, made visible: a channel, an address."""
        subject = self.transition.subject
        if subject.kind is SubjectKind.ADDRESS:
            return unlinked_name(subject.dimension)
        return unlinked(subject.dimension, LONGEST_VALUE)

    @property
    def lasted(self) -> Rows:
        """How long a condition that is over lasted, as a labelled line."""
        last = self.end or self.transition
        opened_at = self.opened_at if self.end is None else self.transition.began_at
        if opened_at is None or last.after.is_open:
            return ()
        length = span(last.began_at - opened_at)
        return (("Lasted", f"{length}, since {moment_in(opened_at, self.zone)}"),)

    @property
    def when(self) -> str:
        """From when to when it lasted; empty if that is not known."""
        return "" if self.end is None else from_to(self.transition.began_at, self.end.began_at)


class Kind(Struct, frozen=True, kw_only=True):
    """The definition of one kind of rule.

    title: the title of its incidents, with {network} or {where}; if each change is counted, the
        title for one and for several.
    when: when such a rule reports; if there is a measure, its own `when` says it with figures.
    subjects: what is evaluated. A kind without subjects is about transactions.
    rests_on: while one of these does not answer, the kind cannot be evaluated.
    is_of_rejections: modules, stages, senders, labels and tags can narrow it.
    is_lasting: what it is about lasts and ends, so that it can be pending.
    is_of_networks: it is about networks; otherwise about the installation itself.
    is_measured: the worker measures it for each rule, with the rule's own hold periods.
    reads_some: a subject is read only if it is in trouble; one that is not read has recovered.
    figures: the keys that only its rules have. `measure` is made of their values, and `check`
        says which keys of a table do not go together.
    grounds: what a change may rest on, by the name that the store uses.
    describe: puts a change with grounds into words; `describe_past` describes a change that is
        over, as a claim or as a whole text.
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
