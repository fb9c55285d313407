"""Keys: which are accepted, and that only digests are held."""

from __future__ import annotations

import base64

import pytest

from dashboard.domain.people.access import ApiKey
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import Secret
from dashboard.errors import InputError
from dashboard.serve.keys.key_ring import KeyRing, basic_credentials

WALLETS = ApiKey.of("wallets", Secret("k3y-of-wallets"), Secret("s3cret"))
NODES = ApiKey.of("nodes", Secret("k3y-of-nodes"), network_ids=[NetworkId(59144)])
RING = KeyRing([WALLETS, NODES])


def test_key_ring_finds_a_key_by_its_exact_text() -> None:
    assert RING.find("k3y-of-wallets") is WALLETS


@pytest.mark.parametrize(
    "text", ["", "K3Y-OF-WALLETS", "k3y-of-wallets ", "wallets", "s3cret", "\ud800", "🗝"]
)
def test_key_ring_finds_nobody_for_other_text(text: str) -> None:
    assert RING.find(text) is None


def test_key_ring_finds_a_key_with_its_secret() -> None:
    assert RING.find_with_secret("k3y-of-wallets", "s3cret") is WALLETS


@pytest.mark.parametrize(
    ("key", "secret"),
    [
        ("k3y-of-wallets", "S3CRET"),
        ("k3y-of-wallets", ""),
        ("unknown", "s3cret"),
        ("k3y-of-nodes", ""),
        ("k3y-of-nodes", "s3cret"),
    ],
)
def test_key_ring_refuses_a_secret_that_does_not_belong(key: str, secret: str) -> None:
    assert RING.find_with_secret(key, secret) is None


def test_key_ring_refuses_one_key_under_two_names() -> None:
    twin = ApiKey.of("twin", Secret("k3y-of-nodes"))

    with pytest.raises(InputError, match="'nodes' and 'twin' have the same API key"):
        KeyRing([NODES, twin])


def test_api_key_shows_nothing_that_lets_anybody_in() -> None:
    assert "k3y" not in repr(WALLETS)
    assert "s3cret" not in repr(WALLETS)


def _basic(text: str) -> str:
    return "Basic " + base64.b64encode(text.encode()).decode()


@pytest.mark.parametrize(
    ("header", "credentials"),
    [
        (_basic("user:pass"), ("user", "pass")),
        (_basic("user:pa:ss"), ("user", "pa:ss")),
        (_basic("user:"), ("user", "")),
        (_basic("user:pass").replace("Basic", "bAsIc"), ("user", "pass")),
        (_basic("user"), None),
        ("Basic", None),
        ("Basic !!!", None),
        ("Basic " + base64.b64encode(b"\xff:\xff").decode(), None),
        ("Bearer abc", None),
        ("", None),
        (None, None),
    ],
)
def test_basic_header_is_read_or_passed_over(
    header: str | None, credentials: tuple[str, str] | None
) -> None:
    assert basic_credentials(header) == credentials
