"""Signed links: what was signed comes back, anything else is refused, and they end."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.signed_link import LinkFault, LinkPurpose, SignedLink, read_link, sign
from tests.builders import A_MOMENT, an_id, seconds

KEY = b"k" * 32
LINK = SignedLink(
    LinkPurpose.ACKNOWLEDGE,
    Recipient("mail", "ops@example.org"),
    A_MOMENT + seconds(60),
    an_id(7),
)


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
