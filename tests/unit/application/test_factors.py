"""Second factors: codes that work once, and are changed only by who has just proved it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from pyotp import TOTP
from sqlalchemy import select

from dashboard.application.factors import CONFIRMED_FOR, CodeAsked, parse_app_key
from dashboard.application.people import People
from dashboard.application.sessions import Device
from dashboard.domain.people.access import Action, Role
from dashboard.domain.people.sign_in import Identity, Site
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, NotAllowed, NotFound
from dashboard.store import schema
from dashboard.store.access.factors import STEP_LASTS
from dashboard.store.engine.engine import Store
from tests.builders import seconds
from tests.databases import DATABASES
from tests.fake_clock import FakeClock
from tests.unit.application.accounts import (
    EXAMPLE,
    LAPTOP,
    OTHER,
    PASSWORD,
    PHONE,
    acts_in,
    joined,
    people,
    root,
    store,
)

__all__ = ["people", "store"]

SITE = Site("https://watch.example", "watch.example")
STEP = seconds(30)
ON_BOTH = pytest.mark.parametrize("database", DATABASES)


def code_of(key: Secret, clock: FakeClock) -> str:
    return TOTP(key.reveal()).at(clock.now())


def with_app(people: People, clock: FakeClock) -> tuple[UUID, Secret, list[Secret]]:
    """Let Ada have an authenticator app; return her session, the key, and her recovery codes."""
    session = joined(people, clock).session.session_id
    key = people.factors.new_app_key(session)
    codes = people.factors.add_app(session, key, code_of(key, clock))
    clock.wait(STEP)
    return session, key, codes


def asked(people: People, device: Device = PHONE) -> str:
    """Sign in with the right password; return the token that goes on."""
    with pytest.raises(CodeAsked) as more:
        people.sign_in("Ada", PASSWORD, device)
    return more.value.token.reveal()


def test_password_of_who_has_an_app_takes_a_code_as_well(
    people: People, store: Store, fake_clock: FakeClock
) -> None:
    _, key, _ = with_app(people, fake_clock)
    token = asked(people)
    before = len(people.sessions())
    begun = people.factors.finish(token, f" {code_of(key, fake_clock)} ", PHONE)

    assert before == 1
    assert people.session(begun.secret) is not None
    assert acts_in(store)[0] == ("Ada", Action.SIGN_IN, {"device": PHONE.name, "with": "app"})


def test_app_ends_the_sessions_that_a_password_alone_began(
    people: People, fake_clock: FakeClock
) -> None:
    session = joined(people, fake_clock).session.session_id
    thief = people.sign_in("Ada", PASSWORD, PHONE)
    key = people.factors.new_app_key(session)

    people.factors.add_app(session, key, code_of(key, fake_clock))

    assert people.session(thief.secret) is None
    assert [each.session_id for each in people.sessions()] == [session]


@ON_BOTH
def test_code_works_once_and_none_before_it_does(people: People, fake_clock: FakeClock) -> None:
    _, key, _ = with_app(people, fake_clock)
    earlier = code_of(key, fake_clock)
    fake_clock.wait(STEP)
    code = code_of(key, fake_clock)
    people.factors.finish(asked(people), code, PHONE)

    token = asked(people)
    for each in (code, earlier):
        with pytest.raises(InputError, match="used already: wait for the next one"):
            people.factors.finish(token, each, PHONE)
    fake_clock.wait(STEP)
    people.factors.finish(token, code_of(key, fake_clock), PHONE)


def test_code_that_turned_the_app_on_signs_nobody_in(people: People, fake_clock: FakeClock) -> None:
    session = joined(people, fake_clock).session.session_id
    key = people.factors.new_app_key(session)
    code = code_of(key, fake_clock)
    people.factors.add_app(session, key, code)

    with pytest.raises(InputError, match="used already"):
        people.factors.finish(asked(people), code, PHONE)


def test_code_of_long_ago_or_of_another_app_turns_nothing_on(
    people: People, fake_clock: FakeClock
) -> None:
    session = joined(people, fake_clock).session.session_id
    key, other = (people.factors.new_app_key(session) for _ in range(2))
    late = code_of(key, fake_clock)
    fake_clock.wait(2 * STEP)
    for code in (late, code_of(other, fake_clock), "", "x"):
        with pytest.raises(InputError, match="the code is wrong"):
            people.factors.add_app(session, key, code)

    assert people.all()[0].person.factors == []


@ON_BOTH
def test_recovery_code_works_once_and_new_ones_replace_the_old(
    people: People, fake_clock: FakeClock
) -> None:
    session, _, codes = with_app(people, fake_clock)
    typed = codes[0].reveal().lower().replace("-", " ")
    people.factors.finish(asked(people), typed, PHONE)
    new = people.factors.renew_codes(session)

    token = asked(people)
    for each in codes[:2]:
        with pytest.raises(InputError, match="the code is wrong"):
            people.factors.finish(token, each.reveal(), PHONE)
    begun = people.factors.finish(token, new[0].reveal(), PHONE)
    assert people.factors.of(begun.session).recovery_codes == len(new) - 1


def test_store_holds_digests_of_recovery_codes_and_of_tokens(
    people: People, store: Store, fake_clock: FakeClock
) -> None:
    _, key, codes = with_app(people, fake_clock)
    token = asked(people)
    tables = (schema.recovery_codes, schema.sign_in_steps, schema.audit_log, schema.sessions)
    with store.read() as connection:
        dump = str([connection.execute(select(each)).all() for each in tables])

    for secret in (token, key.reveal(), *(each.reveal().replace("-", "") for each in codes)):
        assert secret not in dump


def test_codes_are_guessed_slowly_from_wherever(people: People, fake_clock: FakeClock) -> None:
    _, key, _ = with_app(people, fake_clock)
    token = asked(people)
    for number in range(10):
        with pytest.raises(InputError, match="the code is wrong"):
            people.factors.finish(token, "000000", Device("any", f"203.0.113.{number}"))

    with pytest.raises(InputError, match="too many wrong codes: try again in 900 seconds"):
        people.factors.finish(token, code_of(key, fake_clock), Device("any", "203.0.113.99"))
    fake_clock.wait(timedelta(minutes=15))
    people.factors.finish(asked(people), code_of(key, fake_clock), PHONE)


def test_right_password_forgives_no_wrong_code(people: People, fake_clock: FakeClock) -> None:
    with_app(people, fake_clock)
    for _ in range(2):
        with pytest.raises(InputError, match="the code is wrong"):
            people.factors.finish(asked(people), "000000", PHONE)

    token = asked(people)
    with pytest.raises(InputError, match="too many wrong codes"):
        people.factors.finish(token, "000000", PHONE)


def test_confirming_guesses_no_codes_beyond_those_of_a_sign_in(
    people: People, fake_clock: FakeClock
) -> None:
    session, key, _ = with_app(people, fake_clock)
    for _ in range(2):
        with pytest.raises(InputError, match="the code is wrong"):
            people.confirm(session, PASSWORD, "000000")

    with pytest.raises(InputError, match="too many wrong"):
        people.confirm(session, PASSWORD, code_of(key, fake_clock))


@pytest.mark.parametrize(
    "end",
    [
        lambda _, clock, __: clock.wait(STEP_LASTS),
        lambda people, _, session: people.change_password(session, PASSWORD, OTHER),
        lambda people, clock, _: people.remove("Ada", root(clock)),
        lambda people, clock, _: people.reset_factors("Ada", root(clock)),
    ],
    ids=["time", "another password", "removed", "reset"],
)
def test_sign_in_that_waits_for_its_code_ends(
    people: People, fake_clock: FakeClock, end: Callable[[People, FakeClock, UUID], None]
) -> None:
    session, _, codes = with_app(people, fake_clock)
    token = asked(people)
    end(people, fake_clock, session)

    for each in (token, "made up"):
        with pytest.raises(NotFound, match="begin again"):
            people.factors.finish(each, codes[0].reveal(), PHONE)


def test_token_goes_on_once(people: People, fake_clock: FakeClock) -> None:
    _, _, codes = with_app(people, fake_clock)
    token = asked(people)
    people.factors.finish(token, codes[0].reveal(), PHONE)

    with pytest.raises(NotFound, match="begin again"):
        people.factors.finish(token, codes[1].reveal(), PHONE)


def test_invitation_replaces_the_password_and_not_the_app(
    people: People, fake_clock: FakeClock
) -> None:
    _, key, _ = with_app(people, fake_clock)
    token = people.invite("Ada", Role.VIEWER, root(fake_clock))
    with pytest.raises(CodeAsked) as more:
        people.accept(token.reveal(), OTHER, PHONE)

    assert people.sessions() == []
    people.factors.finish(more.value.token.reveal(), code_of(key, fake_clock), PHONE)


def test_factors_are_changed_only_by_who_proved_a_moment_ago_who_they_are(
    people: People, fake_clock: FakeClock
) -> None:
    session, key, _ = with_app(people, fake_clock)
    fake_clock.wait(CONFIRMED_FOR)
    factors, code = people.factors, code_of(key, fake_clock)
    for act in (
        lambda: factors.new_app_key(session),
        lambda: factors.add_app(session, key, code),
        lambda: factors.remove_app(session),
        lambda: factors.renew_codes(session),
        lambda: factors.ask_for_new_passkey(session, SITE),
        lambda: factors.remove_passkey(session, "1"),
        lambda: people.confirm(session, OTHER, code),
        lambda: people.confirm(session, PASSWORD),
        lambda: people.confirm(session, PASSWORD, "000000"),
    ):
        with pytest.raises(InputError, match=r"type your password|(password|code) is wrong"):
            act()

    fake_clock.wait(timedelta(minutes=5))
    code = code_of(key, fake_clock)
    people.confirm(session, PASSWORD, code)
    with pytest.raises(InputError, match="used already"):
        people.confirm(session, PASSWORD, code)
    factors.remove_app(session)
    people.sign_in("Ada", PASSWORD, PHONE)


@ON_BOTH
def test_admin_resets_the_factors_of_who_lost_one_and_nobody_else_does(
    people: People, store: Store, fake_clock: FakeClock
) -> None:
    session, _, _ = with_app(people, fake_clock)
    with pytest.raises(NotAllowed, match="reset-factors takes the role admin"):
        people.reset_factors("Ada", people.actor(session))
    assert people.all()[0].person.factors == ["app"]
    people.reset_factors("Ada", root(fake_clock))

    assert acts_in(store)[0] == ("root", Action.RESET_FACTORS, {"factors": ["app"]})
    assert people.sessions() == []
    people.sign_in("Ada", PASSWORD, PHONE)


def test_person_of_an_issuer_has_the_factors_of_the_issuer(people: People) -> None:
    begun = people.sign_in_by(Identity(EXAMPLE, "1", "Ada", frozenset({"staff"})), LAPTOP)

    with pytest.raises(InputError, match="your provider asks for second factors"):
        people.factors.new_app_key(begun.session.session_id)


@pytest.mark.parametrize("text", ["", "A" * 31, "a" * 32, "1" * 32, "A" * 8_000])
def test_key_that_is_none_of_ours_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="not from Linewatch"):
        parse_app_key(text)
