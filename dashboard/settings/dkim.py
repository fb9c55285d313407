"""[mail]: the key with which mails are signed, and its name in DNS."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from dashboard.alert.channels.mime import DkimSigner, read_dkim_key
from dashboard.domain.people.recipients import MailAddress
from dashboard.errors import InputError
from dashboard.settings.layers import Remark
from dashboard.settings.schema import MailSettings

_SELECTOR: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?", re.ASCII | re.IGNORECASE)


def dkim_signer(mail: MailSettings) -> DkimSigner | None:
    """Return what signs mails, None where no key is configured; InputError where it cannot."""
    if not mail.dkim_key_file:
        return None
    domain = MailAddress.parse(mail.sender).domain
    return DkimSigner(domain, mail.dkim_selector, read_dkim_key(mail.dkim_key_file))


def check_dkim(mail: MailSettings) -> Iterator[Remark]:
    """Find a key that cannot be used, and one whose name in DNS is missing."""
    if mail.dkim_key_file and not _SELECTOR.fullmatch(mail.dkim_selector):
        message = (
            "has to name the public key in DNS: for linewatch._domainkey.example.org write "
            "linewatch"
        )
        yield ("mail", "dkim_selector"), message
    if mail.dkim_selector and not mail.dkim_key_file:
        yield ("mail", "dkim_selector"), "is without effect: set mail.dkim_key_file as well"
    try:
        if mail.dkim_key_file:
            read_dkim_key(mail.dkim_key_file)
    except InputError as error:
        yield ("mail", "dkim_key_file"), f"cannot be used: {error}"
