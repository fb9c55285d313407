"""What admins do about people: keep them out, end their sessions, see who was here when."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.application.people import People
from dashboard.domain.people.access import Role
from dashboard.errors import InputError, NotAllowed
from tests.fake_clock import FakeClock
from tests.unit.application.accounts import (
    LAPTOP,
    OTHER,
    PASSWORD,
    PHONE,
    POLICY,
    joined,
    people,
    root,
    store,
)

__all__ = ["people", "store"]


def test_disabled_person_is_kept_out_until_they_are_enabled(
    people: People, fake_clock: FakeClock
) -> None:
    joined(people, fake_clock, "Ada", Role.ADMIN)
    bob = joined(people, fake_clock, "Bob", Role.OPERATOR)
    late = people.invite("Bob", Role.OPERATOR, root(fake_clock)).reveal()
    people.disable("Bob", root(fake_clock))

    assert people.valid_among({bob.session.session_id}) == set()
    assert people.invited(late) is None
    with pytest.raises(NotAllowed, match="your account is disabled: ask an admin"):
        people.sign_in("Bob", PASSWORD, LAPTOP)
    with pytest.raises(InputError, match="the name or the password is wrong"):
        people.sign_in("Bob", OTHER, LAPTOP)
    with pytest.raises(InputError, match="'Bob' is disabled: enable them first"):
        people.invite("Bob", Role.ADMIN, root(fake_clock))
    people.enable("Bob", root(fake_clock))
    assert people.sign_in("Bob", PASSWORD, LAPTOP).session.person.role is Role.OPERATOR
    assert people.session(bob.secret) is None


def test_all_sessions_of_a_person_end_at_once_and_nobody_elses(
    people: People, fake_clock: FakeClock
) -> None:
    ada = joined(people, fake_clock, "Ada", Role.ADMIN)
    joined(people, fake_clock, "Bob", Role.VIEWER)
    people.sign_in("Bob", PASSWORD, PHONE)

    assert people.end_sessions_of("Bob", people.actor(ada.session.session_id)) == 2
    assert [each.person.name for each in people.sessions()] == ["Ada"]
    with pytest.raises(NotAllowed, match="end-session takes the role admin"):
        people.end_sessions_of("Ada", replace(root(fake_clock), role=Role.OPERATOR))
    assert [each.person.name for each in people.sessions()] == ["Ada"]


def test_account_says_whether_somebody_can_sign_in_and_when_they_were_here(
    people: People, fake_clock: FakeClock
) -> None:
    joined(people, fake_clock, "Ada", Role.ADMIN)
    joined(people, fake_clock, "Cy", Role.VIEWER)
    people.invite("Bob", Role.VIEWER, root(fake_clock))
    people.disable("Cy", root(fake_clock))
    here = fake_clock.now()
    before = {each.person.name: (each.state, each.last_used_at) for each in people.all()}
    for _ in range(2):  # so that what ended long ago is forgotten
        fake_clock.wait(POLICY.longest + timedelta(days=40))
        people.sign_in("Ada", PASSWORD, PHONE)

    after = {each.person.name: (each.state, each.last_used_at) for each in people.all()}
    assert before == {
        "Ada": ("can sign in", here),
        "Bob": ("invited", None),
        "Cy": ("disabled", here),
    }
    assert after == {
        "Ada": ("can sign in", fake_clock.now()),
        "Bob": ("invitation expired", None),
        "Cy": ("disabled", here),
    }
