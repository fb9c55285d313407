"""The response headers of the pages: what a browser is told to refuse."""

from __future__ import annotations

from starlette.types import Message, Receive, Scope, Send

from dashboard.web.strict_headers import StrictHeaders, content_security_policy

PAGE = '<script type="module" src="./a.js"></script><script>\n  go()\n</script>'
HASH_OF_GO = (
    "'sha256-9tbhQE4KuBxHCTyhSjyQ/CoaLeor+ltiDyltotPTYU0='"  # openssl sha256 -binary | base64
)


def directives(policy: str) -> dict[str, str]:
    """Return the sources of each directive."""
    return dict(part.split(" ", 1) for part in policy.split("; "))


def test_policy_allows_an_inline_script_by_its_hash_only() -> None:
    policy = directives(content_security_policy(PAGE))

    assert policy["script-src"] == f"'self' blob: {HASH_OF_GO}"


def test_policy_refuses_what_it_does_not_name() -> None:
    policy = directives(content_security_policy(PAGE))

    assert policy["default-src"] == "'none'"
    assert policy["frame-ancestors"] == "'none'"


def test_policy_names_no_other_host_and_no_unsafe_script() -> None:
    policy = content_security_policy(PAGE)

    assert "http" not in policy
    assert "*" not in policy
    assert "unsafe-eval" not in policy
    assert "unsafe" not in directives(policy)["script-src"]


async def test_every_response_carries_the_headers() -> None:
    sent: list[Message] = []

    async def app(_scope: Scope, _receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 404, "headers": []})

    async def receive() -> Message:
        return {"type": "http.request"}

    async def keep(message: Message) -> None:
        sent.append(message)

    await StrictHeaders(app)({"type": "http"}, receive, keep)

    names = {name for name, _ in sent[0]["headers"]}
    assert {b"content-security-policy", b"x-content-type-options", b"x-frame-options"} <= names
