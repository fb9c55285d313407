"""API keys, secrets and signed links: read as written, refused where they are not."""

from __future__ import annotations

import copy
import json
import pickle
import traceback

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.signed_link import LinkFault, LinkPurpose, SignedLink, read_link, sign
from dashboard.domain.people.access import (
    NO_KEYS,
    UNLIMITED,
    ApiKey,
    KeyLimits,
    digest,
    format_rate,
    parse_key_name,
    parse_rate,
)
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import MASK, Secret, holds_login, quotes
from dashboard.errors import InputError
from tests.builders import A_MOMENT, an_id, seconds


@pytest.mark.parametrize(
    ("text", "rate"), [("50/s", 50), ("600/m", 10), ("1800/h", 0.5), ("none", UNLIMITED)]
)
def test_rate_is_read_as_calls_a_second(text: str, rate: float) -> None:
    assert parse_rate(text) == rate


@pytest.mark.parametrize(
    "text", ["", "50", "0/s", "-1/s", "50/d", "1.5/s", "50 /s", "\u0665/s", "1e9/s"]
)
def test_text_that_is_no_rate_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(InputError, match="such as 50/s, or none"):
        parse_rate(text)


@given(st.integers(1, 10**9 - 1), st.sampled_from("smh"))
def test_rate_that_is_written_is_read_as_the_same(calls: int, unit: str) -> None:
    rate = parse_rate(f"{calls}/{unit}")

    assert parse_rate(format_rate(rate)) == pytest.approx(rate)


@pytest.mark.parametrize(
    ("rate", "text"), [(UNLIMITED, "none"), (50.0, "50/s"), (0.5, "30/m"), (1 / 7, "0.143/s")]
)
def test_rate_is_written_in_whole_calls_where_it_can_be(rate: float, text: str) -> None:
    assert format_rate(rate) == text


@pytest.mark.parametrize(
    ("limits", "default", "in_force"),
    [
        (KeyLimits(), 5000.0, (5000.0, 5000)),
        (KeyLimits(), UNLIMITED, (None, None)),
        (KeyLimits(requests_per_second=UNLIMITED), 5000.0, (None, None)),
        (KeyLimits(requests_per_second=2.5), 5000.0, (2.5, 10)),
        (KeyLimits(requests_per_second=20.5), UNLIMITED, (20.5, 21)),
        (KeyLimits(requests_per_second=2.5, burst=3), UNLIMITED, (2.5, 3)),
        (KeyLimits(burst=3), 50.0, (50.0, 3)),
        (KeyLimits(burst=3), UNLIMITED, (None, None)),
    ],
)
def test_rate_in_force_is_the_keys_own_or_that_of_all(
    limits: KeyLimits, default: float, in_force: tuple[float | None, int | None]
) -> None:
    assert limits.rate_in_force(default) == in_force


@pytest.mark.parametrize("name", ["wallet", "node-1", "a.b_c", "7", "x" * 64])
def test_name_of_a_key_is_taken_as_it_is(name: str) -> None:
    assert parse_key_name(name) == name


@pytest.mark.parametrize("name", ["", "-x", "a b", "a/b", "é", "x" * 65, "a\nb", "\u202eevil"])
def test_name_that_would_hide_in_a_list_is_refused_as_printable_text(name: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_key_name(name)

    assert str(refused.value).isprintable()
    assert "64 letters, digits" in str(refused.value)


WALLETS = ApiKey.of("wallets", Secret("k3y-of-wallets"), Secret("s3cret"))
NODES = ApiKey.of("nodes", Secret("k3y-of-nodes"), network_ids=[NetworkId(59144)])


def test_stored_key_without_a_rate_has_no_limit_unless_the_settings_give_one() -> None:
    assert KeyLimits().rate_in_force(NO_KEYS.default_rate) == (None, None)


def test_key_is_known_by_a_digest_of_its_own() -> None:
    digests = {WALLETS.key_digest, WALLETS.secret_digest, NODES.key_digest}

    assert WALLETS.key_digest == digest("k3y-of-wallets")
    assert {each and len(each) for each in digests} == {32}
    assert len(digests) == 3


def test_key_opens_every_network_unless_some_are_named() -> None:
    assert WALLETS.opens(NetworkId(1))
    assert NODES.opens(NetworkId(59144))
    assert not NODES.opens(NetworkId(1))


@pytest.mark.parametrize("text", ["", "with/slash", "with:colon"])
def test_key_that_no_client_could_present_is_refused_unshown(text: str) -> None:
    with pytest.raises(InputError) as caught:
        ApiKey.of("odd", Secret(text))

    assert "'odd'" in str(caught.value)
    assert not text or text not in str(caught.value)


def test_limits_of_a_key_are_those_in_force() -> None:
    limits = KeyLimits(frozenset({NetworkId(5)}), frozenset({"subscribe"}), may_report=False)

    limited = WALLETS.limited(limits, default_rate=2.5)

    assert (limited.name, limited.key_digest) == (WALLETS.name, WALLETS.key_digest)
    assert (limited.network_ids, limited.methods) == (limits.network_ids, limits.methods)
    assert (limited.requests_per_second, limited.burst, limited.may_report) == (2.5, 10, False)


def test_secret_reveals_its_text_on_purpose_only() -> None:
    secret = Secret("hunter2")

    assert secret.reveal() == "hunter2"
    assert {str(secret), repr(secret), f"{secret}", f"{secret!r}", f"{secret:>3}"} == {MASK}
    assert "hunter2" not in str({"key": [secret]})
    with pytest.raises(ValueError, match=MASK) as caught:
        raise ValueError(secret)
    assert "hunter2" not in "".join(traceback.format_exception(caught.value))
    for write in (pickle.dumps, copy.copy):
        with pytest.raises(TypeError, match="not pickled"):
            write(secret)
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps(secret)


def test_secrets_are_compared_by_their_texts() -> None:
    assert Secret("a") == Secret("a")
    assert Secret("a") != Secret("b")
    assert Secret("a") != "a"
    assert len({Secret("a"), Secret("a"), Secret("b")}) == 2
    assert Secret("a")
    assert not Secret("")


KEY = b"k" * 32
LINK = SignedLink(
    LinkPurpose.ACKNOWLEDGE,
    Recipient("mail", "ops@example.org"),
    A_MOMENT + seconds(60),
    an_id(7),
)


@settings(max_examples=25)
@given(
    st.builds(
        SignedLink,
        st.sampled_from(LinkPurpose),
        st.builds(Recipient, st.text(max_size=40), st.text(max_size=100)),
        st.just(A_MOMENT + seconds(1)),
        st.none() | st.uuids(),
    )
)
def test_link_comes_back_as_it_was_signed(link: SignedLink) -> None:
    assert read_link(sign(link, KEY), KEY, A_MOMENT) == link


def test_link_is_the_same_at_every_attempt_and_fits_into_an_address() -> None:
    text = sign(LINK, KEY)

    assert text == sign(LINK, KEY)
    assert set(text) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.")


def test_link_ends_at_its_moment() -> None:
    text = sign(LINK, KEY)

    assert read_link(text, KEY, LINK.expires_at - seconds(1)) == LINK
    assert read_link(text, KEY, LINK.expires_at) is LinkFault.EXPIRED


def test_link_of_another_key_is_forged() -> None:
    assert read_link(sign(LINK, b"other" * 8), KEY, A_MOMENT) is LinkFault.FORGED


@given(st.integers(min_value=0), st.characters(codec="ascii"))
def test_link_with_another_character_is_forged(place: int, other: str) -> None:
    text = sign(LINK, KEY)
    place %= len(text)
    changed = text[:place] + other + text[place + 1 :]

    answer = read_link(changed, KEY, A_MOMENT)

    assert answer is LinkFault.FORGED or changed == text


@pytest.mark.parametrize("text", ["", ".", "a.b", "é" * 50, "a" * 5000, f"{'a' * 9}.{'é' * 43}"])
def test_what_is_no_link_is_forged(text: str) -> None:
    assert read_link(text, KEY, A_MOMENT) is LinkFault.FORGED


@pytest.mark.parametrize(
    ("text", "is_found"),
    [
        ("it said k3y-0123/456789ab", True),
        ("k3y-0123%2F456789ab", True),
        ("cut off: 3y-0123/4567", True),
        ("cut off: k3y-0123/45", False),
        ("its end: 123/456789ab", True),
        ("Basic bWU6azN5LTAxMjMvNDU2Nzg5YWI=", True),
        ("v1 \ud800", False),
    ],
)
def test_text_that_repeats_a_secret_or_gives_it_away_is_found(text: str, *, is_found: bool) -> None:
    assert quotes(text, ["", "v1", "k3y-0123/456789ab"]) is is_found
    assert quotes(text, ["k3y-0123%2f456789ab"]) is is_found


@pytest.mark.parametrize(("secret", "is_found"), [("k3y-01", True), ("k3y-0", False)])
def test_secret_of_six_characters_is_searched_for(secret: str, *, is_found: bool) -> None:
    assert quotes(f"unknown key {secret}", [secret]) is is_found


def test_address_with_a_login_is_told_from_a_mail_address() -> None:
    assert holds_login("https://me:word@host.example/")
    assert not holds_login("Ops <ops@example.org>")
    assert not holds_login("at 12:30 ops@example.org")
    assert not holds_login(":" * 200_000)
