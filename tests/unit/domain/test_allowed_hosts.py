"""Hosts that pages answer for, and origins that may call."""

from __future__ import annotations

import pytest

from dashboard.domain.allowed_hosts import AllowedHosts, origin_authority

OURS = AllowedHosts(
    frozenset({"watch.example", "localhost", "192.0.2.7"}),
    frozenset({"https://wallet.example", "http://localhost:9000"}),
)


def refusal(host: str, origin: str | None = None) -> str | None:
    headers = [(b"accept", b"*/*"), (b"host", host.encode()), (b"user-agent", b"a browser")]
    return OURS.refusal([*headers, *([(b"origin", origin.encode())] if origin else [])])


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "localhost:8501",
        "LocalHost.:8501",
        "127.0.0.1:8501",
        "127.8.0.1",
        "[::1]:8501",
        "192.168.1.4:8501",
        "watch.example",
        "Watch.Example:8443",
    ],
)
def test_own_names_and_addresses_in_digits_are_allowed(host: str) -> None:
    assert refusal(host) is None


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8501",
        "localhost.evil.example",
        "evil-localhost",
        "sub.watch.example",
        "watch.example.evil.example",
        "127.0.0.1.evil.example",
        "127.0.0.1@evil.example",
        "2130706433",
        "localhost:x",
        "local\x00host",
        "",
    ],
)
def test_any_other_name_is_refused_and_named(host: str) -> None:
    assert refusal(host) == f"Nothing is served under the name {host!a}."


@pytest.mark.parametrize("count", [0, 2])
def test_request_without_exactly_one_host_is_refused(count: int) -> None:
    assert OURS.refusal([(b"host", b"localhost")] * count) is not None


@pytest.mark.parametrize(
    ("host", "origin"),
    [
        ("127.0.0.1:8501", "http://127.0.0.1:8501"),
        ("localhost:8501", "http://LOCALHOST:8501"),
        ("watch.example:8443", "https://watch.example:8443"),
        ("127.0.0.1:8501", "http://localhost:9000"),
        ("127.0.0.1:8501", "https://wallet.example"),
        ("127.0.0.1:8501", "https://Wallet.example"),
    ],
)
def test_pages_of_our_own_may_call(host: str, origin: str) -> None:
    assert refusal(host, origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "http://127.0.0.1",
        "http://127.0.0.1:3000",
        "http://localhost:8501",
        "http://localhost:3000",
        "http://192.0.2.7:3000",
        "https://watch.example",
        "http://wallet.example",
        "https://wallet.example.evil.example",
        "null",
        "file://",
        "http://127.0.0.1:8501/",
        "http://127.0.0.1:8501@evil.example",
    ],
)
def test_pages_of_others_may_not_call(origin: str) -> None:
    said = refusal("127.0.0.1:8501", origin)

    assert said == f"Calls from {origin!a} are not accepted."


def test_other_scheme_of_a_listed_origin_is_another_site() -> None:
    assert refusal("localhost:9000", "https://localhost:9000") is not None


def test_every_page_may_call_where_that_is_configured_but_only_by_our_names() -> None:
    anyone = AllowedHosts(origins=frozenset({"*"}))

    ours = anyone.refusal([(b"host", b"localhost"), (b"origin", b"http://evil.example")])
    rebound = anyone.refusal([(b"host", b"evil.example"), (b"origin", b"http://evil.example")])

    assert ours is None
    assert rebound is not None


def test_refusal_is_one_short_line() -> None:
    said = refusal("a\r\nb\x1b[31m" + "\xff" * 5_000)

    assert said is not None
    assert said.isprintable()
    assert len(said) < 500


@pytest.mark.parametrize(
    ("origin", "authority"),
    [("https://watch.example:8443", "watch.example:8443"), ("null", None), ("file://x", None)],
)
def test_authority_of_an_origin_is_what_follows_its_scheme(
    origin: str, authority: str | None
) -> None:
    assert origin_authority(origin) == authority
