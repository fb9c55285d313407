"""Mail servers that are silent, slow, rude or gone: messages stay pending, others do not wait."""

from __future__ import annotations

import socket
import tracemalloc
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import timedelta

import pytest

from dashboard.alert.channels.deadline import Deadline, SocketAddress, open_socket
from dashboard.alert.channels.smtp import Security, SmtpChannel, SmtpServer
from dashboard.errors import DeliveryBlocked
from tests.mail_server import (
    Inbox,
    Rudeness,
    answer_without_end,
    be_silent,
    cut_the_last_answer,
    drip,
    drip_handshake,
    greet_without_end,
    hang_up_after_the_final_dot,
    mail_server,
    refuse_to_listen,
    rude_server,
    speak_http,
)
from tests.recording_channel import MESSAGE, SENDER, some_headers
from tests.waiting import PATIENCE

SOON = timedelta(seconds=0.4)
AMPLE = timedelta(seconds=PATIENCE)
FOR_EVER = timedelta(hours=1)


def channel_to(port: int, timeout: timedelta, security: Security = Security.NONE) -> SmtpChannel:
    return SmtpChannel(SmtpServer("127.0.0.1", port, security, timeout=timeout), SENDER)


@pytest.mark.parametrize(
    ("behaviour", "security", "complaint"),
    [
        (be_silent, Security.NONE, "did not accept the message within 0.4 s"),
        (be_silent, Security.TLS, "did not accept the message within 0.4 s"),
        (drip, Security.NONE, "did not accept the message within 0.4 s"),
        (drip_handshake, Security.TLS, "did not accept the message within 0.4 s"),
    ],
)
def test_slow_server_is_given_up_at_the_time_limit(
    behaviour: Rudeness, security: Security, complaint: str
) -> None:
    with rude_server(behaviour) as port, pytest.raises(DeliveryBlocked, match=complaint) as caught:
        channel_to(port, SOON, security).send(MESSAGE, some_headers())

    assert "check host and port in [mail], or raise timeout" in str(caught.value)


@pytest.mark.parametrize("behaviour", [answer_without_end, greet_without_end])
def test_answer_without_end_is_read_in_part(behaviour: Rudeness) -> None:
    with rude_server(behaviour) as port:
        tracemalloc.start()
        with pytest.raises(DeliveryBlocked, match="says more at once than a mail server does"):
            channel_to(port, AMPLE).send(MESSAGE, some_headers())
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()

    assert most < 3_000_000


@contextmanager
def black_hole() -> Iterator[SocketAddress]:
    """Yield an address of this machine that never answers: its queue of newcomers is full."""
    with socket.socket() as listener, ExitStack() as newcomers:
        listener.bind(("127.0.0.1", 0))
        listener.listen(0)
        for _ in range(4):
            newcomer = newcomers.enter_context(socket.socket())
            newcomer.settimeout(0)
            newcomer.connect_ex(listener.getsockname())
        yield socket.AF_INET, listener.getsockname()


def test_black_holed_first_address_of_a_name_leaves_time_for_the_second() -> None:
    with (
        black_hole() as hole,
        mail_server(Inbox()) as port,
        Deadline(8) as deadline,
        open_socket([hole, (socket.AF_INET, ("127.0.0.1", port))], deadline) as line,
    ):
        assert line.recv(3) == b"220"


def test_dripping_server_behind_a_black_hole_ends_with_the_deadline() -> None:
    with (
        black_hole() as hole,
        rude_server(drip) as port,
        Deadline(1) as deadline,
        suppress(OSError),
        open_socket([hole, (socket.AF_INET, ("127.0.0.1", port))], deadline) as line,
    ):
        while line.recv(1):
            pass

    assert deadline.has_passed


def test_line_that_opens_after_the_deadline_is_not_used() -> None:
    with rude_server(drip) as port, Deadline(0) as deadline, pytest.raises(TimeoutError):
        open_socket([(socket.AF_INET, ("127.0.0.1", port))], deadline)


@pytest.mark.parametrize(
    ("behaviour", "complaint"),
    [
        (hang_up_after_the_final_dot, "closed the connection"),
        (cut_the_last_answer, "closed the connection"),
        (refuse_to_listen, "answered 554 no valid recipients"),
        (speak_http, "this is not a mail server: “/1.1 400 Bad Request”; check host and port"),
    ],
)
def test_rude_server_keeps_the_message_pending(behaviour: Rudeness, complaint: str) -> None:
    with (
        rude_server(behaviour) as port,
        pytest.raises(DeliveryBlocked, match=complaint),
    ):
        channel_to(port, AMPLE).send(MESSAGE, some_headers())


def test_server_that_is_gone_keeps_the_message_pending() -> None:
    with rude_server(be_silent) as port:
        pass

    with pytest.raises(DeliveryBlocked, match=r"cannot be reached .Connection refused"):
        channel_to(port, AMPLE).send(MESSAGE, some_headers())
