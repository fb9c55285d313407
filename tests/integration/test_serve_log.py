"""The log of requests as an operator reads it: one line for each, which no client can forge."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults.serve_processes import KEY, SAVE, open_serve_home
from tests.integration.raw_client import post_head, raw_client, read_reply, read_to_end
from tests.integration.running_server import a_call

CANARY = "c4nary-of-the-tests"
HOSTILE = f"{CANARY}\r\n\x1b[2J\u202e{{}}"
METHODS = [
    a_call(SAVE, {}),
    a_call("linea_getTransactionExclusionStatusV1", [CANARY]),
    a_call(HOSTILE, [HOSTILE]),
]


@pytest.fixture(scope="module")
def lines(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """Return what a serve process logged of requests that put a secret everywhere."""
    home = tmp_path_factory.mktemp("log") / "home"
    with open_serve_home(home, LINEWATCH_SERVE_LOG_REQUESTS="true") as serve_home:
        (server,) = serve_home.servers
        address = f"127.0.0.1:{server.port}"
        body = json.dumps(METHODS).encode()
        with raw_client(address) as client:
            client.sendall(post_head(f"/v3/{KEY}", len(body)) + body)
            read_reply(client)
        for head in _hostile_heads():
            with raw_client(address) as client:
                client.sendall(head.encode("utf-8", "surrogateescape"))
                read_to_end(client)
        server.terminate()
        return _read(server.log)


def test_line_names_caller_methods_status_size_and_time(lines: list[dict[str, Any]]) -> None:
    line = next(each for each in lines if each.get("methods"))

    assert line["key"] == "development"
    assert line["methods"] == {SAVE: 1, "linea_getTransactionExclusionStatusV1": 1, "unserved": 1}
    assert (line["verb"], line["route"], line["status"]) == ("POST", "/v3/<key>", 200)
    assert line["bytes"] > 100
    assert line["milliseconds"] >= 0


def test_each_request_has_one_line_of_known_words(lines: list[dict[str, Any]]) -> None:
    answered = [each for each in lines if each["event"] == "Request answered"]

    assert len(answered) >= 5
    assert {each["verb"] for each in answered} <= {"GET", "POST", "DELETE", "other"}
    assert {each["route"] for each in answered} <= {
        "/v3/<key>",
        "/v3/<key>/…",
        "/v3/<key>/networks",
        "/networks",
        "unknown",
    }


def test_secret_in_a_path_header_query_or_method_is_in_no_line(lines: list[dict[str, Any]]) -> None:
    text = json.dumps(lines, ensure_ascii=False)

    assert CANARY not in text
    assert "\x1b" not in text
    assert "\u202e" not in text


def _hostile_heads() -> list[str]:
    end = f"Host: localhost\r\nX-Forwarded-For: {CANARY}\r\nUser-Agent: {CANARY}\r\n"
    last = f"{end}Connection: close\r\n\r\n"
    return [
        f"GET /v3/{CANARY} HTTP/1.1\r\n{last}",
        f"GET /v3/{CANARY}/networks/1/busyThreshold?key={CANARY} HTTP/1.1\r\n{last}",
        f"DELETE /{CANARY}%0d%0a%1b%5b2J HTTP/1.1\r\n{last}",
        f"GET /networks/{CANARY} HTTP/1.1\r\nAuthorization: Basic {CANARY}\r\n{last}",
        f"PROPFIND /v3/{CANARY}/%E2%80%AE HTTP/1.1\r\n{last}",
        f"{CANARY} / HTTP/1.1\r\n{last}",
        f"GET /{CANARY} HTTP/1.1\r\nX-Colour: \x1b[31m\r\n{last}",
        f"GET /{CANARY}\x00 HTTP/1.1\r\n{last}",
    ]


def _read(log: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in log.read_text(encoding="utf-8").splitlines()]
