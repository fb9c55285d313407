"""A webhook that never answers, and mail beside it."""

from __future__ import annotations

from datetime import timedelta

from dashboard.alert.channels.http_exchange import HttpRules, parse_target
from dashboard.alert.channels.webhook import WebhookChannel
from dashboard.alert.deliver import Deliverer, Sending
from dashboard.alert.message import Channel
from dashboard.domain.alerts.notification import NotificationState, Recipient
from dashboard.domain.secret import Secret
from dashboard.store.engine.engine import Store
from tests.delivery_checks import HASTY, make_pending, notifications, take_worker_lease
from tests.fake_clock import FakeClock
from tests.mail_server import be_silent, rude_server
from tests.recording_channel import ONCALL, RecordingChannel, message_about
from tests.waiting import PATIENCE

HOOK = Recipient("hook", "hook")
SECRET = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")


def test_black_hole_leaves_the_other_channels_to_send_at_once(
    store: Store, fake_clock: FakeClock
) -> None:
    mail = RecordingChannel()

    with rude_server(be_silent) as port:
        rules = HttpRules(timedelta(seconds=2), allow_private=True)
        target = parse_target(Secret(f"http://127.0.0.1:{port}/"))
        hook = WebhookChannel(target, [SECRET], fake_clock.now, rules)
        channels: dict[str, Channel] = {"mail": mail, "hook": hook}
        deliverer = Deliverer(
            store, Sending(channels, message_about), fake_clock.now, fake_clock.elapsed, HASTY
        )
        make_pending(store, 30, [HOOK, ONCALL])
        token = take_worker_lease(store)
        while len(mail.taken) < 30:
            deliverer.deliver_due(token)
        sent = {each.recipient for each in notifications(store) if each.sent_at is not None}
        deliverer.finish(timedelta(seconds=PATIENCE))

    assert sent <= {ONCALL}
    pending = [each for each in notifications(store) if each.state is NotificationState.PENDING]
    assert {each.recipient for each in pending} == {HOOK}
    assert [each.attempts for each in pending if each.attempts] == [1]
