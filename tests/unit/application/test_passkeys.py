"""Passkeys: each proves one person, on our own site, once for each time that they were asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from uuid import UUID

import pytest

from dashboard.application.context import ApplicationContext, PageSettings
from dashboard.application.people import People
from dashboard.application.sessions import Device, NewSession
from dashboard.domain.people.access import Action
from dashboard.domain.people.sign_in import Site
from dashboard.errors import InputError, NotFound
from dashboard.store.access.factors import STEP_LASTS
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from tests.databases import DATABASES
from tests.fake_clock import FakeClock
from tests.flaky_store import PassingStore
from tests.passwords import CHEAP_HASHER
from tests.software_authenticator import HOST, ORIGIN, Authenticator
from tests.unit.application.accounts import (
    LAPTOP,
    PASSWORD,
    PHONE,
    POLICY,
    acts_in,
    joined,
    people,
    root,
    store,
)

__all__ = ["people", "store"]

SITE = Site(ORIGIN, HOST)


def with_passkey(
    people: People, clock: FakeClock, name: str = "Ada", credential: bytes = b"of Ada"
) -> tuple[UUID, Authenticator]:
    """Let somebody have a passkey; return their session and it."""
    session = joined(people, clock, name).session.session_id
    key = Authenticator(credential_id=credential, uses=1)
    options = people.factors.ask_for_new_passkey(session, SITE)
    people.factors.add_passkey(session, SITE, key.create(options), "laptop")
    return session, key.but(uses=2)


def signs_in(people: People, key: Authenticator) -> NewSession:
    options = people.factors.ask_for_passkey(SITE, PHONE.address)
    return people.factors.sign_in_by_passkey(SITE, key.get(options), PHONE)


@pytest.mark.parametrize("database", DATABASES)
def test_passkey_signs_its_person_in_without_anything_else(
    people: People, store: Store, fake_clock: FakeClock
) -> None:
    _, key = with_passkey(people, fake_clock)
    with_passkey(people, fake_clock, "Bob", b"of Bob")
    begun = signs_in(people, key)

    [passkey] = people.factors.of(begun.session).passkeys
    assert begun.session.person.name == "Ada"
    assert (passkey.name, passkey.sign_count, passkey.last_used_at) == (
        "laptop",
        2,
        fake_clock.now(),
    )
    assert acts_in(store)[0] == ("Ada", Action.SIGN_IN, {"device": PHONE.name, "with": "passkey"})


WRONG: tuple[dict[str, object], ...] = (
    {"origin": "https://evil.example"},
    {"origin": "http://watch.example"},
    {"host": "evil.example"},
    {"is_verified": False},
    {"uses": 1},  # a copy of the key that was used before
    {"key": Authenticator().key},
    {"credential_id": b"unknown"},
)


def test_passkey_that_proves_nothing_signs_nobody_in(people: People, fake_clock: FakeClock) -> None:
    _, key = with_passkey(people, fake_clock)

    for changes in WRONG:
        with pytest.raises(InputError, match=r"not accepted|not known here"):
            signs_in(people, key.but(**changes))
    signs_in(people, key)


def test_answer_of_a_passkey_works_once_and_soon(people: People, fake_clock: FakeClock) -> None:
    _, key = with_passkey(people, fake_clock)
    key = key.but(uses=0)
    with_uncounted = Authenticator(key.key, b"uncounted")
    session = people.sign_in("Ada", PASSWORD, LAPTOP).session.session_id
    made = with_uncounted.create(people.factors.ask_for_new_passkey(session, SITE))
    people.factors.add_passkey(session, SITE, made, "synced")
    answer = with_uncounted.get(people.factors.ask_for_passkey(SITE, PHONE.address))
    late = with_uncounted.get(people.factors.ask_for_passkey(SITE, PHONE.address))
    people.factors.sign_in_by_passkey(SITE, answer, PHONE)
    with pytest.raises(InputError, match="done already"):
        people.factors.sign_in_by_passkey(SITE, answer, PHONE)
    fake_clock.wait(STEP_LASTS)
    with pytest.raises(InputError, match="took too long"):
        people.factors.sign_in_by_passkey(SITE, late, PHONE)


def test_what_was_asked_for_one_thing_answers_no_other(
    people: People, fake_clock: FakeClock
) -> None:
    ada, key = with_passkey(people, fake_clock)
    bob = joined(people, fake_clock, "Bob").session.session_id
    factors = people.factors
    to_make = factors.ask_for_new_passkey(ada, SITE)
    to_sign_in = factors.ask_for_passkey(SITE, PHONE.address)
    other = Authenticator(credential_id=b"other")
    for act in (
        lambda: factors.sign_in_by_passkey(SITE, key.get(to_make), PHONE),
        lambda: factors.add_passkey(ada, SITE, other.create(to_sign_in), "other"),
        lambda: factors.add_passkey(bob, SITE, other.create(to_make), "other"),
    ):
        with pytest.raises(InputError, match="begin again"):
            act()

    factors.add_passkey(ada, SITE, other.create(to_make), "other")


def test_passkey_that_was_removed_signs_nobody_in(people: People, fake_clock: FakeClock) -> None:
    ada, key = with_passkey(people, fake_clock)
    bob, other = with_passkey(people, fake_clock, "Bob", b"of Bob")
    [passkey] = people.factors.of(people.session_beginning(str(ada))).passkeys
    with pytest.raises(NotFound, match="no such passkey"):
        people.factors.remove_passkey(bob, str(passkey.passkey_id))
    people.factors.remove_passkey(ada, str(passkey.passkey_id))
    people.remove("Bob", root(fake_clock))

    for each in (key, other):
        with pytest.raises(InputError, match="not known here"):
            signs_in(people, each)


NO_ANSWERS = (
    "",
    "{}",
    "[" * 8_000,
    '{"id": 1}',
    '{"id": "a", "rawId": "é", "type": "public-key", "response": {"clientDataJSON": "é"}}',
    '{"rawId": "YQ", "response": {"clientDataJSON": "eyJjaGFsbGVuZ2UiOiIifQ"}}',
)


def test_answer_of_no_browser_is_refused(people: People, fake_clock: FakeClock) -> None:
    session, key = with_passkey(people, fake_clock)
    options = people.factors.ask_for_passkey(SITE, PHONE.address)
    cut = key.get(options).replace('"authenticatorData"', '"userHandle": "é", "authenticator"')

    for answer in (*NO_ANSWERS, cut):
        with pytest.raises(InputError, match=r"not accepted|begin again|not known here"):
            people.factors.sign_in_by_passkey(SITE, answer, PHONE)
        with pytest.raises(InputError, match=r"not accepted|begin again"):
            people.factors.add_passkey(session, SITE, answer, "laptop")


def test_asking_for_passkeys_is_throttled(people: People, fake_clock: FakeClock) -> None:
    joined(people, fake_clock)
    for number in range(100):
        people.factors.ask_for_passkey(SITE, f"2001:db8::{number}")

    office = Device(LAPTOP.name, "2001:db8::ffff")
    with pytest.raises(InputError, match="too many attempts: try again in 5 seconds"):
        people.factors.ask_for_passkey(SITE, office.address)
    people.sign_in("Ada", PASSWORD, office)


def test_nothing_is_written_for_who_proves_nothing(
    people: People, store: Store, fake_clock: FakeClock
) -> None:
    _, key = with_passkey(people, fake_clock)
    forged = key.but(key=Authenticator().key).get(people.factors.ask_for_passkey(SITE, "x"))

    settings = PageSettings(sign_in=POLICY)
    reading = ApplicationContext(OnlyRead(store), (), fake_clock.now, settings=settings)
    factors = People(reading, CHEAP_HASHER).factors
    with pytest.raises(InputError, match="not accepted"):
        factors.sign_in_by_passkey(SITE, forged, PHONE)
    with pytest.raises(InputError, match="begin again"):
        factors.finish("made up", "000000", PHONE)


class OnlyRead(PassingStore):
    """A store that is not written to."""

    @contextmanager
    def write(self, patience: timedelta | None = None) -> Iterator[Connection]:  # noqa: ARG002 - as the store has it
        """Fail the test."""
        yield self._refused()

    def _refused(self) -> Connection:
        raise AssertionError
