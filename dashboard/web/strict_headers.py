"""Headers that the pages send with each answer: which scripts may run, and who may frame them."""

from __future__ import annotations

import re
from base64 import b64encode
from hashlib import sha256
from typing import Final

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dashboard.web.files import index_of_pages

_SCRIPT: Final = re.compile(
    r"<script(?P<attributes>[^>]*)>(?P<body>.*?)</script>", re.DOTALL | re.IGNORECASE
)


class StrictHeaders:
    """ASGI middleware that adds Content-Security-Policy and related headers to each response."""

    def __init__(self, app: ASGIApp) -> None:
        """Compute the policy from the index page that this installation serves."""
        self._app = app
        self._headers = {
            "Content-Security-Policy": content_security_policy(index_of_pages()),
            "X-Content-Type-Options": "nosniff",
            "X-Frame-Options": "DENY",
            "Referrer-Policy": "no-referrer",
            "Cross-Origin-Opener-Policy": "same-origin",
            "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything through, with our headers on each response that starts.

        A page with a form of its own sets its own referrer policy: without any referrer, a browser
        names no origin either, and the form would be refused.
        """

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                own_policy = headers.get("Referrer-Policy")
                headers.update(self._headers)
                if own_policy is not None:
                    headers["Referrer-Policy"] = own_policy
            await send(message)

        await self._app(scope, receive, send_with_headers)


def content_security_policy(index_html: str) -> str:
    """Allow this host's own files, and of inline scripts only those of `index_html`, by hash.

    Inline styles stay allowed: Streamlit and Plotly set them on nearly every element. Scripts may
    come from a blob, as Streamlit runs that of our chart: foreign text cannot make one, since only
    a script that already runs on the page can.
    """
    hashes = "".join(f" {_source_hash(body)}" for body in _inline_scripts(index_html))
    return "; ".join(
        [
            "default-src 'none'",
            f"script-src 'self' blob:{hashes}",
            "style-src 'self' 'unsafe-inline'",
            "img-src 'self' data: blob:",
            "font-src 'self' data:",
            "connect-src 'self'",
            "worker-src 'self' blob:",
            "manifest-src 'self'",
            "media-src 'self'",
            "base-uri 'none'",
            "form-action 'self'",
            "frame-ancestors 'none'",
        ]
    )


def _inline_scripts(html: str) -> list[str]:
    return [
        script["body"]
        for script in _SCRIPT.finditer(html)
        if not re.search(r"\bsrc\s*=", script["attributes"], re.IGNORECASE)
    ]


def _source_hash(script: str) -> str:
    return f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
