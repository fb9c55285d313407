"""Runs servers as nobody where the tests are root's: as root they would refuse."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
from pathlib import Path


def account() -> pwd.struct_passwd:
    """Return who runs them."""
    return pwd.getpwnam("nobody") if os.geteuid() == 0 else pwd.getpwuid(os.geteuid())


def give(folder: Path) -> None:
    """Let a folder and all in it be theirs."""
    owner = account()
    for each in (folder, *folder.rglob("*")):
        shutil.chown(each, owner.pw_uid, owner.pw_gid)


def start(*command: str | Path) -> subprocess.Popen[bytes]:
    """Start a server, which says nothing."""
    owner, is_root = account(), os.geteuid() == 0
    return subprocess.Popen(
        command,
        user=owner.pw_uid if is_root else None,
        group=owner.pw_gid if is_root else None,
        extra_groups=[] if is_root else None,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
