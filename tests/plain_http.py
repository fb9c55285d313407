"""Plain HTTP to servers of tests: one request at a time, and patience.

`httpx` alone would read the certificates of the system anew for each request, which takes 25 ms.
"""

from __future__ import annotations

import ssl
from functools import partial
from typing import Any, Final

import httpx

from tests.waiting import PATIENCE

_NO_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def request(verb: str, url: str, **options: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own
    """Send a request over a connection of its own; `options` are those of `httpx.request`."""
    return httpx.request(
        verb, url, verify=_NO_TLS, trust_env=False, **({"timeout": PATIENCE} | options)
    )


get = partial(request, "GET")
post = partial(request, "POST")
put = partial(request, "PUT")
delete = partial(request, "DELETE")
