"""Which servers a worker asks through TLS, and what each is called."""

from __future__ import annotations

from pathlib import Path

from dashboard.settings import load_settings
from dashboard.wiring.clients import tls_servers

SETTINGS = """
[mail]
smtp_host = "SMTP.example.org"
recipients = ["ops@example.org"]
[bounces]
imap_host = "imap.example.org"
username = "bounces"
password = "canary"
[alerts]
heartbeat_url = "https://ping.example.org/canary-key"
[channels.hook]
kind = "webhook"
url = "https://hooks.example.org/canary-key"
secrets = ["whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"]
[networks.linea]
network_id = 59144
gas = { url = "https://api.example.org", key = "canary", secret = "canary" }
exclusion = { url = "wss://api.example.org", key = "canary" }
nodes = [{ url = "https://a.example.org/canary" }, { url = "http://127.0.0.1:8545" }]
"""


def test_each_server_is_called_by_what_it_is_for_and_never_by_its_address(tmp_path: Path) -> None:
    (tmp_path / "linewatch.toml").write_text(SETTINGS, encoding="utf-8")

    assert tls_servers(load_settings({"LINEWATCH_HOME": str(tmp_path)})) == {
        "smtp.example.org": "the mail server",
        "imap.example.org": "the mailbox of bounces",
        "hooks.example.org": "channel hook",
        "ping.example.org": "the heartbeat",
        "api.example.org": "the linea gas endpoint",
        "a.example.org": "the linea node 1",
    }
