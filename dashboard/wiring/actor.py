"""Who runs a command, as the audit log names them."""

from __future__ import annotations

import os
import pwd


def os_user() -> str:
    """Return the name of the user who runs this process, or their number."""
    number = os.getuid()
    try:
        return pwd.getpwuid(number).pw_name
    except KeyError:
        return f"user {number}"
