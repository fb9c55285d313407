"""People who sign in: invited once, with the role of now, gone at once when they are removed."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from msgspec.structs import replace
from sqlalchemy import select

from dashboard.application.accounts import INVITED_FOR
from dashboard.application.context import ApplicationContext, PageSettings
from dashboard.application.people import People
from dashboard.application.tracked import TrackedTransactions
from dashboard.domain.people.access import Action, Actor, Role
from dashboard.domain.people.sign_in import Identity, Proxy, SignInPolicy
from dashboard.errors import InputError, NotAllowed
from dashboard.store import schema as tables_of
from dashboard.store.engine.engine import Store
from tests.builders import seconds
from tests.databases import DATABASES
from tests.fake_clock import FakeClock
from tests.one_by_one import audited
from tests.passwords import CHEAP_HASHER
from tests.unit.application.accounts import (
    EXAMPLE,
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

ON_BOTH = pytest.mark.parametrize("database", DATABASES)


def test_invited_person_sets_a_password_and_signs_in(people: People, fake_clock: FakeClock) -> None:
    token = people.invite(" Ada  Lovelace ", Role.OPERATOR, root(fake_clock)).reveal()
    invited = people.invited(token)
    first = people.accept(token, PASSWORD, LAPTOP)
    second = people.sign_in("Ada Lovelace", PASSWORD, PHONE)

    assert invited is not None
    assert (invited.name, invited.role) == ("Ada Lovelace", Role.OPERATOR)
    assert first.secret != second.secret
    for each, device in ((first, LAPTOP), (second, PHONE)):
        found = people.session(each.secret)
        assert found is not None
        assert found.session_id == each.session.session_id
        assert (found.person.name, found.device) == ("Ada Lovelace", device.name)


def test_invitation_works_once_and_for_three_days(people: People, fake_clock: FakeClock) -> None:
    used = people.invite("Ada", Role.VIEWER, root(fake_clock)).reveal()
    people.accept(used, PASSWORD, LAPTOP)
    replaced = people.invite("Bob", Role.VIEWER, root(fake_clock)).reveal()
    late = people.invite("Bob", Role.VIEWER, root(fake_clock)).reveal()
    fake_clock.wait(INVITED_FOR)

    for token in (used, replaced, late, "", "made up"):
        assert people.invited(token) is None
        with pytest.raises(InputError, match="used or has expired"):
            people.accept(token, OTHER, LAPTOP)


@ON_BOTH
def test_new_invitation_sets_another_password_and_ends_all_sessions(
    people: People, fake_clock: FakeClock
) -> None:
    before = joined(people, fake_clock, "Ada", Role.ADMIN)
    token = people.invite("Ada", Role.ADMIN, root(fake_clock))
    after = people.accept(token.reveal(), OTHER, PHONE)

    assert people.session(before.secret) is None
    assert people.session(after.secret) is not None
    with pytest.raises(InputError, match="name or the password is wrong"):
        people.sign_in("Ada", PASSWORD, LAPTOP)


def test_refusal_does_not_tell_whether_there_is_such_a_person(
    people: People, fake_clock: FakeClock
) -> None:
    joined(people, fake_clock)
    people.invite("Bob", Role.VIEWER, root(fake_clock))
    said = set()
    for name in ("Ada", "Bob", "Nobody"):
        with pytest.raises(InputError) as refusal:
            people.sign_in(name, OTHER, LAPTOP)
        said.add(str(refusal.value))

    assert len(said) == 1


def test_password_is_stored_as_argon2id_and_the_secrets_as_digests(
    people: People, store: Store, fake_clock: FakeClock
) -> None:
    token = people.invite("Ada", Role.VIEWER, root(fake_clock))
    begun = people.accept(token.reveal(), PASSWORD, LAPTOP)
    with store.read() as connection:
        tables = (tables_of.people, tables_of.sessions, tables_of.invitations, tables_of.audit_log)
        dump = str([connection.execute(select(each)).all() for each in tables])

    assert "$argon2id$" in dump
    for secret in (PASSWORD, token, begun.secret):
        assert secret.reveal() not in dump


def test_session_ends_when_it_is_not_used_and_in_any_case(
    people: People, fake_clock: FakeClock
) -> None:
    idle = joined(people, fake_clock)
    busy = people.sign_in("Ada", PASSWORD, PHONE)
    for _ in range(61):
        fake_clock.wait(POLICY.idle - seconds(1))
        is_valid = people.session(busy.secret) is not None
        assert is_valid == (fake_clock.now() < busy.session.ends_at)

    assert people.session(idle.secret) is None
    assert people.sessions() == []


def test_role_is_that_of_now(people: People, fake_clock: FakeClock) -> None:
    joined(people, fake_clock, "Ada", Role.ADMIN)
    session = joined(people, fake_clock, "Bob", Role.OPERATOR).session.session_id
    people.change_role("Bob", Role.VIEWER, root(fake_clock))

    by = people.actor(session)
    assert (by.name, by.role, by.origin) == ("Bob", Role.VIEWER, LAPTOP.address)
    with pytest.raises(NotAllowed, match="invite takes the role admin"):
        people.invite("Eve", Role.ADMIN, by)
    assert [each.person.name for each in people.all()] == ["Ada", "Bob"]


def test_act_beyond_the_role_changes_nothing(store: Store, fake_clock: FakeClock) -> None:
    tracked = TrackedTransactions(ApplicationContext(store, (), fake_clock.now))
    viewer = Actor("Ann", fake_clock.now(), Role.VIEWER)

    with pytest.raises(NotAllowed, match="Ann is a viewer here, and save-filter takes the role su"):
        tracked.save_filter("mine", {}, viewer)
    assert tracked.saved_filters() == ()
    assert audited(store) == []


def test_ended_session_is_over_everywhere(people: People, fake_clock: FakeClock) -> None:
    first = joined(people, fake_clock, "Ada", Role.ADMIN).session.session_id
    second = people.sign_in("Ada", PASSWORD, PHONE)
    people.end_own_session(first, second.session.session_id)

    assert people.session(second.secret) is None
    assert people.valid_among({first, second.session.session_id}) == {first}
    with pytest.raises(NotAllowed, match="signed out"):
        people.actor(second.session.session_id)


def test_person_names_a_session_of_their_own(people: People, fake_clock: FakeClock) -> None:
    ada = joined(people, fake_clock).session.session_id
    bob = joined(people, fake_clock, "Bob").session.session_id
    people.name_own_session(ada, ada, "  my   laptop ")
    with pytest.raises(InputError, match="no such device"):
        people.name_own_session(bob, ada, "of Bob")
    with pytest.raises(InputError, match="at most 80 characters"):
        people.name_own_session(ada, ada, "x" * 81)

    assert people.session_beginning(str(ada)).label == "my laptop"
    people.name_own_session(ada, ada, "")
    assert people.session_beginning(str(ada)).label == ""


def test_nobody_ends_the_session_of_another_as_their_own(
    people: People, fake_clock: FakeClock
) -> None:
    ada = joined(people, fake_clock, "Ada", Role.ADMIN).session.session_id
    bob = joined(people, fake_clock, "Bob", Role.VIEWER).session.session_id

    with pytest.raises(InputError, match="no such device"):
        people.end_own_session(bob, ada)
    with pytest.raises(NotAllowed):
        people.end_session(ada, people.actor(bob))
    assert people.valid_among({ada, bob}) == {ada, bob}


@ON_BOTH
def test_removed_person_is_signed_out_and_the_name_is_free(
    people: People, fake_clock: FakeClock
) -> None:
    joined(people, fake_clock, "Ada", Role.ADMIN)
    bob = joined(people, fake_clock, "Bob", Role.OPERATOR)
    people.remove("Bob", root(fake_clock))

    assert people.session(bob.secret) is None
    with pytest.raises(InputError, match="wrong"):
        people.sign_in("Bob", PASSWORD, LAPTOP)
    joined(people, fake_clock, "Bob", Role.VIEWER)
    assert people.session(bob.secret) is None


def test_last_admin_who_can_sign_in_stays_one(people: People, fake_clock: FakeClock) -> None:
    joined(people, fake_clock, "Ada", Role.ADMIN)
    people.invite("Eve", Role.ADMIN, root(fake_clock))  # who never came

    for act in (
        lambda: people.remove("Ada", root(fake_clock)),
        lambda: people.change_role("Ada", Role.VIEWER, root(fake_clock)),
        lambda: people.disable("Ada", root(fake_clock)),
        lambda: people.invite("Ada", Role.SUPPORT, root(fake_clock)),
    ):
        with pytest.raises(InputError, match="only admin who can sign in"):
            act()
    joined(people, fake_clock, "Eve", Role.ADMIN)
    people.remove("Ada", root(fake_clock))


def test_link_for_a_new_password_leaves_the_role(people: People, fake_clock: FakeClock) -> None:
    joined(people, fake_clock, "Bob", Role.OPERATOR)

    _, kept = people.invitation("Bob", None, root(fake_clock), "http://localhost")
    _, given = people.invitation("Eve", None, root(fake_clock), "http://localhost")

    assert (kept, given) == (Role.OPERATOR, Role.VIEWER)
    roles = {each.person.name: each.person.role for each in people.all()}
    assert roles == {"Bob": Role.OPERATOR, "Eve": Role.VIEWER}


def test_admin_who_never_came_is_not_the_last_one(people: People, fake_clock: FakeClock) -> None:
    mistyped = people.invite("Adda", Role.ADMIN, root(fake_clock)).reveal()

    people.change_role("Adda", Role.VIEWER, root(fake_clock))
    people.change_role("Adda", Role.ADMIN, root(fake_clock))
    people.remove("Adda", root(fake_clock))

    assert people.invited(mistyped) is None


def test_changed_password_signs_other_devices_out(people: People, fake_clock: FakeClock) -> None:
    here = joined(people, fake_clock)
    there = people.sign_in("Ada", PASSWORD, PHONE)
    with pytest.raises(InputError, match="current password is wrong"):
        people.change_password(here.session.session_id, OTHER, OTHER)
    people.change_password(here.session.session_id, PASSWORD, OTHER)

    assert people.session(here.secret) is not None
    assert people.session(there.secret) is None
    people.sign_in("Ada", OTHER, PHONE)


def test_password_signs_nobody_in_where_accounts_are_off_again(
    people: People, store: Store, fake_clock: FakeClock
) -> None:
    joined(people, fake_clock)
    settings = PageSettings(sign_in=replace(POLICY, accounts=False))
    context = ApplicationContext(store, (), fake_clock.now, settings=settings)

    with pytest.raises(InputError, match="nobody signs in here with a password"):
        People(context, CHEAP_HASHER).sign_in("Ada", PASSWORD, LAPTOP)


def test_guessing_is_throttled(people: People, fake_clock: FakeClock) -> None:
    joined(people, fake_clock)
    for _ in range(5):
        with pytest.raises(InputError, match="wrong"):
            people.sign_in("Ada", OTHER, LAPTOP)

    with pytest.raises(InputError, match="too many wrong passwords: try again in 60 seconds"):
        people.sign_in("Ada", PASSWORD, LAPTOP)
    people.sign_in("Ada", PASSWORD, PHONE)


def test_names_that_nobody_has_take_no_memory(people: People) -> None:
    remembered = set()
    for number in range(3):
        with pytest.raises(InputError, match="wrong"):
            people.sign_in(f"{number}" * 1_000, OTHER, LAPTOP)
        with people.throttle() as throttle:
            remembered.add(throttle.remembered)

    assert len(remembered) == 1


def test_session_ends_with_the_way_of_its_sign_in(
    people: People, store: Store, fake_clock: FakeClock
) -> None:
    proxy = Proxy([ip_network("10.0.0.5")], "remote-user", "", ",", {"*": Role.VIEWER})
    every = replace(POLICY, proxy=proxy)
    without = {
        "accounts": replace(every, accounts=False),
        "issuer": replace(every, issuers={"other": replace(EXAMPLE, url="https://other.example")}),
        "proxy": replace(every, proxy=None),
    }
    begun = {
        "accounts": joined(people, fake_clock, "Root"),
        "issuer": people.sign_in_by(vouched("1", "staff"), LAPTOP),
        "proxy": people.sign_in_by(Identity(proxy, "bob", "bob", frozenset()), PHONE),
    }

    def signed_in(policy: SignInPolicy) -> set[str]:
        settings = PageSettings(sign_in=policy)
        now = People(ApplicationContext(store, (), fake_clock.now, settings=settings))
        return {way for way, each in begun.items() if now.session(each.secret) is not None}

    assert signed_in(every) == {*begun}
    for way, policy in without.items():
        assert signed_in(policy) == {*begun} - {way}


def test_audit_log_says_who_did_what_from_where(
    people: People, store: Store, fake_clock: FakeClock
) -> None:
    begun = joined(people, fake_clock, "Ada", Role.ADMIN)
    people.end_own_session(begun.session.session_id, begun.session.session_id)
    found = audited(store)

    assert [(each.actor, each.action, each.origin) for each in reversed(found)] == [
        ("root", Action.INVITE, ""),
        ("Ada", Action.SET_PASSWORD, LAPTOP.address),
        ("Ada", Action.SIGN_IN, LAPTOP.address),
        ("Ada", Action.SIGN_OUT, LAPTOP.address),
    ]


def vouched(subject: str, *groups: str, name: str = "Ada", sid: str | None = None) -> Identity:
    """Return whom the example issuer vouches for."""
    return Identity(EXAMPLE, subject, name, frozenset(groups), sid)


def test_person_of_an_issuer_has_the_role_of_today(people: People) -> None:
    first = people.sign_in_by(vouched("1", "staff", "on-call"), LAPTOP)
    again = people.sign_in_by(vouched("1", "staff", name="Ada King"), PHONE)

    assert first.session.person.role is Role.OPERATOR
    assert people.actor(first.session.session_id).role is Role.VIEWER
    assert (again.session.person.person_id, again.session.person.name) == (
        first.session.person.person_id,
        "Ada",
    )
    with pytest.raises(NotAllowed, match="none of your groups at Example has a role here"):
        people.sign_in_by(vouched("1", "visitors"), LAPTOP)


@ON_BOTH
def test_person_of_an_issuer_takes_nobody_elses_place(
    people: People, fake_clock: FakeClock
) -> None:
    ours = joined(people, fake_clock, "Ada", Role.ADMIN)
    theirs = people.sign_in_by(vouched("1", "staff"), LAPTOP)
    third = people.sign_in_by(vouched("2", "staff"), LAPTOP)
    nameless = people.sign_in_by(vouched("3", "staff", name=" "), LAPTOP)

    names = [each.session.person.name for each in (ours, theirs, third, nameless)]
    assert names == ["Ada", "Ada #2", "Ada #3", "Example"]
    with pytest.raises(InputError, match="the name or the password is wrong"):
        people.sign_in("Ada #2", PASSWORD, LAPTOP)
    with pytest.raises(InputError, match=r"the groups of 'Ada #2' at .* give the role"):
        people.change_role("Ada #2", Role.ADMIN, root(fake_clock))


def test_issuer_ends_one_session_or_all_of_a_person(people: People, fake_clock: FakeClock) -> None:
    ours = joined(people, fake_clock, "Root", Role.ADMIN)
    laptop = people.sign_in_by(vouched("1", "staff", sid="a"), LAPTOP)
    phone = people.sign_in_by(vouched("1", "staff", sid="b"), PHONE)
    other = people.sign_in_by(vouched("2", "staff", sid="a-2"), PHONE)

    people.end_sessions_at(EXAMPLE, None, "a")
    assert people.session(laptop.secret) is None
    assert people.session(phone.secret) is not None

    people.end_sessions_at(EXAMPLE, "1", None)
    assert people.session(phone.secret) is None
    assert people.session(other.secret) is not None
    assert people.session(ours.secret) is not None


def test_disabled_person_of_an_issuer_stays_out(people: People, fake_clock: FakeClock) -> None:
    joined(people, fake_clock, "Root", Role.ADMIN)
    people.sign_in_by(vouched("1", "staff"), LAPTOP)
    people.disable("Ada", root(fake_clock))

    with pytest.raises(NotAllowed, match="your account is disabled"):
        people.sign_in_by(vouched("1", "on-call"), LAPTOP)
    people.enable("Ada", root(fake_clock))
    with pytest.raises(InputError, match="has no password here"):
        people.invite("Ada", Role.ADMIN, root(fake_clock))


def test_removed_person_of_an_issuer_begins_anew(people: People, fake_clock: FakeClock) -> None:
    joined(people, fake_clock, "Root", Role.ADMIN)
    first = people.sign_in_by(vouched("1", "staff"), LAPTOP)
    people.remove("Ada", root(fake_clock))
    again = people.sign_in_by(vouched("1", "staff"), LAPTOP)

    assert people.session(first.secret) is None
    assert again.session.person.person_id != first.session.person.person_id
