"""One installation that holds a canary in each secret, among servers that quote what they get."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from html import unescape
from pathlib import Path
from typing import Any, Final

import httpx
from pandas import read_parquet
from pyotp import TOTP
from sqlalchemy import MetaData, create_engine, make_url, select
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from dashboard.domain.alerts.notification import Recipient
from dashboard.store.engine.engine import open_store
from dashboard.store.maintenance.export import ExportKind
from dashboard.web.api.endpoint import PREFIX
from dashboard.web.api.server import ENDPOINTS
from tests import plain_http
from tests.builders import a_hash
from tests.canaries import canary
from tests.certificate import make_certificate
from tests.delivery_checks import make_pending, notifications
from tests.installation import Installation, answers, command, free_ports, new_installation
from tests.integration.canary_settings import NETWORKS, RECIPIENTS, settings_text
from tests.integration.echoing_servers import (
    Heard,
    echoing_http,
    echoing_imap,
    echoing_postgresql,
    echoing_smtp,
)
from tests.mail_server import rude_server
from tests.postgresql import migrated_database
from tests.received_mail import read_mail
from tests.waiting import PATIENCE, eventually

COOKIE: Final = "__Host-linewatch"
HASH: Final = str(a_hash(1))
CHANNELS: Final = ("hook", "am", "chat")
_PATHS: Final = {
    "hash": HASH,
    "sender": "0x" + "1" * 40,
    "id": "0" * 32,
    "number": "1",
    "name": "nobody",
}


@dataclass
class CanarySite:
    """The installation, what its servers heard, what it `said` by place, and secrets it `made`."""

    here: Installation
    log: Path
    heard: Heard
    store: str
    said: list[tuple[str, bytes]] = field(default_factory=list)
    made: dict[str, str] = field(default_factory=dict)

    def note(self, where: str, content: bytes | str) -> None:
        """Keep something that somebody may read."""
        self.said.append((where, content.encode() if isinstance(content, str) else content))

    def run(self, *arguments: str, **variables: str) -> str:
        """Run a command, keep what it printed, and return it."""
        here = replace(self.here, variables={**self.here.variables, **variables})
        done = here.run(*arguments)
        self.note(f"linewatch {' '.join(arguments)}", done.stdout + done.stderr)
        return done.stdout

    def make(self, *arguments: str) -> str:
        """Run a command that prints a new secret to whoever made it, which is no leak."""
        done = self.here.run(*arguments)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def ask(self, verb: str, url: str, **more: Any) -> httpx.Response:  # noqa: ANN401 - httpx's own
        """Ask over HTTP, and keep the answer."""
        reply = plain_http.request(verb, url, **more)
        self.note(f"{verb} {url}", f"{reply.headers}\n".encode() + reply.content)
        return reply


def install(folder: Path, store: str, http: int = 1, smtp: int = 1, imap: int = 1) -> Installation:
    """Write the settings, and the files that they name; nothing is started yet."""
    home = folder / "home"
    home.mkdir(mode=0o700)
    password = canary("database password")
    url = make_url(store).set(password=password).render_as_string(hide_password=False)
    for name, text in {
        folder / "store-url": url,
        folder / "bounces-password": canary("bounces password"),
        home / "linewatch.toml": settings_text(http, smtp, imap, folder, url),
    }.items():
        name.touch(mode=0o600)
        name.write_text(text, encoding="utf-8")
    [closed] = free_ports(1)
    here = new_installation(
        home,
        MAIL_PASSWORD=canary("mail password"),
        LINEWATCH_SERVE_METRICS_KEY=canary("metrics key"),
        OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=f"http://127.0.0.1:{closed}/{canary('traces url')}",
        OTEL_EXPORTER_OTLP_HEADERS=f"authorization=Bearer%20{canary('traces header')}",
        OTEL_BSP_SCHEDULE_DELAY="1000",
        STREAMLIT_LOGGER_LEVEL="debug",
    )
    public = {"LINEWATCH_PAGES_PUBLIC_URL": here.pages}
    return replace(here, variables={**here.variables, **public})


@contextmanager
def running_site(folder: Path) -> Iterator[CanarySite]:
    """Start the servers that the installation asks; it is started by `play`."""
    heard = Heard()
    tls = make_certificate(folder).for_server()
    with (
        migrated_database() as store,
        echoing_http(heard) as http,
        rude_server(echoing_smtp(heard)) as smtp,
        rude_server(echoing_imap, tls) as imap,
    ):
        here = install(folder, store, http, smtp, imap)
        yield CanarySite(here, folder / "log", heard, store)


def play(site: CanarySite) -> None:
    """Let everything work and fail, and keep whatever is said meanwhile."""
    recipients = [Recipient("mail", each) for each in RECIPIENTS]
    recipients += [Recipient(each, each) for each in CHANNELS]
    with open_store(site.store) as store:
        make_pending(store, recipients=recipients)
        with site.here.start(command("up"), site.log) as process:

            def runs() -> bool:
                assert process.poll() is None, site.log.read_text(encoding="utf-8")
                return answers(f"{site.here.pages}/live")

            eventually(runs, what="the start of the pages")
            wanted = set(RECIPIENTS) | set(CHANNELS)
            eventually(
                lambda: {e.recipient.address for e in notifications(store) if e.attempts} >= wanted,
                what="an attempt at each channel",
            )
            eventually(lambda: _all_asked(site), what="a question to each server")
            _ask_serve(site)
            cookie = _sign_in(site)
            (backups := site.here.home / "backups").mkdir(mode=0o700)
            site.run("backup", str(backups), "--keep", "1")
            assert list(backups.iterdir())  # Health and doctor name it
            _ask_pages(site, cookie)
            _run_commands(site)
            for number in site.here.processes():
                for name in ("cmdline", "comm"):
                    file = Path("/proc", str(number), name)
                    site.note(f"{name} of a process", file.read_bytes())
    site.note("the log", site.log.read_bytes())
    _note_store(site)
    for to, content in site.heard.mails:
        mail = read_mail(content)
        texts = [str(part.get_content()) for part in mail.walk() if not part.is_multipart()]
        site.note(f"mail to {to}", "\n".join([*(f"{k}: {v}" for k, v in mail.items()), *texts]))


def _all_asked(site: CanarySite) -> bool:
    asked = " ".join(site.heard.paths)
    wanted = [canary(f"{name} gas") for name in NETWORKS]
    return all(each in asked for each in wanted)


def _ask_serve(site: CanarySite) -> None:
    """Present the key of serve where it belongs and where it does not."""
    base, key, secret = site.here.serve, canary("serve key"), canary("serve secret")
    for path in ("/live", "/ready", "/openapi.json", "/openrpc.json", "/", "/metrics"):
        site.ask("GET", base + path)
    bearer = {"Authorization": f"Bearer {canary('metrics key')}"}
    site.ask("GET", f"{base}/metrics", headers=bearer)
    call = {"jsonrpc": "2.0", "id": 1, "method": "linea_getTransactionExclusionStatusV1"}
    for path in (f"/v3/{key}", f"/v3/{secret}", "/"):
        site.ask("POST", base + path, json=call | {"params": [key]}, auth=(key, secret))
    for path in (f"/networks/7000/{key}", f"/networks/{key}/suggestedGasFees"):
        plain_http.get(base + path, auth=(key, secret))  # it quotes that to who wrote it there


def _sign_in(site: CanarySite) -> str:
    """Invite an admin, who sets a password and an authenticator app; return the cookie."""
    pages, made, password = site.here.pages, site.made, canary("password of Ada")
    origin = {"Origin": pages}
    [made["invitation"]] = re.findall(
        r"/invitation/(\S+)", site.make("people", "invite", "Ada", "--role", "admin")
    )
    [made["other invitation"]] = re.findall(
        r"/invitation/(\S+)", site.make("people", "invite", "Bob")
    )
    reply = site.ask(
        "POST",
        f"{pages}/invitation/{made['invitation']}",
        data={"password": password},
        headers=origin,
    )
    site.said.pop()  # the cookie belongs into this answer
    cookie = made["session"] = reply.cookies[COOKIE]
    signed_in = {**origin, "Cookie": f"{COOKIE}={cookie}"}

    def send(**form: str) -> str:
        return plain_http.post(f"{pages}/account", data=form, headers=signed_in).text

    [key] = re.findall(r'name="key" value="([^"]*)"', send(act="set-up-app"))
    made["authenticator key"] = unescape(key)
    done = send(act="add-app", key=key, code=TOTP(key).now())
    for place, code in enumerate(re.findall(r"<code>([A-Z2-7-]{19})</code>", done)):
        made[f"recovery code {place}"] = code
    site.ask("GET", f"{pages}/account", headers=signed_in)
    named = {"name": "Ada", "password": password}
    site.ask("POST", f"{pages}/sign-in", data=named, headers=origin)
    plain_http.post(f"{pages}/sign-in", data=named | {"name": password}, headers=origin)
    begun = plain_http.get(f"{pages}/sign-in/id", follow_redirects=False)
    state = httpx.URL(begun.headers["location"]).params["state"]
    attempt = {"Cookie": "; ".join(f"{k}={v}" for k, v in begun.cookies.items())}
    site.ask(
        "GET", f"{pages}/sign-in/id/callback", params={"state": state, "code": "x"}, headers=attempt
    )
    return cookie


def _ask_pages(site: CanarySite, cookie: str) -> None:
    """Draw every page and ask for everything that the management API tells an admin."""
    for path in ("", "fees", "rejections", "lookup", "tracked", "alerts", "health", "settings"):
        query = f"tx={HASH}" if path == "lookup" else ""
        site.note(f"page {path}", b"".join(_drawn(site.here, cookie, path, query)))
    for path in ("/live", "/ready", "/metrics", "/", "/sign-in", "/_stcore/host-config"):
        site.ask("GET", site.here.pages + path, headers={"Cookie": f"{COOKIE}={cookie}"})
    token = site.make("tokens", "create", "ci", "--role", "admin").split()
    [site.made["token"]] = [each for each in token if each.startswith("lwt_")]
    bearer = {"Authorization": f"Bearer {site.made['token']}"}
    made = json.loads(site.make("keys", "create", "kept", "--json"))
    site.made |= {"key": made["key"], "secret of key": made["secret"]}
    share = json.loads(site.make("shares", "create", HASH, "--json"))
    site.made["share link"] = share["link"].rpartition("/")[2]
    for endpoint in ENDPOINTS:
        if endpoint.verb == "GET":
            path = re.sub(r"\{(\w+)\}", lambda part: _PATHS[part[1]], endpoint.path)
            site.ask("GET", f"{site.here.pages}{PREFIX}{path}", headers=bearer)
    site.ask("GET", f"{site.here.pages}{PREFIX}/openapi.json", headers=bearer)


def _drawn(here: Installation, cookie: str, path: str, query: str) -> Iterator[bytes]:
    """Open a page as a browser does; yield all that comes until it is drawn."""
    with connect(
        f"ws://127.0.0.1:{here.pages_port}/_stcore/stream",
        additional_headers={"Cookie": f"{COOKIE}={cookie}"},
        subprotocols=[Subprotocol("streamlit")],
        max_size=None,
        max_queue=None,
        proxy=None,
    ) as socket:
        state = ClientState(page_name=path, query_string=query)
        socket.send(BackMsg(rerun_script=state).SerializeToString())
        kind = None
        while kind != "script_finished":
            raw = socket.recv(timeout=PATIENCE, decode=False)
            kind = ForwardMsg.FromString(raw).WhichOneof("type")
            yield raw


def _run_commands(site: CanarySite) -> None:
    for words in (
        "config show --json",
        "config check",
        "config try",
        "config export",
        "doctor",
        "audit --json",
        *(f"{each} list --json" for each in ("keys", "people", "tokens", "shares")),
        "people sessions --json",
        "alerts --json",
        "alerts test-send",
        f"lookup {HASH}",
    ):
        site.run(*words.split())
    for kind in ExportKind:
        site.run("export", kind, "--to", "-")
        file = site.here.home / f"{kind}.parquet"
        site.run("export", kind, "--to", str(file))
        site.note(file.name, read_parquet(file).to_csv())
    site.heard.refuses_logins = True
    site.run("alerts", "test-send")
    smtp = re.findall(r"smtp_port = (\d+)", (site.here.home / "linewatch.toml").read_text())
    mail = f"--to a@example.org --smtp-host 127.0.0.1 --smtp-port {smtp[0]} --security none"
    login = "--username linewatch --password env:MAIL_PASSWORD"
    chosen = "--watch simulated --sign-in nobody --replace"
    site.run("setup", *f"{chosen} {mail} {login}".split())
    with rude_server(echoing_postgresql) as port:
        wrong = f"postgresql://linewatch:{canary('database password')}@127.0.0.1:{port}/linewatch"
        for words in ("verify", "doctor", "keys list", "serve"):
            site.run(*words.split(), LINEWATCH_STORE_URL=wrong)


def _note_store(site: CanarySite) -> None:
    """Keep all that a thief of the store would read, but for what has to be kept there."""
    engine = create_engine(make_url(site.store).set(drivername="postgresql+psycopg"))
    tables = MetaData()
    tables.reflect(engine)
    with engine.connect() as connection:
        for table in tables.sorted_tables:
            kept = [each for each in table.columns if each.name != "totp_key"]  # as it must be
            site.note(f"table {table.name}", str(connection.execute(select(*kept)).fetchall()))
    engine.dispose()
