"""Webhooks and services: what they get, and that one that hangs holds up no other."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime, timedelta

import pytest

from dashboard.alert.channels.apprise_service import inert
from dashboard.alert.channels.http_to_public_addresses import (
    HttpAnswer,
    HttpRequest,
    HttpRules,
    exchange,
    judge,
    parse_target,
)
from dashboard.alert.channels.webhook import (
    LARGEST_PART,
    WebhookChannel,
    parse_signing_secret,
    parts_of,
    signature,
)
from dashboard.alert.deliver import Deliverer, Sending
from dashboard.alert.message import Channel, Message, Stage, always
from dashboard.domain.alerts.notification import NotificationState, Recipient
from dashboard.domain.secret import Secret
from dashboard.errors import DeliveryBlocked, DeliveryWithheld, InputError
from dashboard.store.engine.engine import Store
from tests.delivery_checks import HASTY, make_pending, notifications, take_lease
from tests.fake_clock import FakeClock
from tests.mail_server import be_silent, rude_server
from tests.recording_channel import ONCALL, RecordingChannel, message_about, some_headers
from tests.waiting import PATIENCE
from tests.webhook_server import Receiver, http_receiver

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


def test_long_message_is_cut_into_parts_that_name_every_change_once() -> None:
    members = [{"hash": number, "reason": "x" * 1000} for number in range(200)]
    data = {"text": "-", "hash": 0, "reason": "", "memberCount": 200, "members": members}

    parts = [each["data"] for each in parts_of({"type": "incident.opened", "data": data})]

    assert [each["hash"] for part in parts for each in part["members"]] == list(range(200))
    assert [(each["part"], each["partCount"]) for each in parts] == [
        (number, 4) for number in range(1, 5)
    ]
    assert [each["hash"] for each in parts] == [each["members"][0]["hash"] for each in parts]
    lengths = [len(json.dumps(each["members"], separators=(",", ":"))) for each in parts]
    assert max(lengths) <= LARGEST_PART + 1
    assert {(each["text"], each["memberCount"]) for each in parts} == {("-", 200)}


def test_change_that_is_larger_than_a_part_is_one_of_its_own() -> None:
    huge = {"reason": "x" * LARGEST_PART}

    parts = parts_of({"data": {"members": [huge, huge]}})

    assert [each["data"]["members"] for each in parts] == [[huge], [huge]]


@pytest.mark.parametrize(("over", "many"), [(0, 2), (1, 3)])
def test_part_is_filled_to_its_limit_and_no_further(over: int, many: int) -> None:
    overhead = len('{"reason":""},')  # with the comma that follows
    half = {"reason": "x" * (LARGEST_PART // 2 - overhead)}
    rest = {"reason": "x" * (LARGEST_PART // 2 - overhead + over)}

    first = parts_of({"data": {"members": [half, rest, half]}})
    later = parts_of({"data": {"members": [half, half, half, rest]}})

    assert len(first) == len(later) == many


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
    ("url", "place", "authority"),
    [
        (
            "https://hooks.example/a/b?c=d",
            (True, "hooks.example", 443, "/a/b?c=d"),
            "hooks.example",
        ),
        ("http://127.0.0.1:8080", (False, "127.0.0.1", 8080, "/"), "127.0.0.1:8080"),
        ("http://hooks.example", (False, "hooks.example", 80, "/"), "hooks.example"),
        ("http://hooks.example:443", (False, "hooks.example", 443, "/"), "hooks.example:443"),
        ("https://[::1]:8443/x", (True, "::1", 8443, "/x"), "[::1]:8443"),
        ("https://hooks.example?c=d", (True, "hooks.example", 443, "/?c=d"), "hooks.example"),
        ("https://hooks.example./", (True, "hooks.example", 443, "/"), "hooks.example"),
    ],
)
def test_address_of_a_target_is_read(
    url: str, place: tuple[bool, str, int, str], authority: str
) -> None:
    target = parse_target(Secret(url))

    assert (target.is_tls, target.host, target.port, target.path) == place
    assert target.authority == authority


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
    ("status", "said"),
    [
        (401, "it answered no; check its keys in [channels]"),
        (403, "it answered no; check its keys in [channels]"),
        (404, "it answered no; check its url in [channels]"),
        (500, "it answered no"),
        (799, "it answered no"),
    ],
)
def test_answer_that_a_setting_explains_says_which(status: int, said: str) -> None:
    with pytest.raises(DeliveryBlocked) as caught:
        judge(HttpAnswer(status, "no"))

    assert str(caught.value) == said


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


@pytest.mark.parametrize(
    ("hostile", "shown"),
    [
        ("@everyone <!channel> <@U123>", "＠everyone ‹!channel› ‹＠U123›"),  # noqa: RUF001 - meant
        ("@**all** @*ops* @_**ann**", "＠**all** ＠*ops* ＠_**ann**"),  # noqa: RUF001 - Zulip
        ("[your bank](https://evil.example)", "[your bank] (https://evil.example)"),
        ("paid 3 @ 5 gwei", "paid 3 @ 5 gwei"),
    ],
)
def test_foreign_text_calls_nobody_and_hides_no_link(hostile: str, shown: str) -> None:
    assert inert(hostile) == shown


HOOK = Recipient("hook", "hook")
SECRET = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")


def test_each_step_is_told_and_nothing_of_the_body_of_what_was_accepted() -> None:
    receiver, stages = Receiver(200, body=b"thanks"), list[Stage]()
    with http_receiver(receiver) as port:
        rules = HttpRules(timedelta(seconds=PATIENCE), allow_private=True, watch=stages.append)
        target = parse_target(Secret(f"http://127.0.0.1:{port}/"))
        answer = exchange(target, HttpRequest(lambda: (b"{}", {})), rules, always)

    assert answer == HttpAnswer(200, "200 OK")
    steps = (("resolve", "127.0.0.1"), ("connect", "127.0.0.1"), ("answer", "200 OK"))
    assert stages == [Stage(*each) for each in steps]
    [request] = receiver.requests
    assert request.headers["User-Agent"] == "Linewatch"
    assert request.headers["Accept-Encoding"] == "identity"


def test_server_that_hangs_up_is_said_to_have_done_so() -> None:
    with rude_server(lambda line, _: line.close()) as port:
        rules = HttpRules(timedelta(seconds=PATIENCE), allow_private=True)
        target = parse_target(Secret(f"http://127.0.0.1:{port}/"))
        with pytest.raises(DeliveryBlocked, match="closed the connection"):
            exchange(target, HttpRequest(lambda: (b"", {})), rules, always)


def test_next_attempt_goes_on_with_the_part_that_was_not_accepted() -> None:
    huge = [{"reason": "x" * LARGEST_PART, "hash": number} for number in range(3)]
    message = Message("s", "t", "", payload={"data": {"members": huge}})
    receiver = Receiver(200)
    with http_receiver(receiver) as port:
        rules = HttpRules(timedelta(seconds=PATIENCE), allow_private=True)
        target = parse_target(Secret(f"http://127.0.0.1:{port}/"))
        hook = WebhookChannel(target, [SECRET], lambda: AT, rules)
        sent = iter([True, False])
        with pytest.raises(DeliveryWithheld):
            hook.send(message, some_headers(), lambda: next(sent))
        answer = hook.send(message, some_headers())

    parts = [json.loads(each.body)["data"]["hash"] for each in receiver.requests]
    assert parts == [0, 1, 2]
    ids = [each.headers["webhook-id"].rpartition("-")[2] for each in receiver.requests]
    assert ids[1:] == ["2", "3"]
    assert answer.endswith(", 3 parts")


def test_black_hole_leaves_the_other_channels_to_send_at_once(
    store: Store, fake_clock: FakeClock
) -> None:
    mail = RecordingChannel()

    with rude_server(be_silent) as port:
        rules = HttpRules(timedelta(seconds=1), allow_private=True)
        target = parse_target(Secret(f"http://127.0.0.1:{port}/"))
        hook = WebhookChannel(target, [SECRET], fake_clock.now, rules)
        channels: dict[str, Channel] = {"mail": mail, "hook": hook}
        deliverer = Deliverer(
            store, Sending(channels, message_about), fake_clock.now, fake_clock.elapsed, HASTY
        )
        make_pending(store, 10, [HOOK, ONCALL])
        token = take_lease(store)
        while len(mail.taken) < 10:
            deliverer.deliver_due(token)
        sent = {each.recipient for each in notifications(store) if each.sent_at is not None}
        deliverer.finish(timedelta(seconds=PATIENCE))

    assert sent <= {ONCALL}
    pending = [each for each in notifications(store) if each.state is NotificationState.PENDING]
    assert {each.recipient for each in pending} == {HOOK}
    assert [each.attempts for each in pending if each.attempts] == [1]
