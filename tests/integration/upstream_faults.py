"""What an HTTP upstream may do wrong, and the error that each becomes."""

from __future__ import annotations

import gzip
from datetime import timedelta

from dashboard.errors import (
    UpstreamError,
    UpstreamRefused,
    UpstreamThrottled,
    UpstreamUnavailable,
    UpstreamUnreadable,
)
from tests.integration.faulty_upstreams import (
    IMPATIENCE,
    PATIENCE,
    Behaviour,
    dripping,
    endless,
    hanging_up,
    replying,
    resetting,
    silent,
)

LIMIT = 64 * 1024
HTML = b"<!doctype html><title>Sign in</title>"

MISBEHAVIOURS: dict[str, tuple[Behaviour, type[UpstreamError], str]] = {
    "silent": (silent, UpstreamUnavailable, "no answer within 0.15 s"),
    "slow drip": (dripping, UpstreamUnavailable, "no answer within 0.15 s"),
    "reset": (resetting, UpstreamUnavailable, "no answer: it was cut off"),
    "cut off": (hanging_up, UpstreamUnavailable, "no answer: it was cut off"),
    "no HTTP": (replying("what"), UpstreamUnavailable, "no answer: .* not HTTP"),
    "endless": (endless, UpstreamUnreadable, "larger than 65536 bytes"),
    "too large": (replying("200 OK", b" " * (LIMIT + 1)), UpstreamUnreadable, "larger than"),
    "html": (
        replying("200 OK", HTML, {"Content-Type": "text/html; charset=utf-8"}),
        UpstreamUnreadable,
        "something other than JSON",
    ),
    "compressed": (
        replying("200 OK", gzip.compress(b" " * 10**6), {"Content-Encoding": "gzip"}),
        UpstreamUnreadable,
        "compressed",
    ),
    "400": (replying("400 Bad Request", b"{}"), UpstreamRefused, "does not support this network"),
    "401": (replying("401 Unauthorized", b"{}"), UpstreamRefused, "check the API key"),
    "402": (replying("402 Payment Required"), UpstreamRefused, "quota"),
    "403": (replying("403 Forbidden", b"{}"), UpstreamRefused, "settings of the API key"),
    "404": (replying("404 Not Found", HTML), UpstreamRefused, "check the address"),
    "408": (replying("408 Request Timeout"), UpstreamUnavailable, "HTTP 408"),
    "413": (replying("413 Content Too Large"), UpstreamRefused, "HTTP 413"),
    "429": (replying("429 Too Many Requests", b"{}"), UpstreamThrottled, "asked too often"),
    "500": (replying("500 Oops", b"{}"), UpstreamUnavailable, "HTTP 500"),
    "502 with html": (
        replying("502 Bad Gateway", HTML, {"Content-Type": "text/html"}),
        UpstreamUnavailable,
        "HTTP 502",
    ),
    "redirect": (
        replying("302 Found", b"", {"Location": "http://127.0.0.1:9/elsewhere"}),
        UpstreamRefused,
        "redirect",
    ),
}


def patience_with(case: str) -> timedelta:
    """Wait long for what will come, as the machine may be busy, and briefly for what will not."""
    return IMPATIENCE if case in {"silent", "slow drip"} else PATIENCE
