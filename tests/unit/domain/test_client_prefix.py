"""Addresses that belong to one client, and those of two."""

from __future__ import annotations

import pytest

from dashboard.domain.hosts_and_ip_addresses import client_prefix


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
