"""Two serves behind a real HAProxy are restarted one after the other while nodes report."""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

import httpx

from tests import plain_http
from tests.faults.rows import Chance, Row, playing
from tests.faults.serve_faults import ServeSite, serve_site
from tests.installation import free_ports
from tests.processes import PROJECT, last_lines
from tests.provision import program
from tests.waiting import PATIENCE, eventually

_CONFIGURED: Final = PROJECT / "deploy" / "haproxy.cfg"
_STATE: Final = """
frontend state
    bind 127.0.0.1:{port}
    stats enable
    stats uri /
"""


@contextmanager
def _haproxy(folder: Path, ports: Sequence[int]) -> Iterator[tuple[int, str]]:
    """Run HAProxy with the configuration that we ship; yield its port, and where its state is."""
    own, pages, state = free_ports(3)
    text = _CONFIGURED.read_text(encoding="utf-8").replace("bind :8500", f"bind 127.0.0.1:{own}")
    text = text.replace("127.0.0.1:8400", f"127.0.0.1:{pages}")
    for before, port in zip((8502, 8512), ports, strict=True):
        assert f"127.0.0.1:{before}\n" in text
        text = text.replace(f"127.0.0.1:{before}\n", f"127.0.0.1:{port}\n")
    settings, log = folder / "haproxy.cfg", folder / "haproxy.log"
    settings.write_text(text + _STATE.format(port=state), encoding="utf-8")
    with log.open("wb") as output:
        command = [str(program("haproxy")), "-db", "-f", str(settings)]
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        address = f"http://127.0.0.1:{state}/;csv"
        eventually(lambda: _up(address) == len(ports), what=f"both serves up ({last_lines(log)})")
        yield own, address
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _up(address: str) -> int:
    """Return how many serves HAProxy holds to be up."""
    try:
        lines = plain_http.get(address).text.removeprefix("# ").splitlines()
    except httpx.TransportError:
        return 0
    serves = (each for each in csv.DictReader(lines) if each["pxname"] == "serves")
    return sum(each["status"] == "UP" and each["svname"] != "BACKEND" for each in serves)


def _restart_in_turn(site: ServeSite, chance: Chance) -> None:
    """Restart both, each once HAProxy holds both to be up; no answer over HTTP may be missing."""
    site.start()
    servers = site.home.servers
    with (
        _haproxy(site.home.store.parent, [each.port for each in servers]) as (port, state),
        site.under_load(chance, through=port) as load,
    ):
        for server in chance.sample(servers, len(servers)):
            assert server.terminate() == 0, server.last_lines()
            load.wait_for_another()
            server.start()
            server.wait_until_ready()
            eventually(lambda: _up(state) == len(servers), what="both serves up again")
            load.wait_for_another()
    assert load.broken["_over_http"] == [], "an answer over HTTP was missing"


ROLLING_RESTART = Row(
    name="rolling-restart",
    promise=(
        "two `serve` behind HAProxy are restarted in turn while nodes report: every report is "
        "acknowledged, over WebSocket once its node connects again, and stored once and whole"
    ),
    short=1,
    full=100,
    stage=playing(partial(serve_site, doors=2), _restart_in_turn, lives=25),
)
