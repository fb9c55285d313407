"""All rows of the table of faults, in its order."""

from __future__ import annotations

from typing import Final

from tests.faults import (
    alert_faults,
    flapping_fees,
    hostile_gas,
    hostile_messages,
    killed_commands,
    killed_up,
    mail_faults,
    model,
    one_of_two,
    postgresql_faults,
    power_loss,
    restore_drill,
    rolling_restart,
    serve_faults,
    soak,
    upgrades,
    worker_faults,
)
from tests.faults.rows import Row

ROWS: Final[tuple[Row, ...]] = (
    serve_faults.KILLED_SAVES,
    serve_faults.KILLED_SAVES_OF_TWO,
    serve_faults.STOPPED_SAVES,
    rolling_restart.ROLLING_RESTART,
    serve_faults.KILLED_SERVE_AT_POINTS,
    worker_faults.KILLED_WORKER,
    worker_faults.KILLED_AT_POINTS,
    worker_faults.KILLED_WORKER_ON_POSTGRESQL,
    worker_faults.KILLED_AT_POINTS_ON_POSTGRESQL,
    postgresql_faults.KILLED_SERVER,
    one_of_two.ONE_OF_TWO,
    killed_commands.KILLED_COMMANDS,
    killed_up.KILLED_UP,
    power_loss.POWER_LOSS,
    serve_faults.FULL_DISK,
    serve_faults.FAILING_DISK,
    worker_faults.FAILING_DISK_WORKER,
    postgresql_faults.REFUSING_SERVER,
    upgrades.UPGRADES,
    restore_drill.RESTORE_DRILL,
    model.MODEL,
    hostile_messages.HOSTILE_MESSAGES,
    hostile_messages.HOSTILE_BYTES,
    hostile_gas.HOSTILE_GAS_QUESTIONS,
    hostile_gas.GAS_STORM,
    worker_faults.EVERY_NOTIFICATION,
    mail_faults.FAULTY_MAIL,
    mail_faults.SILENT_ADDRESSES,
    worker_faults.RESTARTS,
    alert_faults.ALERT_STORM,
    alert_faults.MAIL_OUTAGE,
    alert_faults.ALERT_MACHINE,
    alert_faults.SET_CLOCKS,
    flapping_fees.FLAPPING_FEES,
    soak.SOAK,
)
