"""The server under the pages: what strangers may make it keep, in its memory and in its log."""

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
from streamlit.proto.Common_pb2 import FileURLsRequest
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState, WidgetStates
from websockets.exceptions import ConnectionClosedError
from websockets.sync.client import connect

from tests import plain_http
from tests.installation import Installation, answers, new_installation
from tests.integration.raw_client import (
    MUCH,
    open_websocket,
    raw_client,
    read_reply,
    read_to_end,
    status_of,
    taken,
)
from tests.processes import Process
from tests.waiting import PATIENCE, eventually

MB = 1_000_000
STREAM = "/_stcore/stream"
DISGUISED = "evil.\u202eelpmaxe"


Running = tuple[Installation, Process, Path]


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run the pages alone; a session may upload 2 MB, all together 3 MB."""
    folder = tmp_path_factory.mktemp("pages")
    installation = new_installation(
        folder / "home",
        LINEWATCH_PAGES_UPLOADS_PER_SESSION="2MB",
        LINEWATCH_PAGES_UPLOADS_IN_ALL="3MB",
    )
    installation.run("migrate")
    with installation.role("pages", folder / "log") as process:
        health = f"{installation.pages}/_stcore/health"
        eventually(lambda: answers(health), what="the start of the pages")
        yield installation, process, folder / "log"


@pytest.fixture
def installation(running: Running) -> Installation:
    """Return where the pages are."""
    return running[0]


@pytest.fixture
def client(installation: Installation) -> Iterator[socket.socket]:
    """Connect to the pages."""
    with raw_client(f"127.0.0.1:{installation.pages_port}") as connected:
        yield connected


@contextmanager
def a_session(installation: Installation, *widgets: WidgetState) -> Iterator[str]:
    """Open a page as a browser does, with these widgets; yield the id of its session."""
    url = f"ws://127.0.0.1:{installation.pages_port}/_stcore/stream"
    # Without a bound, since a queue that is full keeps the farewell from being read for 10 s.
    with connect(url, max_size=None, max_queue=None, proxy=None) as socket:
        state = ClientState(widget_states=WidgetStates(widgets=widgets))
        socket.send(BackMsg(rerun_script=state).SerializeToString())
        while True:
            message = ForwardMsg.FromString(socket.recv(timeout=PATIENCE))
            if message.WhichOneof("type") == "new_session":
                break
        yield message.new_session.initialize.session_id


def proof(installation: Installation) -> dict[str, str]:
    """Return the headers with which Streamlit knows its own page again."""
    token = plain_http.get(f"{installation.pages}/_stcore/health").cookies["_streamlit_xsrf"]
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
    return plain_http.put(
        f"{installation.pages}/_stcore/upload_file/{session}/{name}",
        files={"file": ("list.csv", b"x" * size)},
        headers=proof(installation),
    )


def delete(installation: Installation, session: str, name: str) -> None:
    url = f"{installation.pages}/_stcore/upload_file/{session}/{name}"
    plain_http.delete(url, headers=proof(installation)).raise_for_status()


def test_file_above_the_limit_is_refused_before_it_is_read(
    installation: Installation,
) -> None:
    with (
        a_session(installation) as session,
        raw_client(f"127.0.0.1:{installation.pages_port}") as client,
    ):
        client.sendall(upload_head(installation, session, 60 * MB))
        reply = read_reply(client)

    assert status_of(reply) == 413
    assert b"pages.uploads_per_session" in reply


def test_session_holds_no_more_than_its_share(installation: Installation) -> None:
    with a_session(installation) as session:
        taken = upload(installation, session, "a", 1_500_000)
        refused = upload(installation, session, "b", 600_000)
        delete(installation, session, "a")
        again = upload(installation, session, "b", 600_000)
        delete(installation, session, "b")

    assert (taken.status_code, refused.status_code, again.status_code) == (204, 413, 204)


def test_sessions_hold_no_more_than_all_may(installation: Installation) -> None:
    with a_session(installation) as first, a_session(installation) as second:
        taken = upload(installation, first, "a", 1_800_000)
        refused = upload(installation, second, "b", 1_800_000)
        delete(installation, first, "a")
        again = upload(installation, second, "b", 1_800_000)
        delete(installation, second, "b")

    assert (taken.status_code, refused.status_code, again.status_code) == (204, 413, 204)
    assert "pages.uploads_in_all" in refused.text


def test_uploads_under_way_count(installation: Installation) -> None:
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


def test_upload_of_unknown_length_is_refused(installation: Installation) -> None:
    with a_session(installation) as session:
        response = plain_http.put(
            f"{installation.pages}/_stcore/upload_file/{session}/a",
            content=iter([b"x" * 100]),
            headers=proof(installation),
        )

    assert response.status_code == 411


def test_scripts_come_compressed_under_the_same_policy(
    installation: Installation,
) -> None:
    pages = installation.pages
    index = plain_http.get(f"{pages}/fees")
    (name,) = re.findall(r'src="./(static/js/index[^"]+)"', index.text)
    script = plain_http.get(f"{pages}/{name}")

    for response in (index, script):
        assert response.headers["content-encoding"] == "br"
        assert "script-src 'self'" in response.headers["content-security-policy"]
    assert "immutable" in script.headers["cache-control"]


def test_what_pages_send_is_compressed_against_what_they_sent(
    installation: Installation,
) -> None:
    url = f"ws://127.0.0.1:{installation.pages_port}/_stcore/stream"
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
    installation: Installation, method: str, path: str
) -> None:
    response = plain_http.request(method, f"{installation.pages}{path}")

    assert response.status_code in {404, 405}
    assert response.headers["content-type"].partition(";")[0] in {"text/html", "text/plain"}
    assert "Streamlit" not in response.text


def test_no_site_may_send_messages_to_a_page(installation: Installation) -> None:
    told = plain_http.get(f"{installation.pages}/_stcore/host-config").json()

    assert told["allowedOrigins"] == []


def test_pages_listen_on_one_address_of_this_machine(
    installation: Installation,
) -> None:
    port = installation.pages_port

    with socket.create_connection(("127.0.0.1", port), timeout=5):
        pass
    with pytest.raises(ConnectionRefusedError):  # a server on all addresses would answer here too
        socket.create_connection(("127.0.0.2", port), timeout=5)


def test_every_line_of_the_log_is_json_and_foreign_text_inert(
    running: Running,
) -> None:
    installation, _, log = running
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


@pytest.mark.parametrize(
    "begun",
    [
        b"GET / HTTP/1.1\r\nHost: localhost\r\n",
        b"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n",
    ],
    ids=["head", "trailers"],
)
def test_what_comes_beside_a_body_is_bounded(client: socket.socket, begun: bytes) -> None:
    client.sendall(begun)

    assert taken(client, b"a:b\r\n" * 10_000) < MUCH


def test_client_that_never_reads_is_read_no_more(installation: Installation) -> None:
    with raw_client(f"127.0.0.1:{installation.pages_port}", receive_buffer=2_048) as client:
        open_websocket(client, STREAM)

        assert taken(client, (b"\x89\xfd" + bytes(4) + b"p" * 125) * 400) < MUCH


def test_message_that_is_too_long_is_refused_before_it_is_read(client: socket.socket) -> None:
    open_websocket(client, STREAM)
    client.sendall(b"\x82\xff" + (9 * MB).to_bytes(8) + bytes(4))

    assert (1009).to_bytes(2) in client.recv(1_000)


def test_message_that_would_stop_all_pages_ends_its_connection(installation: Installation) -> None:
    names = FileURLsRequest(file_names=[""] * 400_000)
    with connect(f"ws://127.0.0.1:{installation.pages_port}{STREAM}", proxy=None) as socket:
        socket.send(BackMsg(file_urls_request=names).SerializeToString())
        with pytest.raises(ConnectionClosedError, match="1008") as closed:
            socket.recv(timeout=PATIENCE)

    assert "10000 fields" in str(closed.value)


def test_paste_of_megabytes_is_taken(installation: Installation) -> None:
    with a_session(installation, WidgetState(id="a", string_value="x" * 4 * MB)) as session:
        assert session


def test_clients_that_do_not_end_keep_nobody_from_ending_the_pages(running: Running) -> None:
    here, process, _ = running  # the last test: nobody answers afterwards
    address = f"127.0.0.1:{here.pages_port}"
    with raw_client(address) as silent, raw_client(address) as slow:
        open_websocket(silent, STREAM)
        slow.sendall(b"POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n")

        assert process.terminate() == 0
