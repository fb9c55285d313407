"""A real Dovecot for tests: one mailbox over IMAP with TLS, kept as a Maildir."""

from __future__ import annotations

import grp
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tests import unprivileged
from tests.certificate import Certificate, make_certificate
from tests.installation import free_ports, listens
from tests.provision import program
from tests.waiting import PATIENCE, eventually

USERNAME: Final = "bounces@example.org"
PASSWORD: Final = "canary-of-imap"
_SETTINGS: Final = """\
base_dir = {folder}/run
log_path = {folder}/log
protocols = imap
auth_failure_delay = 0
listen = 127.0.0.1
ssl = required
ssl_cert = <{certificate}
ssl_key = <{certificate}
default_internal_user = {user}
default_internal_group = {group}
default_login_user = {user}
mail_location = maildir:{folder}/mail
passdb {{
  driver = static
  args = password={password} user={username}
}}
userdb {{
  driver = static
  args = uid={user} gid={group} home={folder}
}}
service anvil {{
  chroot =
  unix_listener anvil-auth-penalty {{
    mode = 0
  }}
}}
service stats {{
  chroot =
}}
service imap-login {{
  chroot =
  inet_listener imap {{
    port = 0
  }}
  inet_listener imaps {{
    port = {port}
    ssl = yes
  }}
}}
"""


@dataclass(frozen=True)
class Dovecot:
    """A mail server that listens on a port of this machine."""

    folder: Path
    port: int
    certificate: Certificate

    def put(self, name: str, content: bytes) -> None:
        """Let a mail arrive."""
        (self.folder / "mail" / "new" / name).write_bytes(content)

    def unread(self) -> list[str]:
        """Return the names of the mails that nobody read."""
        found = (each.name.partition(":2,") for each in (self.folder / "mail").glob("[cn]*/*"))
        return sorted(name for name, _, flags in found if "S" not in flags)


@contextmanager
def running_dovecot() -> Iterator[Dovecot]:
    """Run one until the end, of the versions 2.3 that Debian 12 and Ubuntu 24.04 have."""
    owner = unprivileged.account()
    with TemporaryDirectory(prefix="dovecot-") as name:
        folder, [port] = Path(name), free_ports(1)
        certificate = make_certificate(folder)
        text = _SETTINGS.format(
            folder=folder,
            port=port,
            user=owner.pw_name,
            group=grp.getgrgid(owner.pw_gid).gr_name,
            certificate=certificate.path,
            username=USERNAME,
            password=PASSWORD,
        )
        (folder / "dovecot.conf").write_text(text, encoding="ascii")
        for each in ("new", "cur", "tmp"):
            (folder / "mail" / each).mkdir(parents=True)
        unprivileged.give(folder)
        process = unprivileged.start(program("dovecot-imapd"), "-F", "-c", folder / "dovecot.conf")
        try:
            eventually(lambda: listens(port), what=f"the start of Dovecot ({folder / 'log'})")
            yield Dovecot(folder, port, certificate)
        finally:
            process.terminate()
            process.wait(PATIENCE)
