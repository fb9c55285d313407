"""Webhooks over real sockets: signed, never to private addresses or redirects, and in time."""

from __future__ import annotations

import json
import socket
import threading
from datetime import timedelta
from pathlib import Path

import pytest
from msgspec.structs import replace

from dashboard.alert.channels.http_to_public_addresses import HttpRules, parse_target
from dashboard.alert.channels.webhook import (
    LARGEST_PART,
    WebhookChannel,
    parse_signing_secret,
    signature,
)
from dashboard.alert.message import Stage
from dashboard.domain.secret import Secret
from dashboard.errors import (
    DeliveryBlocked,
    DeliveryDeferred,
    DeliveryError,
    DeliveryRefused,
    DeliveryWithheld,
)
from tests.builders import A_MOMENT, an_id
from tests.certificate import make_certificate
from tests.mail_server import Rudeness, be_silent, rude_server
from tests.recording_channel import MESSAGE, some_headers
from tests.waiting import PATIENCE
from tests.webhook_server import Receiver, http_receiver

SECRET = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
NEARBY = HttpRules(timedelta(seconds=PATIENCE), allow_private=True)
FACTS = {"type": "incident.opened", "data": {"reason": "a\u202eb"}}


def webhook(port: int, rules: HttpRules = NEARBY, host: str = "127.0.0.1") -> WebhookChannel:
    target = parse_target(Secret(f"http://{host}:{port}/hooks/canary-key?token=canary-too"))
    return WebhookChannel(target, [SECRET], lambda: A_MOMENT, rules)


def send(channel: WebhookChannel) -> str:
    return channel.send(replace(MESSAGE, payload=FACTS), some_headers(7))


def test_message_arrives_signed_with_its_facts() -> None:
    receiver = Receiver()

    with http_receiver(receiver) as port:
        answer = send(webhook(port))

    [request] = receiver.requests
    assert answer == "204 No Content"
    assert (request.method, request.path) == ("POST", "/hooks/canary-key?token=canary-too")
    assert json.loads(request.body) == FACTS
    assert request.body.isascii()
    assert request.headers["Host"] == f"127.0.0.1:{port}"
    assert request.headers["webhook-id"] == str(an_id(7))
    assert request.headers["webhook-timestamp"] == str(int(A_MOMENT.timestamp()))
    assert request.headers["webhook-signature"] == signature(
        [parse_signing_secret(SECRET)], str(an_id(7)), A_MOMENT, request.body
    )


def test_attempt_goes_on_with_the_part_that_was_not_taken() -> None:
    members = [{"reason": "x" * LARGEST_PART, "number": number} for number in range(3)]
    message = replace(MESSAGE, payload={"data": {"members": members}})
    receiver = Receiver()

    def fail_at_the_second() -> bool:
        receiver.status = 503 if len(receiver.requests) == 1 else 204
        return True

    with http_receiver(receiver) as port:
        channel = webhook(port)
        with pytest.raises(DeliveryBlocked):
            channel.send(message, some_headers(7), fail_at_the_second)
        receiver.status = 204
        answer = channel.send(message, some_headers(7))
        channel.send(message, some_headers(7))

    ids = [each.headers["webhook-id"] for each in receiver.requests]
    first, second, third = str(an_id(7)), f"{an_id(7)}-2", f"{an_id(7)}-3"
    assert answer == "204 No Content, 3 parts"
    assert ids == [first, second, second, third, first, second, third]


def test_certificate_must_be_for_the_name_though_an_address_is_connected_to(
    tmp_path: Path,
) -> None:
    ours, other = make_certificate(tmp_path), make_certificate(tmp_path, "other.example")
    steps: list[Stage] = []
    rules = HttpRules(
        timedelta(seconds=PATIENCE), ours.for_client(), allow_private=True, watch=steps.append
    )
    target = "https://localhost:{}/"

    def to(port: int) -> WebhookChannel:
        url = Secret(target.format(port))
        return WebhookChannel(parse_target(url), [SECRET], lambda: A_MOMENT, rules)

    with http_receiver(Receiver(), ours.for_server()) as port:
        send(to(port))
    with (
        http_receiver(Receiver(), other.for_server()) as port,
        pytest.raises(DeliveryBlocked, match="no certificate that can be trusted"),
    ):
        send(to(port))

    names = [each.name for each in steps]
    assert names == ["resolve", "connect", "TLS", "answer", "resolve", "connect"]


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "[::ffff:127.0.0.1]"])
def test_private_address_is_refused_unless_allowed_also_where_a_name_resolves_to_it(
    host: str,
) -> None:
    receiver = Receiver()

    with (
        http_receiver(receiver) as port,
        pytest.raises(DeliveryBlocked, match=r"is private: .* allow_private = true"),
    ):
        send(webhook(port, HttpRules(timedelta(seconds=PATIENCE)), host))

    assert receiver.requests == []


def test_redirect_is_not_followed() -> None:
    elsewhere = Receiver()

    with http_receiver(elsewhere) as other:
        moved = Receiver(307, {"Location": f"http://127.0.0.1:{other}/canary"})
        with (
            http_receiver(moved) as port,
            pytest.raises(DeliveryBlocked, match="redirects, which is not followed") as found,
        ):
            send(webhook(port))

    assert elsewhere.requests == []
    assert "canary" not in str(found.value)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (410, DeliveryRefused),
        (400, DeliveryDeferred),
        (413, DeliveryDeferred),
        (422, DeliveryDeferred),
        (401, DeliveryBlocked),
        (404, DeliveryBlocked),
        (429, DeliveryBlocked),
        (500, DeliveryBlocked),
        (503, DeliveryBlocked),
        (799, DeliveryBlocked),
    ],
)
def test_answer_decides_whether_it_is_tried_again(status: int, kind: type[DeliveryError]) -> None:
    receiver = Receiver(status, body=b"because\x1b[31m")

    with http_receiver(receiver) as port, pytest.raises(kind) as caught:
        send(webhook(port))

    assert type(caught.value) is kind
    assert r"because\u001b[31m" in str(caught.value)


@pytest.mark.parametrize(
    ("header", "wait"),
    [
        ("120", timedelta(seconds=120)),
        ("Sun, 22 Nov 2099 12:00:00 GMT", timedelta(minutes=5)),
        ("Sun, 22 Nov 2015 12:00:00 GMT", timedelta()),
        ("-1", None),
    ],
)
def test_wait_that_the_receiver_asks_for_is_known(header: str, wait: timedelta | None) -> None:
    with (
        http_receiver(Receiver(429, {"Retry-After": header})) as port,
        pytest.raises(DeliveryBlocked) as caught,
    ):
        send(webhook(port))

    assert caught.value.retry_after == wait


def test_answer_that_quotes_the_address_is_not_shown() -> None:
    receiver = Receiver(404, body=b"there is no /hooks/canary-key here")

    with http_receiver(receiver) as port, pytest.raises(DeliveryBlocked) as caught:
        send(webhook(port))

    assert str(caught.value) == "it answered 404 Not Found; check its url in [channels]"


def test_endless_answer_is_read_in_part() -> None:
    receiver = Receiver(500, body=b"x" * 10_000_000)

    with http_receiver(receiver) as port, pytest.raises(DeliveryBlocked) as caught:
        send(webhook(port))

    assert len(str(caught.value)) < 300


def drip_headers(line: socket.socket, over: threading.Event) -> None:
    line.recv(10_000)
    line.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not over.wait(0.02):
        line.sendall(b"x")


def be_a_mail_server(line: socket.socket, _over: threading.Event) -> None:
    line.sendall(b"220 mail.example ESMTP\r\n")


def hang_up(line: socket.socket, _over: threading.Event) -> None:
    line.recv(10_000)


@pytest.mark.parametrize(
    ("behaviour", "scheme", "complaint"),
    [
        (be_silent, "http", "did not answer in time"),
        (be_silent, "https", "did not answer in time"),
        (drip_headers, "http", "did not answer in time"),
        (be_a_mail_server, "http", "did not answer in HTTP"),
        (be_a_mail_server, "https", "offers no TLS"),
        (hang_up, "http", "closed the connection"),
    ],
)
def test_receiver_that_is_silent_slow_or_rude_is_given_up_once(
    behaviour: Rudeness, scheme: str, complaint: str
) -> None:
    rules = HttpRules(timedelta(seconds=0.4), allow_private=True)

    with rude_server(behaviour) as port:
        target = parse_target(Secret(f"{scheme}://127.0.0.1:{port}/canary"))
        channel = WebhookChannel(target, [SECRET], lambda: A_MOMENT, rules)
        with pytest.raises(DeliveryBlocked, match=complaint) as caught:
            send(channel)

    assert "canary" not in str(caught.value)


def test_receiver_that_is_not_there_is_named_so() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(DeliveryBlocked, match=r"cannot be reached \(Connection refused\)"):
        send(webhook(port))


def test_name_that_cannot_be_one_is_named_so() -> None:
    with pytest.raises(DeliveryBlocked, match=r"resolved \(it is not a host name\)"):
        send(webhook(80, host=f"{'a' * 64}.example"))


def test_worker_without_its_lease_sends_nothing() -> None:
    receiver = Receiver()

    with http_receiver(receiver) as port, pytest.raises(DeliveryWithheld):
        webhook(port).send(MESSAGE, some_headers(), lambda: False)

    assert receiver.requests == []
