"""Addresses that are public, and those that belong to one client."""

from __future__ import annotations

import pytest

from dashboard.domain.ip_addresses import client_prefix, is_public


@pytest.mark.parametrize(
    ("one", "other", "is_same"),
    [
        ("10.0.0.1", "10.0.0.2", False),
        ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9", True),
        ("2001:db8:1:2::1", "2001:db8:1:3::1", False),
        ("192.0.2.1", "::ffff:192.0.2.1", True),
        ("192.0.2.1", "::ffff:192.0.2.2", False),
        ("no address", "no address", True),
    ],
)
def test_network_is_one_client(one: str, other: str, is_same: bool) -> None:  # noqa: FBT001 - a column of the table
    assert (client_prefix(one) == client_prefix(other)) is is_same


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
