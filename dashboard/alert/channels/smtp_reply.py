"""What a mail server's answer means: whether another attempt may succeed.

A notification that is marked dead wrongly is lost, one that stays pending wrongly costs a few
attempts more. So an answer is final only where it says that there is no such mailbox, or that this
message will never be taken. Enhanced codes (RFC 3463) say so best. All else may be corrected by a
person: a missing right to relay, a login, a refused sender, a filter, a full mailbox.
"""

from __future__ import annotations

import re
from typing import Final, TypeAlias

from dashboard.domain.foreign_text import visible

SmtpReply: TypeAlias = tuple[int, bytes | str]
"""The code and the text of an answer."""

_LONGEST: Final = 200
_PERMANENT: Final = 500
_ENHANCED: Final = re.compile(r"(?:^|#)([245]\.\d{1,3}\.\d{1,3})(?!\.?\d)")
"""At the start; qmail writes it with a hash at the end."""

_NO_MAILBOX: Final = {"5.1.1", "5.1.2", "5.1.3", "5.1.6", "5.1.10"}
"""Others of 5.1.x concern the sender, which Postfix refuses only when it hears the recipient."""

_NO_MAILBOX_BARE: Final = {550, 551, 553}
_ABOUT_US: Final = re.compile(r"relay|rcpthosts|authenticat|sender", re.IGNORECASE)
"""Words by which servers without enhanced codes (Exim: "550 relay not permitted") mean us."""

_TOO_LARGE: Final = {"5.2.3", "5.3.4"}
_CONTENT: Final = "5.6."


def is_positive(reply: SmtpReply) -> bool:
    """Whether the server did what was asked."""
    return 200 <= reply[0] < 300  # noqa: PLR2004 - the codes of agreement, RFC 5321


def is_no_mailbox(reply: SmtpReply) -> bool:
    """Whether the answer to a recipient says that there is no such mailbox."""
    code, text = reply
    enhanced = _enhanced(text)
    if enhanced is not None:
        return code >= _PERMANENT and enhanced in _NO_MAILBOX
    return code in _NO_MAILBOX_BARE and _ABOUT_US.search(_read(text)) is None


def is_unacceptable(reply: SmtpReply) -> bool:
    """Whether the answer to a message says that its size or content will never be taken.

    Without an enhanced code nothing says so: 552 is more often a full mailbox than too large a
    message, since ours are small, and 550 or 554 is a filter, which somebody may correct.
    """
    code, text = reply
    enhanced = _enhanced(text) or ""
    return code >= _PERMANENT and (enhanced in _TOO_LARGE or enhanced.startswith(_CONTENT))


def reply_text(reply: SmtpReply) -> str:
    """Return code and text on one line, without control characters, not too long."""
    code, text = reply
    return f"{code} {visible(_read(text), _LONGEST)}".strip()


def _enhanced(text: bytes | str) -> str | None:
    found = _ENHANCED.search(_read(text))
    return None if found is None else found[1]


def _read(text: bytes | str) -> str:
    return text if isinstance(text, str) else text.decode("ascii", "backslashreplace")
