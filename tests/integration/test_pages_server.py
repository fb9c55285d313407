"""The server under the pages: what strangers may leave in its memory and in its log."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect

from tests.installation import Installation, command, new_installation
from tests.integration.raw_client import raw_client, read_reply, read_to_end, status_of
from tests.waiting import PATIENCE, eventually

MB = 1_000_000
DISGUISED = "evil.\u202eelpmaxe"


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Installation, Path]]:
    """Run the pages alone; a session may upload 2 MB, all together 3 MB."""
    folder = tmp_path_factory.mktemp("pages")
    installation = new_installation(
        folder / "home",
        LINEWATCH_PAGES_UPLOADS_PER_SESSION="2MB",
        LINEWATCH_PAGES_UPLOADS_IN_ALL="3MB",
    )
    installation.run("migrate")
    with installation.start(command("pages"), folder / "log"):
        eventually(lambda: is_up(installation), what="the start of the pages")
        yield installation, folder / "log"


def is_up(installation: Installation) -> bool:
    try:
        return httpx.get(f"{installation.pages}/_stcore/health", timeout=PATIENCE).is_success
    except httpx.TransportError:
        return False


@contextmanager
def a_session(installation: Installation) -> Iterator[str]:
    """Open a page as a browser does; yield the id of its session."""
    url = f"ws://127.0.0.1:{installation.pages_port}/_stcore/stream"
    # Without a bound, since a queue that is full keeps the farewell from being read for 10 s.
    with connect(url, max_size=None, max_queue=None, proxy=None) as socket:
        socket.send(BackMsg(rerun_script=ClientState()).SerializeToString())
        while True:
            message = ForwardMsg.FromString(socket.recv(timeout=PATIENCE))
            if message.WhichOneof("type") == "new_session":
                break
        yield message.new_session.initialize.session_id


def proof(installation: Installation) -> dict[str, str]:
    """Return the headers with which Streamlit knows its own page again."""
    token = httpx.get(f"{installation.pages}/_stcore/health", timeout=PATIENCE).cookies[
        "_streamlit_xsrf"
    ]
    return {"Cookie": f"_streamlit_xsrf={token}", "X-Xsrftoken": token}


def upload_head(installation: Installation, session: str, length: int) -> bytes:
    lines = [
        f"PUT /_stcore/upload_file/{session}/a HTTP/1.1",
        "Host: localhost",
        *(f"{name}: {value}" for name, value in proof(installation).items()),
        "Content-Type: multipart/form-data; boundary=x",
        f"Content-Length: {length}",
    ]
    return "".join(f"{line}\r\n" for line in [*lines, ""]).encode()


def upload(installation: Installation, session: str, name: str, size: int) -> httpx.Response:
    return httpx.put(
        f"{installation.pages}/_stcore/upload_file/{session}/{name}",
        files={"file": ("list.csv", b"x" * size)},
        headers=proof(installation),
        timeout=PATIENCE,
    )


def delete(installation: Installation, session: str, name: str) -> None:
    url = f"{installation.pages}/_stcore/upload_file/{session}/{name}"
    httpx.delete(url, headers=proof(installation), timeout=PATIENCE).raise_for_status()


def test_file_above_the_limit_is_refused_before_it_is_read(
    running: tuple[Installation, Path],
) -> None:
    installation = running[0]
    with (
        a_session(installation) as session,
        raw_client(f"127.0.0.1:{installation.pages_port}") as client,
    ):
        client.sendall(upload_head(installation, session, 60 * MB))
        reply = read_reply(client)

    assert status_of(reply) == 413
    assert b"pages.uploads_per_session" in reply


def test_session_holds_no_more_than_its_share(running: tuple[Installation, Path]) -> None:
    installation = running[0]
    with a_session(installation) as session:
        taken = upload(installation, session, "a", 1_500_000)
        refused = upload(installation, session, "b", 600_000)
        delete(installation, session, "a")
        again = upload(installation, session, "b", 600_000)
        delete(installation, session, "b")

    assert (taken.status_code, refused.status_code, again.status_code) == (204, 413, 204)


def test_sessions_hold_no_more_than_all_may(running: tuple[Installation, Path]) -> None:
    installation = running[0]
    with a_session(installation) as first, a_session(installation) as second:
        taken = upload(installation, first, "a", 1_800_000)
        refused = upload(installation, second, "b", 1_800_000)
        delete(installation, first, "a")
        again = upload(installation, second, "b", 1_800_000)
        delete(installation, second, "b")

    assert (taken.status_code, refused.status_code, again.status_code) == (204, 413, 204)
    assert "pages.uploads_in_all" in refused.text


def test_uploads_under_way_count(running: tuple[Installation, Path]) -> None:
    installation = running[0]
    with (
        a_session(installation) as session,
        raw_client(f"127.0.0.1:{installation.pages_port}") as client,
    ):
        client.sendall(upload_head(installation, session, 2 * MB))

        def is_counted() -> bool:
            refused = upload(installation, session, "b", 100).status_code == 413
            delete(installation, session, "b")
            return refused

        eventually(is_counted, what="a count of what is under way")


def test_upload_of_unknown_length_is_refused(running: tuple[Installation, Path]) -> None:
    installation = running[0]
    with a_session(installation) as session:
        response = httpx.put(
            f"{installation.pages}/_stcore/upload_file/{session}/a",
            content=iter([b"x" * 100]),
            headers=proof(installation),
            timeout=PATIENCE,
        )

    assert response.status_code == 411


def test_scripts_come_compressed_under_the_same_policy(
    running: tuple[Installation, Path],
) -> None:
    pages = running[0].pages
    index = httpx.get(f"{pages}/fees", timeout=PATIENCE)
    (name,) = re.findall(r'src="./(static/js/index[^"]+)"', index.text)
    script = httpx.get(f"{pages}/{name}", timeout=PATIENCE)

    for response in (index, script):
        assert response.headers["content-encoding"] == "gzip"
        assert "script-src 'self'" in response.headers["content-security-policy"]
    assert "immutable" in script.headers["cache-control"]


def test_what_pages_send_is_compressed_against_what_they_sent(
    running: tuple[Installation, Path],
) -> None:
    url = f"ws://127.0.0.1:{running[0].pages_port}/_stcore/stream"
    with connect(url, proxy=None) as socket:
        assert socket.response is not None
        agreed = socket.response.headers["Sec-WebSocket-Extensions"]

    assert "permessage-deflate" in agreed
    assert "server_no_context_takeover" not in agreed


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/_stcore/metrics"),
        ("GET", "/_stcore/agent/openapi.json"),
        ("POST", "/_stcore/agent/interact"),
        ("POST", "/_stcore/agent/mcp"),
        ("GET", "/v3/dev/networks/1/suggestedGasFees"),
        ("GET", "/static/secrets.toml"),
        ("GET", "/views/overview.py"),
    ],
)
def test_what_is_not_ours_or_nobody_uses_is_not_served(
    running: tuple[Installation, Path], method: str, path: str
) -> None:
    response = httpx.request(method, f"{running[0].pages}{path}", timeout=PATIENCE)

    assert response.status_code in {404, 405}
    assert response.headers["content-type"].partition(";")[0] in {"text/html", "text/plain"}
    assert "Streamlit" not in response.text


def test_no_site_may_send_messages_to_a_page(running: tuple[Installation, Path]) -> None:
    told = httpx.get(f"{running[0].pages}/_stcore/host-config", timeout=PATIENCE).json()

    assert told["allowedOrigins"] == []


def test_pages_listen_on_one_address_of_this_machine(
    running: tuple[Installation, Path],
) -> None:
    port = running[0].pages_port

    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    with pytest.raises(ConnectionRefusedError):  # a server on all addresses would answer here too
        socket.create_connection(("127.0.0.2", port), timeout=5)


def test_every_line_of_the_log_is_json_and_foreign_text_inert(
    running: tuple[Installation, Path],
) -> None:
    installation, log = running
    url = f"ws://127.0.0.1:{installation.pages_port}/_stcore/stream"
    with connect(url, proxy=None) as socket:
        socket.send(b"\n\x1b[31m")  # Streamlit logs that it is no message
    with raw_client(f"127.0.0.1:{installation.pages_port}") as client:
        client.sendall(b"\x1b]0;title\x07 / nonsense\r\n\r\n")  # uvicorn logs that it is no request
        read_to_end(client)
    with raw_client(f"127.0.0.1:{installation.pages_port}") as client:
        client.sendall(f"GET / HTTP/1.1\r\nHost: {DISGUISED}\r\n\r\n".encode())
        read_reply(client)

    def subjects() -> set[str]:
        return {json.loads(line)["subject"] for line in log.read_text().splitlines()}

    streamlits = "streamlit.web.server.starlette.starlette_websocket"
    eventually(lambda: {streamlits, "uvicorn.error", "host check"} <= subjects(), what="the lines")
    assert log.read_bytes().replace(b"\n", b"").decode().isprintable()
    assert log.read_bytes().isascii()
