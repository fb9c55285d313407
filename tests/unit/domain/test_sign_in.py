"""Passwords: which are taken, and how often one may be tried."""

from __future__ import annotations

from datetime import timedelta
from ipaddress import ip_network

import pytest
from msgspec.structs import replace

from dashboard.domain.people.access import Role
from dashboard.domain.people.sign_in import (
    AttemptThrottle,
    Issuer,
    Proxy,
    SignInPolicy,
    bare_code,
    recovery_code,
    refuse_weak_password,
)
from dashboard.domain.secret import Secret
from dashboard.errors import InputError
from tests.builders import A_MOMENT, seconds


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "too short"),
        ("eleven char", "too short"),
        ("x" * 201, "too long"),
        ("abcabcabcabcabc", "repeats"),
        ("xx ADA is great", "your name"),
    ],
)
def test_password_that_is_easily_guessed_is_refused(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        refuse_weak_password(Secret(text), "Ada")


def test_long_password_is_taken() -> None:
    refuse_weak_password(Secret("twelve chars"), "Ada")
    refuse_weak_password(Secret("w1der" * 40), "Ada")
    refuse_weak_password(Secret("correct horse battery"), "Bo")
    refuse_weak_password(Secret("correct horse battery"), "a")


def test_sixth_wrong_password_has_to_wait_a_minute() -> None:
    throttle = AttemptThrottle()
    for _ in range(5):
        throttle.attempt("ada", "192.0.2.1", A_MOMENT)

    with pytest.raises(InputError, match="try again in 60 seconds"):
        throttle.attempt("ada", "192.0.2.1", A_MOMENT)
    throttle.attempt("ada", "192.0.2.1", A_MOMENT + seconds(60))


def test_strangers_elsewhere_do_not_keep_a_person_out() -> None:
    throttle = AttemptThrottle()
    for _ in range(5):
        throttle.attempt("ada", "198.51.100.1", A_MOMENT)

    throttle.attempt("ada", "192.0.2.1", A_MOMENT)


def test_success_forgets_failures_and_costs_nothing() -> None:
    throttle = AttemptThrottle()
    for _ in range(200):
        throttle.attempt("ada", "192.0.2.1", A_MOMENT)
        throttle.succeeded("ada", "192.0.2.1")
    for _ in range(5):
        throttle.attempt("ada", "192.0.2.1", A_MOMENT)
    throttle.succeeded("ada", "192.0.2.1")

    for _ in range(5):
        throttle.attempt("ada", "192.0.2.1", A_MOMENT)


def test_many_addresses_guess_one_name_at_most_fifty_times_at_once() -> None:
    throttle = AttemptThrottle()
    for number in range(50):
        throttle.attempt("ada", f"192.0.2.{number}", A_MOMENT)

    with pytest.raises(InputError, match="try again in 30 seconds"):
        throttle.attempt("ada", "192.0.2.50", A_MOMENT)


def test_one_address_guesses_many_names_at_most_a_hundred_times_at_once() -> None:
    throttle = AttemptThrottle()
    for number in range(100):
        throttle.attempt(f"name {number}", "192.0.2.1", A_MOMENT)

    with pytest.raises(InputError, match="try again in 5 seconds"):
        throttle.attempt("ada", "192.0.2.1", A_MOMENT)


def test_codes_of_a_name_are_tried_ten_times_at_once_from_anywhere() -> None:
    throttle = AttemptThrottle()
    for number in range(10):
        throttle.attempt_code("ada", f"192.0.2.{number}", A_MOMENT)

    with pytest.raises(InputError, match="too many wrong codes: try again in 900 seconds"):
        throttle.attempt_code("ada", "192.0.2.10", A_MOMENT)
    throttle.attempt("ada", "192.0.2.10", A_MOMENT)
    throttle.succeeded("ada", "192.0.2.10")
    with pytest.raises(InputError, match="too many wrong codes"):
        throttle.attempt_code("ada", "192.0.2.10", A_MOMENT)
    throttle.succeeded("ada", "192.0.2.10", by_code=True)
    throttle.attempt_code("ada", "192.0.2.10", A_MOMENT)


def test_flood_from_many_networks_makes_no_room_for_more_codes() -> None:
    throttle = AttemptThrottle()
    for number in range(10):
        throttle.attempt_code("ada", f"192.0.2.{number}", A_MOMENT)
    for number in range(10_001):
        throttle.attempt(f"name {number}", f"2001:db8:0:{number:x}::1", A_MOMENT)

    with pytest.raises(InputError, match="too many wrong codes: try again in 900 seconds"):
        throttle.attempt_code("ada", "192.0.2.10", A_MOMENT)


def test_all_addresses_of_a_network_of_ipv6_are_one() -> None:
    throttle = AttemptThrottle()
    for number in range(5):
        throttle.attempt("ada", f"2001:db8::{number}", A_MOMENT)

    with pytest.raises(InputError, match="try again in 60 seconds"):
        throttle.attempt("ada", "2001:db8::ffff", A_MOMENT)
    throttle.attempt("ada", "2001:db8:0:1::1", A_MOMENT)


def test_address_asks_for_a_passkey_a_hundred_times_at_once() -> None:
    throttle = AttemptThrottle()
    for _ in range(101):
        throttle.attempt_passkey("192.0.2.1", A_MOMENT)
        throttle.passkey_succeeded("192.0.2.1")
    for _ in range(100):
        throttle.attempt_passkey("192.0.2.1", A_MOMENT)

    with pytest.raises(InputError, match="too many attempts: try again in 5 seconds"):
        throttle.attempt_passkey("192.0.2.1", A_MOMENT)
    throttle.attempt_passkey("192.0.2.2", A_MOMENT)


def test_flood_of_passkeys_keeps_no_password_out_and_the_other_way_round() -> None:
    throttle = AttemptThrottle()
    for number in range(100):
        throttle.attempt_passkey("192.0.2.1", A_MOMENT)
        throttle.attempt(f"name {number}", "192.0.2.2", A_MOMENT)

    throttle.attempt("ada", "192.0.2.1", A_MOMENT)
    throttle.attempt_passkey("192.0.2.2", A_MOMENT)


def test_all_addresses_ask_for_passkeys_a_thousand_times_at_once() -> None:
    throttle = AttemptThrottle()
    for number in range(1_000):
        throttle.attempt_passkey(f"192.0.2.{number // 4}", A_MOMENT)

    with pytest.raises(InputError, match="too many attempts: try again in 1 second"):
        throttle.attempt_passkey("198.51.100.1", A_MOMENT)
    throttle.attempt_passkey("198.51.100.1", A_MOMENT + seconds(1))


@pytest.mark.parametrize("typed", ["{}", " {} ", "{}\n", "lower"])
def test_recovery_code_is_compared_however_it_is_typed(typed: str) -> None:
    code = recovery_code(bytes(range(10)))

    assert code == "AAAQ-EAYE-AUDA-OCAJ"
    written = code.lower().replace("-", " ") if typed == "lower" else typed.format(code)
    assert bare_code(written) == "AAAQEAYEAUDAOCAJ"


def test_attempts_of_strangers_take_bounded_memory() -> None:
    throttle = AttemptThrottle()
    throttle.attempt("ada", "192.0.2.1", A_MOMENT)
    throttle.attempt_code("ada", "192.0.2.1", A_MOMENT)
    for number in range(15_000):
        throttle.attempt(f"name {number}", f"address {number}", A_MOMENT + timedelta(1))

    throttle.succeeded("ada", "192.0.2.1")  # although it is not remembered any more
    assert throttle.remembered <= 30_000


@pytest.mark.parametrize(
    ("groups", "role"),
    [
        ((), None),
        (("visitors",), None),
        (("staff",), Role.VIEWER),
        (("staff", "on-call", "visitors"), Role.OPERATOR),
        (("*",), None),
    ],
)
def test_highest_role_of_the_groups_counts(groups: tuple[str, ...], role: Role | None) -> None:
    roles = {"staff": Role.VIEWER, "on-call": Role.OPERATOR}
    strict = Issuer("id", "ID", "https://id", "us", Secret(""), "openid", "groups", roles)
    open_to_all = replace(strict, roles={**roles, "*": Role.VIEWER})

    assert strict.role_of(groups) is role
    assert open_to_all.role_of(groups) is (role or Role.VIEWER)


PROXY = Proxy(
    (ip_network("10.0.0.5"), ip_network("2001:db8::/64")),
    "remote-user",
    "remote-groups",
    "|",
    {"on-call": Role.OPERATOR},
)


@pytest.mark.parametrize(
    ("peer", "is_there"),
    [
        ("10.0.0.5", True),
        ("::ffff:10.0.0.5", True),
        ("2001:db8::7", True),
        ("10.0.0.6", False),
        ("::ffff:10.0.0.6", False),
        ("2001:db8:0:1::7", False),
        ("10.0.0.5, 10.0.0.6", False),
        ("", False),
    ],
)
def test_proxy_is_where_its_networks_are(peer: str, is_there: bool) -> None:  # noqa: FBT001 - a column of the table
    assert PROXY.is_at(peer) is is_there


def test_proxy_names_a_person_and_their_groups() -> None:
    sent = [(b"remote-user", b" ada\t"), (b"remote-groups", b"staff | on-call||a,b")]
    found = PROXY.identity(sent)
    without_groups = replace(PROXY, groups_header="").identity(sent)

    assert found is not None
    assert (found.subject, found.name) == ("ada", "ada")
    assert found.groups == {"staff", "on-call", "a,b"}
    assert PROXY.role_of(found.groups) is Role.OPERATOR
    assert without_groups is not None
    assert without_groups.groups == frozenset()
    assert PROXY.identity([(b"remote-user", b"a" * 250)]) is not None


@pytest.mark.parametrize("sent", [[], [(b"remote-user", b"")], [(b"remote_user", b"ada")]])
def test_proxy_that_sends_no_name_names_nobody(sent: list[tuple[bytes, bytes]]) -> None:
    assert PROXY.identity([*sent, (b"remote-groups", b"on-call")]) is None


@pytest.mark.parametrize(
    ("values", "why"),
    [
        ([b"ada", b"ada"], "came 2 times"),
        ([b"ada, root"], "is a list"),
        ([b"a" * 251], "longer than 250"),
        ([b"a" * 4_001], "longer than 4000"),
        ([b"\xff"], "not UTF-8"),
        ([b"a\x7fda"], "cannot be printed"),
        (["a\u202eda".encode()], "cannot be printed"),
    ],
)
def test_name_that_may_be_forged_is_none(values: list[bytes], why: str) -> None:
    with pytest.raises(InputError, match=why):
        PROXY.identity([(b"remote-user", value) for value in values])


def test_only_ways_that_are_configured_let_anybody_in() -> None:
    ways = (None, "proxy", "https://id.example")
    issuer = Issuer("id", "ID", ways[2], "us", Secret(""), "openid", "groups", {})
    closed = SignInPolicy(seconds(60), seconds(60), accounts=False)
    accounts = replace(closed, accounts=True)
    proxied = replace(closed, proxy=PROXY)
    issued = replace(closed, issuers={"id": issuer})

    let_in = [[each.lets_in(way) for way in ways] for each in (closed, accounts, proxied, issued)]

    assert let_in == [
        [False, False, False],
        [True, False, False],
        [False, True, False],
        [False, False, True],
    ]
