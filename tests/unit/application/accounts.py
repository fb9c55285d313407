"""People with accounts over a store of their own, for tests of how they sign in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

import pytest

from dashboard.application.context import ApplicationContext, PageSettings
from dashboard.application.people import People
from dashboard.application.sessions import Device, NewSession
from dashboard.domain.people.access import Action, Actor, Role
from dashboard.domain.people.sign_in import Issuer, SignInPolicy
from dashboard.domain.secret import Secret
from dashboard.store.engine.engine import Store, open_store
from tests.canaries import canary
from tests.fake_clock import FakeClock
from tests.one_by_one import audited
from tests.passwords import CHEAP_HASHER

PASSWORD: Final = Secret(canary("password of everybody"))
OTHER: Final = Secret("staple of another kind")
LAPTOP: Final = Device("Firefox on Linux", "192.0.2.1")
PHONE: Final = Device("Chrome on Android", "198.51.100.7")
EXAMPLE: Final = Issuer(
    name="example",
    label="Example",
    url="https://id.example",
    client_id="linewatch",
    client_secret=Secret(""),
    scopes="openid",
    groups="groups",
    roles={"on-call": Role.OPERATOR, "staff": Role.VIEWER},
)
POLICY: Final = SignInPolicy(
    timedelta(hours=12), timedelta(days=30), issuers={EXAMPLE.name: EXAMPLE}
)


@pytest.fixture
def store(store_url: str) -> Iterator[Store]:
    with open_store(store_url) as opened:
        yield opened


@pytest.fixture
def people(store: Store, fake_clock: FakeClock) -> People:
    settings = PageSettings(sign_in=POLICY)
    context = ApplicationContext(store, (), fake_clock.now, settings=settings)
    return People(context, CHEAP_HASHER)


def root(clock: FakeClock) -> Actor:
    """Return who works on the machine itself."""
    return Actor("root", clock.now())


def joined(
    people: People, clock: FakeClock, name: str = "Ada", role: Role = Role.VIEWER
) -> NewSession:
    """Invite a person, who sets a password."""
    token = people.invite(name, role, root(clock))
    return people.accept(token.reveal(), PASSWORD, LAPTOP)


def acts_in(store: Store) -> list[tuple[str, Action, dict[str, object]]]:
    """Return who did what, with its details, the latest first."""
    found = audited(store)
    return [(each.actor, each.action, dict(each.details)) for each in found]
