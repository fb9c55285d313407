"""Who was notified by mail that mail failed knows by that message that mail works again."""

from __future__ import annotations

from datetime import timedelta

import pytest
from sqlalchemy import select

from dashboard.alert.notify import expand_outbox
from dashboard.domain.alerts.condition import INSTALLATION, State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.delivery import DeliveryGrounds
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.people.recipients import ConfiguredRecipients
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notification_claims import mark_sent, reschedule
from dashboard.store.engine.engine import Store
from dashboard.store.schema import notification_members
from tests.builders import A_MOMENT, A_NETWORK, a_transition, an_id
from tests.delivery_checks import claim_for_all, notifications, reject, take_lease

MAIL = Subject(SubjectKind.DELIVERY, INSTALLATION, rule="delivery", dimension="mail")
ANN, BOB = Recipient("mail", "ann@example.org"), Recipient("mail", "bob@example.org")
HOOK = Recipient("ops-hook", "ops-hook")
PEOPLE = (ANN, BOB, HOOK)


def turn(store: Store, number: int, before: State | None, after: State) -> None:
    """Let mail fail, or work again, and let whoever is to know be notified."""
    grounds = DeliveryGrounds(1, A_MOMENT, "421 later") if after.is_open else None
    change = a_transition(
        subject=MAIL, transition_id=an_id(number), before=before, after=after, grounds=grounds
    )
    with store.write() as connection:
        assert record_transition(connection, change, None)
    expand(store)


def expand(store: Store) -> None:
    while expand_outbox(store, ConfiguredRecipients(tuple(PEOPLE)), lambda: A_MOMENT):
        pass


def attempt(store: Store, token: int, *fails: Recipient) -> None:
    """Let every notification be tried once: mails to these recipients fail."""
    now = A_MOMENT + timedelta(minutes=1)
    with store.write() as connection:
        for each in claim_for_all(connection, token, now, 10):
            if each.recipient in fails:
                assert reschedule(connection, each, "421 later", now)
            else:
                mark_sent(connection, each.notification_id, "250 OK", now)


def notified_of_the_end(store: Store) -> dict[Recipient, str]:
    """Return why each recipient was not notified of the end, empty where they were."""
    column = notification_members.c
    query = select(column.channel, column.address, column.reason)
    with store.read() as connection:
        rows = connection.execute(query.where(column.transition_id == an_id(102))).all()
    return {Recipient(row.channel, row.address): row.reason for row in rows}


@pytest.mark.parametrize("is_tried_in_vain", [True, False])
def test_end_is_withheld_from_whom_the_beginning_reached_when_it_was_over(
    store: Store, *, is_tried_in_vain: bool
) -> None:
    token = take_lease(store)
    turn(store, 101, None, State.FAILING)
    if is_tried_in_vain:
        attempt(store, token, ANN, BOB)
    attempt(store, token)

    turn(store, 102, State.FAILING, State.DELIVERING)

    found = notified_of_the_end(store)
    assert {each for each in found if not found[each]} == {HOOK}
    assert "came by mail" in found[ANN]


def test_other_channel_that_fails_says_nothing_of_mail(store: Store) -> None:
    token = take_lease(store)
    calm = a_transition(subject=Subject(SubjectKind.BUSYNESS, A_NETWORK), after=State.CALM)
    with store.write() as connection:
        assert record_transition(connection, calm, None)
    turn(store, 101, None, State.FAILING)
    attempt(store, token, HOOK)

    turn(store, 102, State.FAILING, State.DELIVERING)

    found = notified_of_the_end(store)
    assert {each for each in found if not found[each]} == {HOOK}


def test_end_reaches_whom_mails_reached_while_those_to_others_failed(store: Store) -> None:
    token = take_lease(store)
    turn(store, 101, None, State.FAILING)
    attempt(store, token, BOB)
    reject(store)
    expand(store)
    attempt(store, token, BOB)
    attempt(store, token)

    turn(store, 102, State.FAILING, State.DELIVERING)

    found = notified_of_the_end(store)
    assert {each for each in found if not found[each]} == {ANN, HOOK}
    assert len([each for each in notifications(store) if each.recipient == BOB]) > 0


def test_change_of_an_address_reaches_everybody_but_that_address(store: Store) -> None:
    address = Subject(SubjectKind.ADDRESS, INSTALLATION, rule="delivery", dimension=ANN.address)
    change = a_transition(subject=address, transition_id=an_id(102), after=State.FAILING)
    with store.write() as connection:
        assert record_transition(connection, change, None)

    expand(store)

    found = notified_of_the_end(store)
    assert {each for each in found if not found[each]} == {BOB, HOOK}
    assert "about this very address" in found[ANN]
