"""[bounces]: the mailbox in which messages come back, and the check that it can be read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from dashboard.domain.secret import Secret
from dashboard.settings.layers import Remark
from dashboard.settings.mistakes import as_far_as_readable
from dashboard.settings.values import Duration


class BounceSettings(Struct, frozen=True, forbid_unknown_fields=True):
    """[bounces]: a Maildir, or a mailbox over IMAP with TLS; neither: bounces are not read."""

    maildir: str
    imap_host: str
    imap_port: Annotated[int, Meta(ge=1, le=65535)]
    username: str
    password: Secret
    mailbox: str
    period: Duration


@as_far_as_readable
def check_bounces(bounces: BounceSettings) -> Iterator[Remark]:
    """Yield what contradicts itself."""
    if bounces.maildir and bounces.imap_host:
        yield ("bounces", "imap_host"), "and bounces.maildir exclude each other: choose one"
    if bounces.imap_host and not bounces.username:
        yield ("bounces", "username"), "is empty and bounces.imap_host is set: say who logs in"
    if not bounces.mailbox.isprintable() or '"' in bounces.mailbox or "\\" in bounces.mailbox:
        yield ("bounces", "mailbox"), "is no name of a mailbox: write one such as INBOX"
