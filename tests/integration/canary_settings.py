"""Settings in which each secret is a canary; servers that quote what they get stand behind them."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path
from typing import Final

from sqlalchemy import make_url

from tests.builders import A_NETWORK
from tests.canaries import canary

RECIPIENTS: Final = ("ops@example.org", "night@example.org", "refused@example.org")
NETWORKS: Final = {
    "one": (7_000, "http rpc", "http long", "http refuse", "http moved"),
    "two": (7_001, "http long", "http refuse", "http long", "http rpc"),
    "three": (int(A_NETWORK), "ws refuse", "http moved", "https tls", "http half"),
}
"""How exclusion and gas endpoint, node and second node of each network answer."""


def settings_text(http: int, smtp: int, imap: int, folder: Path, store: str) -> str:
    """Return settings in which each secret holds a canary."""
    networks = "".join(_network(name, http) for name in NETWORKS)
    replica = make_url(store).set(password=canary("replica")).render_as_string(hide_password=False)
    return f"""
[store]
url = "file:{folder}/store-url"
read_url = "{replica}"
[sign_in]
accounts = true
[sign_in.issuers.id]
url = "http://127.0.0.1:{http}/issuer"
client_id = "linewatch"
client_secret = "{canary("client secret")}"
roles = {{ "*" = "viewer" }}
[serve.keys.wallets]
key = "{canary("serve key")}"
secret = "{canary("serve secret")}"
[devnet]
mode = "off"
key = "{canary("serve key")}"
[tls]
ca_file = "{folder}/localhost.pem"
[alerts]
fallback = "hook"
heartbeat_url = "http://127.0.0.1:{http}/half/{canary("heartbeat")}"
heartbeat_period = "5s"
heartbeat_allow_private = true
{_messages(http, smtp, imap, folder)}
{networks}"""


def _messages(http: int, smtp: int, imap: int, folder: Path) -> str:
    signing = b64encode(canary("webhook secret").encode()).decode()
    return f"""
[mail]
recipients = {json.dumps(RECIPIENTS)}
smtp_host = "127.0.0.1"
smtp_port = {smtp}
security = "none"
username = "linewatch"
password = "env:MAIL_PASSWORD"
[bounces]
imap_host = "localhost"
imap_port = {imap}
username = "linewatch"
password = "file:{folder}/bounces-password"
period = "10s"
[poll]
gas_period = "1h"
[channels.hook]
kind = "webhook"
url = "http://127.0.0.1:{http}/half/{canary("hook path")}?token={canary("hook token")}"
secrets = ["whsec_{signing}"]
allow_private = true
[channels.am]
kind = "alertmanager"
url = "http://127.0.0.1:{http}/fail/{canary("alertmanager path")}"
username = "linewatch"
password = "{canary("alertmanager password")}"
allow_private = true
[channels.chat]
kind = "apprise"
url = "ntfy://linewatch:{canary("chat password")}@127.0.0.1:{http}/{canary("chat topic")}"
allow_private = true
"""


def _network(name: str, http: int) -> str:
    network_id, *places = NETWORKS[name]
    endpoints = []
    for role, place in zip(("exclusion", "gas", "node", "second"), places, strict=True):
        scheme, how = str(place).split()
        url = f"{scheme}://127.0.0.1:{http}/{how}/{canary(f'{name} {role}')}"
        key, secret = canary(f"{name} {role} key"), canary(f"{name} {role} secret")
        more = f', websocket_url = "{url.replace("http", "ws", 1)}"' if role == "exclusion" else ""
        more = more if scheme == "http" else ""
        endpoints.append(f'{{ url = "{url}", key = "{key}", secret = "{secret}"{more} }}')
    exclusion, gas, node, second = endpoints
    further = f"exclusions = [{exclusion}]" if name == "two" else ""
    return f"""
[networks.{name}]
network_id = {network_id}
exclusion = {exclusion}
{further}
gas = {gas}
node = {node}
nodes = [{second}]
serve_fees = {"true" if name == "two" else "false"}
"""
