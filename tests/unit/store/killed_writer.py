"""A process that writes until it is killed: `python -m tests.unit.store.killed_writer URL [STOP]`.

Each transaction keeps a report, a check, a condition with its transition, and an outbox row;
after its commit the process says its number. With STOP, the transaction after the third says
"inside" after that many statements and waits for ever.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from itertools import count

from dashboard.domain.health.observation import ExclusionAnswer
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import open_store
from dashboard.store.evidence.record_answers import record_lookup
from tests.builders import A_MOMENT, A_NETWORK, a_hash, a_record, a_transition
from tests.saved_record import save_record

ACKNOWLEDGED_FIRST = 3


def steps_of(number: int) -> tuple[Callable[[Connection], object], ...]:
    """Return what one transaction does, one after the other."""
    answer = ExclusionAnswer(a_hash(number), a_record(tx_hash=a_hash(number)))
    record = a_record(tx_hash=a_hash(number))
    return (
        lambda connection: record_lookup(connection, A_NETWORK, A_MOMENT, [answer]),
        lambda connection: save_record(connection, A_NETWORK, record, A_MOMENT),
        lambda connection: record_transition(connection, a_transition(number), None),
    )


def say(text: str) -> None:
    """Tell the parent, at once."""
    print(text, flush=True)  # noqa: T201 - how the parent hears of it


def main(url: str, stop_after: int | None = None) -> None:
    """Write until killed."""
    with open_store(url) as store:
        for number in count(1):
            with store.write() as connection:
                for done, step in enumerate(steps_of(number), start=1):
                    step(connection)
                    if number > ACKNOWLEDGED_FIRST and done == stop_after:
                        say("inside")
                        threading.Event().wait()
            say(str(number))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None)
