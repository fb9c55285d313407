"""Webhooks are signed as Standard Webhooks says, and secrets and addresses are read strictly."""

from __future__ import annotations

import base64
from datetime import UTC, datetime

import pytest

from dashboard.alert.channels.http_exchange import parse_target
from dashboard.alert.channels.webhook import parse_signing_secret, signature
from dashboard.domain.secret import Secret
from dashboard.errors import InputError

PUBLISHED = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
"""The secret, the message and the signature that implementations are compared by."""

AT = datetime.fromtimestamp(1614265330, UTC)
BODY = b'{"test": 2432232314}'


def test_signature_is_that_of_other_implementations() -> None:
    signed = signature([parse_signing_secret(PUBLISHED)], "msg_p5jXN8AQM9LWM0D4loKWxJek", AT, BODY)

    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_message_is_signed_with_every_secret_while_one_takes_over_from_another() -> None:
    keys = [bytes(24), parse_signing_secret(PUBLISHED)]

    both = signature(keys, "id", AT, BODY).split(" ")

    assert both == [signature([key], "id", AT, BODY) for key in keys]


@pytest.mark.parametrize(
    "text",
    [
        "canary",
        "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
        "whsec_canary!canary!canary!canary!",
        f"whsec_{base64.b64encode(bytes(23)).decode()}",
        f"whsec_{base64.b64encode(bytes(65)).decode()}",
        "whsec_ü",
    ],
)
def test_what_is_no_secret_is_refused_without_being_shown(text: str) -> None:
    with pytest.raises(InputError, match="write whsec_ and 24 to 64") as caught:
        parse_signing_secret(Secret(text))

    assert text not in str(caught.value)


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("https://hooks.example/a/b?c=d", (True, "hooks.example", 443, "/a/b?c=d")),
        ("http://127.0.0.1:8080", (False, "127.0.0.1", 8080, "/")),
        ("https://[::1]:8443/x", (True, "::1", 8443, "/x")),
        ("https://hooks.example?c=d", (True, "hooks.example", 443, "/?c=d")),
        ("https://hooks.example./", (True, "hooks.example", 443, "/")),
    ],
)
def test_address_of_a_target_is_read(url: str, place: tuple[bool, str, int, str]) -> None:
    target = parse_target(Secret(url))

    assert (target.is_tls, target.host, target.port, target.path) == place


@pytest.mark.parametrize(
    "url",
    [
        "",
        "canary",
        "ftp://canary.example/",
        "https://user:canary@hooks.example/",
        "https://hooks.example/#canary",
        "https://hooks.example/a\r\nHost: canary",
        "https://hooks.example/a canary",
        "https://hooks.example\\@canary/",
        "https://hooks.ex\u0430mple/canary",
        "https://hooks.example:0/canary",
        "https://hooks.example:65536/canary",
        "https://2130706433/canary",
        "https://0x7f.1/canary",
        "https://0177.0.0.1/canary",
        "https://127.1/canary",
        "https://hooks.0x/canary",
    ],
)
def test_address_that_cannot_be_used_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_target(Secret(url))

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "is_hidden"),
    [
        ("no such hook: T000/B000/Xcanary", True),
        ("token=Xcanary is wrong", True),
        ("unknown a/b", False),
        ("", False),
    ],
)
def test_answer_that_quotes_the_key_in_an_address_is_known(text: str, *, is_hidden: bool) -> None:
    target = parse_target(Secret("https://hooks.example/a/b/%58canary?v=1"))

    assert target.hides(text) is is_hidden
