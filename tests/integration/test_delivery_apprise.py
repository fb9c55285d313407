"""Chat services through Apprise: only services, only where allowed, in time, and no key shown."""

from __future__ import annotations

import subprocess
import sys
from datetime import timedelta

import pytest
from msgspec.structs import replace

from dashboard.alert.channels.apprise_service import AppriseChannel, inert, service_scheme
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked, DeliveryWithheld, InputError
from tests.mail_server import be_silent, rude_server
from tests.recording_channel import MESSAGE, some_headers
from tests.waiting import PATIENCE
from tests.webhook_server import Receiver, http_receiver

AMPLE = timedelta(seconds=PATIENCE)


def service(port: int, timeout: timedelta = AMPLE, *, allow_private: bool = True) -> AppriseChannel:
    return AppriseChannel(Secret(f"ntfy://127.0.0.1:{port}/canary-topic"), timeout, allow_private)


def test_service_gets_the_text_without_calls_or_hidden_links() -> None:
    receiver = Receiver(200, body=b"{}")
    hostile = replace(MESSAGE, text="<!here> @everyone [click](https://evil.example)\n")

    with http_receiver(receiver) as port:
        answer = service(port).send(hostile, some_headers())

    assert answer == "accepted"
    body = receiver.requests[0].body.decode()
    assert all(each not in body for each in ("<!here>", "@everyone", "](https"))
    assert "Rejected" in body


def test_service_that_refuses_keeps_the_message_and_shows_no_key() -> None:
    with (
        http_receiver(Receiver(403, body=b"no canary-topic for you")) as port,
        pytest.raises(DeliveryBlocked, match="the service did not accept it") as caught,
    ):
        service(port).send(MESSAGE, some_headers())

    assert "canary" not in str(caught.value)


def test_redirect_of_a_service_is_not_followed() -> None:
    elsewhere = Receiver(200)

    with http_receiver(elsewhere) as other:
        moved = Receiver(307, {"Location": f"http://127.0.0.1:{other}/"})
        with http_receiver(moved) as port, pytest.raises(DeliveryBlocked):
            service(port).send(MESSAGE, some_headers())

    assert elsewhere.requests == []


def test_proxy_of_the_environment_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    proxy, receiver = Receiver(200), Receiver(200, body=b"{}")
    monkeypatch.setenv("no_proxy", "")

    with http_receiver(proxy) as through, http_receiver(receiver) as port:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{through}")
        answer = service(port).send(MESSAGE, some_headers())

    assert (answer, len(receiver.requests), proxy.requests) == ("accepted", 1, [])


def test_silent_service_costs_one_time_out() -> None:
    with (
        rude_server(be_silent) as port,
        pytest.raises(DeliveryBlocked, match="did not answer in time"),
    ):
        service(port, timedelta(seconds=0.3)).send(MESSAGE, some_headers())


def test_host_of_ones_own_needs_permission() -> None:
    receiver = Receiver()

    with (
        http_receiver(receiver) as port,
        pytest.raises(DeliveryBlocked, match="set allow_private = true"),
    ):
        service(port, allow_private=False).send(MESSAGE, some_headers())

    assert receiver.requests == []


def test_worker_without_its_lease_asks_no_service() -> None:
    receiver = Receiver()

    with http_receiver(receiver) as port, pytest.raises(DeliveryWithheld):
        service(port).send(MESSAGE, some_headers(), lambda: False)

    assert receiver.requests == []


def test_address_that_the_library_cannot_use_keeps_the_message() -> None:
    channel = AppriseChannel(Secret("slack://canary"), AMPLE)

    with pytest.raises(DeliveryBlocked, match=r"check its url in \[channels\]") as caught:
        channel.send(MESSAGE, some_headers())

    assert "canary" not in str(caught.value)


@pytest.mark.parametrize(
    "url",
    [
        *("json://canary.example/", "jsons://canary.example/", "xml://canary", "form://canary"),
        *("apprises://canary", "mailto://canary:x@example.org", "syslog://canary", "dbus://canary"),
        *("https://canary.example/", "canary", "slack://a b canary", "SLACK://canary"),
    ],
)
def test_address_that_is_no_service_is_refused_without_being_shown(url: str) -> None:
    with pytest.raises(InputError) as caught:
        service_scheme(Secret(url))

    assert "canary" not in str(caught.value)


def test_text_of_our_own_stays_as_it_is() -> None:
    text = "Rejected on devnet: HUB over its limit (0x2d6a…800e) at 12:00 UTC"

    assert inert(text) == text


def test_library_is_not_imported_before_it_is_needed() -> None:
    code = "import sys, dashboard.wiring.worker; sys.exit('apprise' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
