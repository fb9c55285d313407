"""A worker that measures what rules ask for, each five seconds."""

from __future__ import annotations

from datetime import datetime, timedelta
from uuid import uuid4

from dashboard.domain.alerts.condition import State, Subject
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.fees.gas import GasObservation
from dashboard.domain.people.access import Actor
from dashboard.domain.quantity import Wei
from dashboard.poll.measured_rules import MeasuredRules, PeerCertificates, RuleReader
from dashboard.store.alerts.rules import save_rules
from dashboard.store.engine.engine import Store
from dashboard.store.fees.save import save_gas
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    GWEI,
    a_hash,
    a_record,
    seconds,
    suggested_gas_fees,
)
from tests.fake_clock import FakeClock
from tests.saved_record import save_record
from tests.unit.poll.condition_scene import a_term, told


class Watch:
    """A worker that looks every five seconds."""

    def __init__(self, store: Store, fake_clock: FakeClock) -> None:
        self.store, self.fake_clock = store, fake_clock
        self.term = a_term(store, fake_clock)
        self.certificates: list[tuple[str, datetime]] = []
        self.connected_to: dict[str, datetime] = {}
        self.reading_certificates_takes = timedelta()
        self.restart()

    def restart(self) -> None:
        """Begin again, with nothing left in memory."""
        names = {"smtp.example.org": "the mail server", "api.example.org": "the gas endpoint"}
        peers = PeerCertificates(names, self._take_seen)
        reader = RuleReader([A_NETWORK], {A_NETWORK: seconds(5)}, self.certificates, peers)
        self.measured = MeasuredRules(self.store, reader, self.fake_clock.clocks, uuid4)

    def _take_seen(self) -> dict[str, datetime]:
        self.fake_clock.wait(self.reading_certificates_takes)
        seen, self.connected_to = self.connected_to, {}
        return seen

    def hold(self, *rules: Rule) -> None:
        """Let these rules be in force."""
        with self.store.write() as connection:
            save_rules(connection, rules, Actor("ana", A_MOMENT))

    def reject(self, *numbers: int) -> None:
        """Let rejections of these hashes arrive now."""
        with self.store.write() as connection:
            for number in numbers:
                record = a_record(tx_hash=a_hash(number))
                save_record(connection, A_NETWORK, record, self.fake_clock.now())

    def go_on(self, times: int, base_fee: int | None = None) -> None:
        """Look so many times, with a base fee in gwei that is polled before each look."""
        for _ in range(times):
            self.fake_clock.wait(seconds(5))
            if base_fee is not None:
                fees = suggested_gas_fees(estimated_base_fee=Wei(base_fee * GWEI))
                seen = GasObservation(A_NETWORK, self.fake_clock.now(), fees)
                with self.store.write() as connection:
                    save_gas(connection, seen)
            self.measured.measure(self.term)

    def told(self) -> list[tuple[Subject, State]]:
        """Return what people are to be notified of, oldest first."""
        return [(each.subject, each.after) for each in told(self.store)]
