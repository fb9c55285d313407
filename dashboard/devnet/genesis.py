"""The stored genesis: written once, when a devnet begins, and read at every later start."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import msgspec

from dashboard.devnet.chain import BLOCK_SECONDS, DEVNET_ID, Genesis
from dashboard.domain.clock import Clock
from dashboard.errors import InputError, RoleError

BLOCKS_AT_FIRST_START: Final = 20_000
"""The window of the busy threshold, so that it is full from the first minute."""

_FILE: Final = "genesis.json"


class _Stored(msgspec.Struct):
    network_id: int
    seed: int
    timestamp: int


def open_genesis(folder: Path, seed: int, clock: Clock) -> Genesis:
    """Return the genesis kept in `folder`; a new folder gets one 20,000 blocks before now.

    InputError where the folder belongs to another seed, RoleError where it cannot be used.
    """
    path = folder / _FILE
    try:
        if not path.exists():
            begin = int(clock().timestamp()) - BLOCKS_AT_FIRST_START * BLOCK_SECONDS
            _write_once(path, _Stored(DEVNET_ID, seed, begin))
        stored = msgspec.json.decode(path.read_bytes(), type=_Stored)
    except OSError as error:
        raise RoleError(f"devnet cannot keep its genesis in {folder}: {error.strerror}") from error
    except msgspec.DecodeError as error:
        raise RoleError(
            f"{path} is damaged ({error}): remove {folder} to begin a new devnet"
        ) from error
    if stored.seed != seed:
        raise InputError(
            f"the devnet in {folder} was begun with the seed {stored.seed}, not {seed}: "
            f"set devnet.seed to {stored.seed}, or remove that folder to begin another"
        )
    return Genesis(seed=stored.seed, timestamp=stored.timestamp)


def _write_once(path: Path, stored: _Stored) -> None:
    """Write atomically and durably."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_suffix(".draft")
    with draft.open("wb") as file:
        file.write(msgspec.json.encode(stored) + b"\n")
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make new files in `folder` durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
