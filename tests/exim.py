"""A real Exim for tests, with TLS and a login: it is stopped and started, and keeps Maildirs."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests import unprivileged
from tests.certificate import Certificate, make_certificate
from tests.installation import free_ports, listens
from tests.mail_server import PASSWORD, USERNAME
from tests.provision import program
from tests.received_mail import read_mail
from tests.waiting import PATIENCE, eventually

DOMAIN: Final = "example.org"
_SETTINGS: Final = """\
primary_hostname = mail.example.org
spool_directory = {folder}/spool
log_file_path = {folder}/%slog
pid_file_path = {folder}/pid
local_interfaces = 127.0.0.1
daemon_smtp_ports = {port}
exim_user = {user}
exim_group = {group}
admin_groups = {group}
never_users =
keep_environment =
deliver_drop_privilege
host_lookup =
tls_advertise_hosts = *
tls_certificate = {certificate}
acl_smtp_mail = mail
acl_smtp_rcpt = rcpt
acl_smtp_data = accept
begin acl
mail:
  accept authenticated = *
  deny message = log in first
rcpt:
  accept domains = {domain}
  deny message = relaying is not for you
begin authenticators
plain:
  driver = plaintext
  public_name = PLAIN
  server_advertise_condition = ${{if def:tls_in_cipher}}
  server_condition = ${{if and{{{{eq{{$auth2}}{{{username}}}}}{{eq{{$auth3}}{{{password}}}}}}}}}
begin routers
mailbox:
  driver = accept
  local_parts = {mailboxes}
  transport = maildir
begin transports
maildir:
  driver = appendfile
  maildir_format
  directory = {folder}/mail/$local_part_data
  user = {user}
begin retry
* * F,1h,1m
"""


@dataclass
class Exim:
    """A mail server on a port of this machine; it takes mail for some mailboxes of `DOMAIN`."""

    folder: Path
    port: int
    mailboxes: tuple[str, ...]
    certificate: Certificate
    _process: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        exim = program("exim4-daemon-light")
        self._process.append(unprivileged.start(exim, "-C", self.folder / "exim.conf", "-bdf"))
        eventually(
            lambda: listens(self.port), what=f"the start of Exim ({self.folder / 'mainlog'})"
        )

    def stop(self) -> None:
        """Take no connection any more; what was taken stays."""
        while self._process:
            process = self._process.pop()
            process.terminate()
            process.wait(PATIENCE)

    def mails(self, mailbox: str) -> list[EmailMessage]:
        """Return what was delivered to a mailbox, in the order of its arrival."""
        files = sorted((self.folder / "mail" / mailbox / "new").glob("*"))
        return [read_mail(each.read_bytes().replace(b"\n", b"\r\n")) for each in files]


@contextmanager
def running_exim(*mailboxes: str) -> Iterator[Exim]:
    """Run one until the end; its folder is its own, since it may run as somebody else."""
    owner = unprivileged.account()
    with TemporaryDirectory(prefix="exim-") as name:
        folder, [port] = Path(name), free_ports(1)
        certificate = make_certificate(folder)
        text = _SETTINGS.format(
            folder=folder,
            port=port,
            user=owner.pw_name,
            group=owner.pw_gid,
            domain=DOMAIN,
            certificate=certificate.path,
            username=USERNAME,
            password=PASSWORD,
            mailboxes=" : ".join(mailboxes),
        )
        (folder / "exim.conf").write_text(text, encoding="ascii")
        unprivileged.give(folder)
        server = Exim(folder, port, mailboxes, certificate)
        server.start()
        try:
            yield server
        finally:
            server.stop()
