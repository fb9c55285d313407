"""Errors of the gas API and its gateways: ours in one form, theirs in many."""

from __future__ import annotations

import json
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.wire.gas import decode_error, encode_error
from tests.recorded import recorded

CASES: Final = {case["case"]: case for case in recorded("gas_errors")}


def test_error_is_written_in_the_form_of_the_gas_api() -> None:
    body = CASES["unsupported chain"]["body"]

    assert json.loads(encode_error(400, body["message"])) == body


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("unsupported chain", "'987654' is not a supported chain id."),
        ("key settings refuse", "rejected due to project ID settings"),
        ("rate limited", "project ID request rate exceeded"),
        ("daily credits used up", None),
        ("server error", "Internal Server Error"),
    ],
)
def test_recorded_error_says_its_message(case: str, message: str | None) -> None:
    assert decode_error(json.dumps(CASES[case]["body"]).encode()) == message


@pytest.mark.parametrize("text", CASES["bad or missing key"]["body_text_one_of"])
def test_plain_line_is_its_own_message(text: str) -> None:
    assert decode_error(f"{text}\n".encode()) == text


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b'{"error":"quota"}', "quota"),
        (b'"quota"', "quota"),
        (b'{"error":"","message":"quota"}', "quota"),
        (b'{"error":{"message":"a\\n\\tb   c"}}', "a b c"),
        (b'{"message":"\\u001b[31m\\u202eevil\\u0000"}', "?[31m?evil?"),
        ('{"message":"clé"}'.encode(), "cl?"),
        (json.dumps({"message": "x" * 500}).encode(), "x" * 160),
    ],
)
def test_message_is_one_short_line_of_printable_ascii(body: bytes, message: str) -> None:
    assert decode_error(body) == message


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"  ",
        b"null",
        b"{}",
        b"[]",
        b"5",
        b'{"message":5}',
        b'{"error":{"code":1}}',
        b'{"message":"  "}',
        b"<html><body>Bad Gateway</body></html>",
        b"{broken",
        b"[" * 100_000,
        b"two\nlines",
        b"x" * 161,
    ],
    ids=range(14),
)
def test_body_that_says_nothing_is_none(body: bytes) -> None:
    assert decode_error(body) is None


@given(st.binary() | st.text().map(lambda text: json.dumps({"message": text}).encode()))
def test_any_body_gives_printable_ascii_or_none(body: bytes) -> None:
    message = decode_error(body)

    assert message is None or (message.isascii() and message.isprintable() and len(message) <= 160)


@given(st.integers(400, 599), st.text("abc '.", min_size=1, max_size=100).map(str.strip))
def test_round_trip_keeps_the_message(status: int, message: str) -> None:
    words = " ".join(message.split())

    assert decode_error(encode_error(status, words)) == (words or None)
