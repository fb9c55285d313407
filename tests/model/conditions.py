"""What the model remembers of conditions, and of their changes in the outbox."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final, NamedTuple
from uuid import UUID

from msgspec.structs import replace

from dashboard.domain.alerts.condition import (
    Condition,
    Opening,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.store.alerts.alert_status import open_incidents
from dashboard.store.alerts.conditions import current_condition
from dashboard.store.alerts.outbox import pending_expansion
from dashboard.store.engine.connection import Connection
from tests.model.rejections import Archive, Numbers
from tests.model.world import HASHES, NETWORKS

_MANY: Final = 10_000
SUBJECTS: Final = (
    *(Subject.transaction(network, tx_hash) for network in NETWORKS for tx_hash in HASHES),
    *(Subject(SubjectKind.BUSYNESS, network) for network in NETWORKS),
)
OPPOSITES: Final = {State.CALM: State.BUSY, State.BUSY: State.CALM, None: State.CALM}


@dataclass
class Held:
    """A condition, its opening while it lasts, and the rejection that it rests on."""

    condition: Condition
    opening: Opening | None
    rejection: int | None


class Change(NamedTuple):
    """A transition; `rejection` is a place in the archive."""

    transition: Transition
    rejection: int | None
    opening: Opening | None


@dataclass
class Conditions:
    """Conditions by subject, their changes in order, and which of these left the outbox."""

    held: dict[Subject, Held] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)
    expanded: set[UUID] = field(default_factory=set)

    def change(self, transition: Transition, rejection: int | None) -> bool:
        """Change a condition if it still is what the transition says, and write its outbox row."""
        before = self.held.get(transition.subject)
        if self._is_known(transition, rejection):
            return False
        if (before and before.condition.state) is not transition.before:
            return False
        opening = None
        if transition.before is not None and transition.before.is_open:
            opening = before.opening if before else None
        elif transition.after.is_open:
            opening = Opening(transition.transition_id, transition.at)
        lasting = opening if transition.after.is_open else None
        condition = Condition(transition.after, transition.at)
        self.held[transition.subject] = Held(condition, lasting, rejection)
        self.changes.append(Change(transition, rejection, opening))
        return True

    def state(self, subject: Subject) -> State | None:
        """Return what is held of a subject."""
        return self.held[subject].condition.state if subject in self.held else None

    def turn(self, subject: Subject, since: datetime | None) -> None:
        """Note since when the opposite is seen."""
        if (before := self.held.get(subject)) is not None:
            before.condition = replace(before.condition, turning_since=since)

    def unexpanded(self) -> list[Change]:
        """Return what waits in the outbox, oldest first."""
        return [each for each in self.changes if each.transition.transition_id not in self.expanded]

    def purge(self, gone: AbstractSet[UUID]) -> None:
        """Forget changes."""
        self.changes = [each for each in self.changes if each.transition.transition_id not in gone]
        self.expanded -= gone

    def renumber(self, places: Mapping[int, int]) -> None:
        """Name the rejections that are left by their new places, and the others not at all.

        A condition goes with the rejection that it rests on.
        """
        self.held = {
            subject: dataclasses.replace(each, rejection=each.rejection and places[each.rejection])
            for subject, each in self.held.items()
            if each.rejection is None or each.rejection in places
        }
        self.changes = [
            each._replace(rejection=each.rejection and places.get(each.rejection))
            for each in self.changes
        ]

    def _is_known(self, transition: Transition, rejection: int | None) -> bool:
        is_same = transition.before is transition.after
        lasting = self.held.get(transition.subject)
        if is_same and lasting is not None and lasting.rejection == rejection:
            return True
        return any(
            each.transition.transition_id == transition.transition_id
            or (
                is_same
                and each.transition.subject == transition.subject
                and each.rejection == rejection
            )
            for each in self.changes
        )


def check_conditions(
    connection: Connection, held: Conditions, archive: Archive, numbers: Numbers
) -> None:
    """Read conditions and the outbox; they must be as expected."""
    for subject in SUBJECTS:
        known = held.held.get(subject)
        assert current_condition(connection, subject) == (known and known.condition)
    assert {
        each.subject: (each.state, each.opened_at) for each in open_incidents(connection)
    } == dict(_lasting(held))
    waiting = [
        (each.transition, each.change.rejection and numbers.of(each.change.rejection))
        for each in pending_expansion(connection, _MANY)
    ]
    assert waiting == [
        (
            each.transition,
            None if each.rejection is None else archive.rejections[each.rejection - 1],
        )
        for each in held.unexpanded()
    ]


def _lasting(held: Conditions) -> Iterable[tuple[Subject, tuple[State, datetime]]]:
    for subject, each in held.held.items():
        if subject.tx_hash is None and each.opening is not None:
            yield subject, (each.condition.state, each.opening.opened_at)
