"""The faults of which something is promised, and the rows that try it; some have none yet."""

from __future__ import annotations

from typing import Final, NamedTuple


class PromisedFault(NamedTuple):
    """One fault; `rows` are the names of those that let it happen."""

    code: str
    fault: str
    promise: str
    rows: tuple[str, ...] = ()


_KILLED: Final = (
    "killed-saves",
    "killed-saves-of-two",
    "stopped-saves",
    "killed-serve-at-points",
    "killed-worker",
    "killed-at-points",
    "killed-worker-on-postgresql",
    "killed-at-points-on-postgresql",
    "killed-server",
    "killed-commands",
    "killed-up",
)
_DISKS: Final = ("full-disk", "failing-disk", "failing-disk-of-worker", "refusing-server")

PROMISED_FAULTS: Final = (
    PromisedFault(
        "F1", "any process is killed at any moment", "nothing lost, nothing corrupt", _KILLED
    ),
    PromisedFault(
        "F2",
        "nothing fails: 100,000 notifications",
        "none lost, none twice",
        ("every-notification",),
    ),
    PromisedFault("F3", "power loss", "nothing acknowledged is lost", ("power-loss",)),
    PromisedFault(
        "F4", "a full, failing or read-only disk", "no false “saved”; reads go on", _DISKS
    ),
    PromisedFault(
        "F5",
        "mail servers that refuse, fail or drip",
        "none lost, others delayed < 1 s",
        ("faulty-mail", "silent-addresses"),
    ),
    PromisedFault(
        "F6",
        "mail server down for 72 h, 10,000 pending",
        "all delivered in order, merged",
        ("mail-outage",),
    ),
    PromisedFault("F7", "an upstream that misbehaves in 20 ways", "no crash, no false verdict"),
    PromisedFault("F8", "upstream down for 24 h", "shown stale, one alert, nothing missed"),
    PromisedFault(
        "F9", "late and changing answers for 10,000 hashes", "all detected, one update for each"
    ),
    PromisedFault(
        "F10",
        "10,000 rejections in 60 s",
        "at most 12 mails per recipient and hour, none lost",
        ("alert-storm",),
    ),
    PromisedFault(
        "F11",
        "flapping around the threshold, 10,000 series",
        "matches a reference model",
        ("flapping-fees",),
    ),
    PromisedFault(
        "F12",
        "clock jumps of 7 days, daylight saving",
        "none missed, none twice",
        ("set-clocks", "flapping-fees"),
    ),
    PromisedFault(
        "F13",
        "restarts, with and without a change",
        "the change is reported, nothing else",
        ("restarts",),
    ),
    PromisedFault(
        "F14", "two workers on PostgreSQL, one killed or paused", "takeover in 30 s, nothing lost"
    ),
    PromisedFault("F15", "upgrade and restore", "nothing lost", ("upgrades", "restore-drill")),
    PromisedFault("F16", "8 h of load, 20 sessions", "memory and descriptors stay flat"),
)
