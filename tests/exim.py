"""A real Exim for tests, with TLS and a login: it is stopped and started, and keeps Maildirs."""

from __future__ import annotations

import os
import pwd
import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests.certificate import Certificate, make_certificate
from tests.installation import free_ports
from tests.mail_server import PASSWORD, USERNAME
from tests.provision import exim
from tests.received_mail import read_mail
from tests.waiting import eventually

DOMAIN: Final = "example.org"
_UNPRIVILEGED: Final = "nobody"
"""Who it runs as where the tests are root's: it refuses to write mail as root."""

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
    account: pwd.struct_passwd
    _process: list[subprocess.Popen[bytes]] = field(default_factory=list)

    def start(self) -> None:
        """Listen."""
        is_root = os.geteuid() == 0
        process = subprocess.Popen(
            [exim(), "-C", self.folder / "exim.conf", "-bdf"],
            user=self.account.pw_uid if is_root else None,
            group=self.account.pw_gid if is_root else None,
            extra_groups=[] if is_root else None,
            stdin=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,  # it says at its end that it leaves a file behind
        )
        self._process.append(process)
        eventually(self._listens, what=f"the start of Exim ({self.folder / 'mainlog'})")

    def stop(self) -> None:
        """Take no connection any more; what was taken stays."""
        while self._process:
            process = self._process.pop()
            process.terminate()
            process.wait(30)

    def mails(self, mailbox: str) -> list[EmailMessage]:
        """Return what was delivered to a mailbox, in the order of its arrival."""
        files = sorted((self.folder / "mail" / mailbox / "new").glob("*"))
        return [read_mail(each.read_bytes().replace(b"\n", b"\r\n")) for each in files]

    def _listens(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
        except OSError:
            return False
        return True


@contextmanager
def running_exim(*mailboxes: str) -> Iterator[Exim]:
    """Run one until the end; its folder is its own, since it may run as somebody else."""
    account = pwd.getpwnam(_UNPRIVILEGED) if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())
    with TemporaryDirectory(prefix="exim-") as name:
        folder, [port] = Path(name), free_ports(1)
        certificate = make_certificate(folder)
        text = _SETTINGS.format(
            folder=folder,
            port=port,
            user=account.pw_name,
            group=account.pw_gid,
            domain=DOMAIN,
            certificate=certificate.path,
            username=USERNAME,
            password=PASSWORD,
            mailboxes=" : ".join(mailboxes),
        )
        (folder / "exim.conf").write_text(text, encoding="ascii")
        for each in (folder, *folder.iterdir()):
            shutil.chown(each, account.pw_uid, account.pw_gid)
        server = Exim(folder, port, mailboxes, certificate, account)
        server.start()
        try:
            yield server
        finally:
            server.stop()
