"""The whole product as people install it: `linewatch up` from its wheel, and what is around it."""

from __future__ import annotations

import os
import re
import socket
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.installation import Installation, free_ports, new_installation
from tests.mail_server import Inbox, mail_server
from tests.processes import PROJECT
from tests.provision import program
from tests.waiting import PATIENCE
from tests.webhook_server import Receiver, http_receiver

RULES = PROJECT / "deploy" / "prometheus" / "linewatch.rules.yml"
CURLS = [
    line
    for block in re.findall(r"```\w*\n(.*?)```", (PROJECT / "README.md").read_text(), re.DOTALL)
    for line in block.replace("\\\n", " ").splitlines()
    if line.startswith("curl ")
]
"""The calls of the README."""

_PROMETHEUS = """\
global: {{ scrape_interval: 1s, evaluation_interval: 1s }}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: linewatch
    static_configs: [{{ targets: ["127.0.0.1:{port}"] }}]
"""


@dataclass(frozen=True)
class Product:
    """An `up` that runs, the mails that it sends, and what systemd and others hear of it."""

    installation: Installation
    process: subprocess.Popen[bytes]
    log: Path
    inbox: Inbox
    notified: socket.socket
    prometheus: str
    collector: Receiver

    def systemd_hears(self) -> str:
        """Return the next message to systemd."""
        return self.notified.recv(200).decode()


def build_wheel(folder: Path) -> Path:
    """Build the wheel, as of a fixed moment."""
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=PROJECT,
        env={**os.environ, "SOURCE_DATE_EPOCH": "1763980000"},
        check=True,
        capture_output=True,
        timeout=PATIENCE,
    )
    [wheel] = folder.glob("*.whl")
    return wheel


@contextmanager
def whole_product(wheel: Path, folder: Path) -> Iterator[Product]:
    """Run everything from a wheel, which also answers under the name watch.example."""
    inbox, log, collector = Inbox(), folder / "log", Receiver(status=200)
    with (
        mail_server(inbox) as mail_port,
        http_receiver(collector) as traces_port,
        socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified,
    ):
        notified.bind(str(folder / "notify"))
        notified.settimeout(PATIENCE)
        installation = new_installation(
            folder / "home",
            **_only_the_wheel(wheel, folder / "site"),
            NOTIFY_SOCKET=str(folder / "notify"),
            LINEWATCH_PAGES_PUBLIC_URL="https://watch.example/linewatch",
            LINEWATCH_MAIL_RECIPIENTS="oncall@example.org",
            LINEWATCH_MAIL_SMTP_HOST="127.0.0.1",
            LINEWATCH_MAIL_SMTP_PORT=str(mail_port),
            LINEWATCH_MAIL_SECURITY="none",
            OTEL_EXPORTER_OTLP_ENDPOINT=f"http://127.0.0.1:{traces_port}",
            OTEL_BSP_SCHEDULE_DELAY="500",
            LINEWATCH_ALERTS_LARGEST_HOURLY="1000",  # devnet alone has more to say than a few
        )
        up = [sys.executable, "-m", "dashboard.cli.main", "up"]
        with (
            _prometheus(installation.serve_port, folder) as prometheus,
            installation.start(up, log) as process,
        ):
            yield Product(installation, process, log, inbox, notified, prometheus, collector)


def _only_the_wheel(wheel: Path, site: Path) -> dict[str, str]:
    """Unpack a wheel; return the variables with which Python finds nothing else of ours."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(site)
    subprocess.run([sys.executable, "-m", "compileall", "-q", site], check=True)
    for each in site.rglob("*"):
        each.chmod(0o555 if each.is_dir() else 0o444)  # nothing of it may be written
    return {
        "PYTHONPATH": os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")]),
        "PYTHONSAFEPATH": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


@contextmanager
def _prometheus(port: int, folder: Path) -> Iterator[str]:
    """Run a Prometheus that scrapes serve at a port; yield its address."""
    [own] = free_ports(1)
    settings = folder / "prometheus.yml"
    settings.write_text(_PROMETHEUS.format(rules=RULES, port=port), encoding="utf-8")
    arguments = [
        f"--config.file={settings}",
        f"--storage.tsdb.path={folder / 'data'}",
        f"--web.listen-address=127.0.0.1:{own}",
    ]
    with (folder / "prometheus.log").open("wb") as log:
        process = subprocess.Popen([program("prometheus"), *arguments], stdout=log, stderr=log)
    try:
        yield f"http://127.0.0.1:{own}"
    finally:
        process.terminate()
        process.wait(PATIENCE)
