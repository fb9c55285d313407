"""Hosts in settings: found in addresses, whatever else those hold."""

from __future__ import annotations

import pytest

from dashboard.settings.values import host_of, origin_of


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://Watch.example/linewatch/", "watch.example"),
        ("https://watch.example.", "watch.example"),
        ("http://127.0.0.1:8501", "127.0.0.1"),
        ("wss://user:password@[::1]:8546/path", "::1"),
        ("http://watch.example:0", None),
        ("http://watch.example:65536", None),
        ("http://[::1", None),
        ("http://.", None),
        ("not a url", None),
        ("", None),
    ],
)
def test_host_of_an_address_is_found(url: str, host: str | None) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("url", "origin"),
    [
        ("https://Watch.example/linewatch/", "https://watch.example"),
        ("HTTPS://watch.example:443", "https://watch.example"),
        ("http://localhost:9000/", "http://localhost:9000"),
        ("http://[::1]:443", "http://[::1]:443"),
    ],
)
def test_origin_of_an_address_is_what_browsers_send(url: str, origin: str) -> None:
    assert origin_of(url) == origin
