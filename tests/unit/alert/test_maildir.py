"""Messages into a Maildir."""

from __future__ import annotations

import mailbox
from pathlib import Path

import pytest

from dashboard.alert.channels.maildir import MaildirChannel
from dashboard.errors import DeliveryBlocked
from tests.received_mail import mails_of
from tests.recording_channel import MESSAGE, SENDER, some_headers


def test_message_becomes_a_mail_that_readers_know(tmp_path: Path) -> None:
    MaildirChannel(tmp_path / "mail", SENDER).send(MESSAGE, some_headers())

    [mail] = mails_of(tmp_path / "mail")
    assert len(mailbox.Maildir(tmp_path / "mail", create=False)) == 1
    assert mail["Subject"] == MESSAGE.subject
    assert mail["To"] == "oncall@example.org"


def test_repeat_is_the_same_file(tmp_path: Path) -> None:
    channel = MaildirChannel(tmp_path, SENDER)

    answers = {channel.send(MESSAGE, some_headers()) for _ in range(2)}

    assert len(answers) == len(list((tmp_path / "new").iterdir())) == 1


def test_repeat_of_a_mail_that_was_read_adds_nothing(tmp_path: Path) -> None:
    channel = MaildirChannel(tmp_path, SENDER)
    channel.send(MESSAGE, some_headers())
    [mail] = (tmp_path / "new").iterdir()
    mail.rename(tmp_path / "cur" / f"{mail.name}:2,S")

    channel.send(MESSAGE, some_headers())

    assert list((tmp_path / "new").iterdir()) == []


def test_messages_of_two_notifications_are_two_files(tmp_path: Path) -> None:
    channel = MaildirChannel(tmp_path, SENDER)

    for number in (1, 2):
        channel.send(MESSAGE, some_headers(number))

    assert len(list((tmp_path / "new").iterdir())) == 2


def test_unfinished_file_is_left_nowhere(tmp_path: Path) -> None:
    MaildirChannel(tmp_path, SENDER).send(MESSAGE, some_headers())

    assert list((tmp_path / "tmp").iterdir()) == []


def test_folder_that_cannot_be_written_keeps_the_message_pending(tmp_path: Path) -> None:
    (tmp_path / "mail").write_text("a file, not a folder", encoding="utf-8")

    with pytest.raises(DeliveryBlocked, match="the Maildir cannot be written: Not a directory"):
        MaildirChannel(tmp_path / "mail", SENDER).send(MESSAGE, some_headers())
