"""Messages as files of a Maildir, each complete or absent."""

from __future__ import annotations

import os
import re
from pathlib import Path

from dashboard.alert.channels.mime import parse_sender, write_mail
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.errors import DeliveryBlocked, DeliveryWithheld
from dashboard.store.engine.disk import put_file

_FOLDERS = ("tmp", "new", "cur")


class MaildirChannel:
    """Writes below `folder`, which it creates if it is missing.

    A file is named after its Message-ID, so that a repeat replaces the first file, or is recognised
    if a mail program has moved that already.
    """

    def __init__(self, folder: Path, sender: str) -> None:
        """Write nothing yet; InputError for an invalid sender."""
        self._folder = folder
        self._sender = parse_sender(sender)

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Write one file durably and return its name. DeliveryBlocked if the disk refuses."""
        content = write_mail(message, headers, self._sender).as_bytes()
        name = _file_name(headers)
        try:
            for each in _FOLDERS:
                (self._folder / each).mkdir(mode=0o700, parents=True, exist_ok=True)
            if not may_send():
                raise DeliveryWithheld("the lease of this worker expired")
            if not self._was_read(name):
                unfinished = self._folder / "tmp" / f"{name}.{os.getpid()}"
                put_file(self._folder / "new" / name, content, unfinished)
        except OSError as error:
            raise DeliveryBlocked(
                f"the Maildir cannot be written: {error.strerror}; check its disk and owner"
            ) from error
        return f"written as {name}"

    def _was_read(self, name: str) -> bool:
        """Whether a reader has moved the file to `cur`, where it adds flags to the name."""
        return any((self._folder / "cur").glob(f"{name}*"))


def _file_name(headers: MessageHeaders) -> str:
    readable = re.sub(r"[^A-Za-z0-9@._-]", "", headers.message_id)
    return f"{int(headers.date.timestamp())}.{readable}"
