"""A serve process is told to stop while nodes report: no reply is cut off, no save is lost."""

from __future__ import annotations

import threading
from random import Random
from typing import Final

from tests.faults.killed_saves import Stage, attacking
from tests.faults.reporters import reporting
from tests.faults.rows import Row
from tests.faults.stored_reports import stored_reports
from tests.waiting import PATIENCE

_LONGEST_LIFE: Final = 0.25


def _stop(stage: Stage, chance: Random) -> None:
    """Tell the server to stop in the middle of everything; whatever it kept it must have told."""
    (server,) = stage.serve_home.servers
    with reporting([server.port], stage.reports, chance) as acknowledgements:
        assert acknowledgements.first.wait(PATIENCE), (
            f"nothing was acknowledged: {acknowledgements.refused[:1]}"
        )
        threading.Event().wait(chance.uniform(0, _LONGEST_LIFE))
        code = server.terminate()
    stage.sent |= acknowledgements.sent
    stage.acknowledged |= acknowledgements.acknowledged
    assert code == 0, f"serve ended with {code}: {server.last_lines()}"
    assert not acknowledgements.refused, f"refused: {acknowledgements.refused[:1]}"
    told = {(each.tx_hash, each.reason) for each in stage.acknowledged}
    untold = stored_reports(stage.serve_home.store) - told
    assert not untold, f"{len(untold)} reports were saved and never acknowledged"


STOPPED_SAVES = Row(
    name="stopped-saves",
    promise=(
        "`linewatch serve` is stopped (SIGTERM) while nodes report over HTTP and WebSocket: it "
        "ends cleanly, has acknowledged everything it saved and saved everything it acknowledged"
    ),
    short=6,
    full=200,
    stage=lambda folder: attacking(folder, 1, _stop),
)
