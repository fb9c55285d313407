"""No secret of a channel is shown anywhere: commands, logs, the audit log, metrics, the store."""

from __future__ import annotations

from pathlib import Path

from dashboard.domain.alerts.notification import Recipient
from dashboard.store.engine.engine import Store
from tests.delivery_checks import make_pending, notifications
from tests.installation import new_installation
from tests.integration.seeded_installation import store_of
from tests.waiting import eventually
from tests.webhook_server import Receiver, http_receiver

KEY = b"canary".ljust(24, b"-")
SETTINGS = """\
[alerts]
fallback = "hook"
heartbeat_url = "http://127.0.0.1:{port}/canary-ping"
heartbeat_period = "1s"
heartbeat_allow_private = true
[bounces]
imap_host = "127.0.0.1"
imap_port = {port}
username = "me"
password = "canary-imap"
period = "1s"
[channels.hook]
kind = "webhook"
url = "http://127.0.0.1:{port}/canary-hook?token=canary-token"
secrets = ["whsec_Y2FuYXJ5LS0tLS0tLS0tLS0tLS0tLS0tLS0t"]
allow_private = true
[channels.am]
kind = "alertmanager"
url = "http://127.0.0.1:{port}"
username = "me"
password = "canary-am"
allow_private = true
[channels.chat]
kind = "apprise"
url = "ntfy://127.0.0.1:{port}/canary-topic"
allow_private = true
"""
CHANNELS = ("hook", "am", "chat")
SHOWN = ("canary", "Y2FuYXJ5", "bWU6Y2FuYXJ5")


COMMANDS = (
    ("config", "show"),
    ("config", "check"),
    ("alerts", "--json"),
    ("alerts", "test-send"),
    ("audit", "--json"),
)


def test_secrets_of_channels_are_shown_nowhere_though_all_of_them_fail(tmp_path: Path) -> None:
    here = new_installation(tmp_path / "home")
    here.home.mkdir()
    receiver = Receiver(404, body=b"nothing is here")
    log = tmp_path / "log"

    with http_receiver(receiver) as port:
        text = SETTINGS.format(port=port)
        (here.home / "linewatch.toml").write_text(text, encoding="utf-8")
        with store_of(here) as store:
            make_pending(store, recipients=[Recipient(name, name) for name in CHANNELS])
            with here.role("worker", log):
                eventually(lambda: set(_attempted(store)) == set(CHANNELS), what="all attempts")
        shown = [here.run(*arguments) for arguments in COMMANDS]

    printed = [each.stdout + each.stderr for each in shown] + [log.read_text(encoding="utf-8")]
    stored = b"".join(path.read_bytes() for path in here.home.glob("linewatch.sqlite*"))
    assert [each for each in SHOWN if any(each in text for text in printed)] == []
    assert b"canary" not in stored
    assert any("404 Not Found" in text for text in printed)


def _attempted(store: Store) -> list[str]:
    return [each.recipient.channel for each in notifications(store) if each.attempts]
