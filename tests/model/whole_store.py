"""The whole machine: every rule, and after every step the whole store compared."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import seed, settings
from hypothesis.stateful import run_state_machine_as_test

from dashboard.store.engine.connection import Connection
from tests.model.access import check_keys, check_leases, check_ledger, check_senders
from tests.model.alerting import check_alerting
from tests.model.audit_log import check_log
from tests.model.coverage import check_coverage
from tests.model.fees_answers import check_fees
from tests.model.kills import StoreMaker, Turn
from tests.model.machine import Memory, Part
from tests.model.rejections_answers import check_archive, check_reader, numbers_of
from tests.model.rules_of_coverage import FollowingMachine, NotingMachine, WatchingMachine
from tests.model.rules_of_retention import ForgettingMachine
from tests.model.rules_of_rollups import RollingUpMachine
from tests.model.rules_of_saving import NAMES
from tests.model.rules_of_tracking import AskingMachine
from tests.model.tracking import check_tracking


class WholeMachine(
    AskingMachine,
    FollowingMachine,
    WatchingMachine,
    RollingUpMachine,
    NotingMachine,
    ForgettingMachine,
):
    """Every rule on one store."""

    def check(self, held: Memory, parts: Part, turn: Turn) -> None:
        """Compare in one reading transaction, and through the reader of single records."""
        with self.lives.store.read() as connection:
            for part, compare in self._comparisons(connection, held, turn).items():
                if part in parts:
                    compare()
        if Part.ARCHIVE in parts:
            check_reader(self.lives.store, held.archive, self.now)

    def _comparisons(
        self, connection: Connection, held: Memory, turn: Turn
    ) -> dict[Part, Callable[[], None]]:
        silences, archive = held.tracking.silences, held.archive
        return {
            Part.ARCHIVE: lambda: check_archive(connection, archive, self.now, turn),
            Part.TRACKING: lambda: check_tracking(connection, held.tracking, archive, turn),
            Part.ALERTING: lambda: check_alerting(
                connection, held.alerting, archive, numbers_of(connection), turn
            ),
            Part.OFFICE: lambda: check_leases(connection, held.leases, self.machine.clock()),
            Part.FEES: lambda: check_fees(connection, held.fees, silences, self.now, turn),
            Part.KEYS: lambda: check_keys(connection, held.keys, NAMES),
            Part.SENDERS: lambda: check_senders(connection, held.senders),
            Part.CREDITS: lambda: check_ledger(connection, held.ledger, self.now, turn),
            Part.AUDIT: lambda: check_log(connection, held.log, self.now, turn),
            Part.COVERAGE: lambda: check_coverage(connection, held.coverage, self.now, turn),
        }


def play(ground: StoreMaker, how: settings, seed_of_run: int | None = None) -> None:
    """Let hypothesis drive machines; it raises what the shortest way to a failure raises."""

    class Grounded(WholeMachine):
        def __init__(self) -> None:
            super().__init__(ground)

    if seed_of_run is not None:
        seed(seed_of_run)(Grounded)
    run_state_machine_as_test(Grounded, settings=how)
