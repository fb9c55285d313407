"""Hosts that pages answer for, and the address at which people open them."""

from __future__ import annotations

import pytest

from dashboard.domain.hosts_and_ip_addresses import AllowedHosts, is_public, origin_authority

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


@pytest.mark.parametrize(
    "text",
    ["8.8.8.8", "93.184.215.14", "2606:2800:220:1:248:1893:25c8:1946", "64:ff9b::808:808"],
)
def test_address_of_the_internet_is_public(text: str) -> None:
    assert is_public(text)


@pytest.mark.parametrize(
    "text",
    [
        "127.0.0.1",
        "0.0.0.0",  # noqa: S104 - nothing listens there
        "10.1.2.3",
        "172.16.0.1",
        "172.31.255.255",
        "192.168.1.1",
        "169.254.169.254",
        "100.100.100.200",
        "168.63.129.16",
        "192.0.0.192",
        "198.18.0.1",
        "224.0.0.1",
        "255.255.255.255",
        "::1",
        "::",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "::127.0.0.1",
        "64:ff9b::7f00:1",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::8.8.8.8",
        "2002:7f00:1::",
        "2001:0:7f00:1::",
        "2001:db8::1",
        "3fff::1",
        "fc00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%eth0",
        "2606:2800:220:1::1%eth0",
        "fec0::1",
        "ff02::1",
        "5f00::1",
    ],
)
def test_address_of_this_machine_a_network_or_a_cloud_is_not_public(text: str) -> None:
    assert not is_public(text)


@pytest.mark.parametrize("text", ["", "localhost", "2130706433", "0x7f.1", "0177.0.0.1", "127.1"])
def test_what_is_no_address_is_not_public(text: str) -> None:
    assert not is_public(text)
