"""All rows of the table of faults, in its order."""

from __future__ import annotations

from typing import Final

from tests.faults.alert_machine import ALERT_MACHINE, SET_CLOCKS
from tests.faults.alert_storms import ALERT_STORM, MAIL_OUTAGE
from tests.faults.every_notification import EVERY_NOTIFICATION
from tests.faults.failing_disk import FAILING_DISK, FAILING_DISK_WORKER, FULL_DISK
from tests.faults.faulty_mail import FAULTY_MAIL, SILENT_ADDRESSES
from tests.faults.flapping_fees import FLAPPING_FEES
from tests.faults.hostile_gas import GAS_STORM, HOSTILE_GAS_QUESTIONS
from tests.faults.hostile_messages import HOSTILE_BYTES, HOSTILE_MESSAGES
from tests.faults.killed_at_points import (
    KILLED_AT_POINTS,
    KILLED_AT_POINTS_ON_POSTGRESQL,
)
from tests.faults.killed_commands import KILLED_COMMANDS
from tests.faults.killed_saves import KILLED_SAVES, KILLED_SAVES_OF_TWO, STOPPED_SAVES
from tests.faults.killed_serve_at_points import KILLED_SERVE_AT_POINTS
from tests.faults.killed_server import KILLED_SERVER, REFUSING_SERVER
from tests.faults.killed_up import KILLED_UP
from tests.faults.killed_worker import KILLED_WORKER, KILLED_WORKER_ON_POSTGRESQL
from tests.faults.model import MODEL
from tests.faults.power_loss import POWER_LOSS
from tests.faults.restarts import RESTARTS
from tests.faults.restore_drill import RESTORE_DRILL
from tests.faults.rows import Row
from tests.faults.upgrades import UPGRADES

ROWS: Final[tuple[Row, ...]] = (
    KILLED_SAVES,
    KILLED_SAVES_OF_TWO,
    STOPPED_SAVES,
    KILLED_SERVE_AT_POINTS,
    KILLED_WORKER,
    KILLED_AT_POINTS,
    KILLED_WORKER_ON_POSTGRESQL,
    KILLED_AT_POINTS_ON_POSTGRESQL,
    KILLED_SERVER,
    KILLED_COMMANDS,
    KILLED_UP,
    POWER_LOSS,
    FULL_DISK,
    FAILING_DISK,
    FAILING_DISK_WORKER,
    REFUSING_SERVER,
    UPGRADES,
    RESTORE_DRILL,
    MODEL,
    HOSTILE_MESSAGES,
    HOSTILE_BYTES,
    HOSTILE_GAS_QUESTIONS,
    GAS_STORM,
    EVERY_NOTIFICATION,
    FAULTY_MAIL,
    SILENT_ADDRESSES,
    RESTARTS,
    ALERT_STORM,
    MAIL_OUTAGE,
    ALERT_MACHINE,
    SET_CLOCKS,
    FLAPPING_FEES,
)
