"""What is kept beside: fees as they are polled, API keys, watched senders."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import rule

from dashboard.domain.fees.gas import GasObservation, GasSource
from dashboard.domain.health.observation import Failure, Operation
from dashboard.domain.people.access import KeyLimits
from dashboard.domain.quantity import Address, NetworkId, Wei
from dashboard.store.access.api_keys import (
    Credential,
    KeyUse,
    add_uses,
    create_key,
    find_key,
    limit_key,
    rename_key,
    revoke_key,
    rotate_key,
)
from dashboard.store.engine.connection import Connection
from dashboard.store.fees.import_history import import_gas_history
from dashboard.store.polled_gas import save_gas
from dashboard.store.tracking.senders import WatchedSender, unwatch_sender, watch_sender
from tests.builders import GWEI, a_suggestion, suggested_gas_fees
from tests.model.machine import Memory, Part, StoreMachine
from tests.model.world import SENDERS, failures, labels, networks, some_networks

NAMES: Final = ("alice", "bob")
names = st.sampled_from(NAMES)
fees = st.sampled_from([Wei(7), Wei(GWEI), Wei(3 * GWEI), Wei(2**63 - 1)])
limits = st.sampled_from(
    [
        KeyLimits(),
        KeyLimits(frozenset({NetworkId(1)}), frozenset({"get"}), 0.5, 3, may_report=False),
    ]
)
ages = st.sampled_from([timedelta(), timedelta(seconds=30), timedelta(hours=3), timedelta(days=3)])


@st.composite
def gas_seen(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a poll of gas saw, without its time."""
    fee, priority = draw(fees), draw(fees)
    suggested = suggested_gas_fees(
        estimated_base_fee=fee, medium=a_suggestion(priority, 14 * GWEI), base_fee_trend="\0 up"
    )
    operations = st.sampled_from(Operation)
    return {
        "network_id": draw(networks),
        "suggested_gas_fees": draw(st.none() | st.just(suggested)),
        "base_fee_history": draw(st.none() | st.lists(fees, max_size=5).map(tuple)),
        "base_fee_percentile": draw(st.none() | fees),
        "busy_threshold": draw(st.none() | fees),
        "failures": _failures(draw(st.dictionaries(operations, failures, max_size=2))),
        "sources": draw(st.dictionaries(operations, st.sampled_from(GasSource), max_size=2)),
    }


def _failures(drawn: dict[Operation, Failure]) -> tuple[tuple[Operation, Failure], ...]:
    return tuple(drawn.items())


class KeepingMachine(StoreMachine):
    """Rules of fees, keys and senders."""

    @rule(
        seen=gas_seen(),
        age=ages,
        block_time=st.sampled_from([None, timedelta(seconds=2), timedelta(seconds=12)]),
    )
    def gas_is_polled(
        self, seen: dict[str, Any], age: timedelta, block_time: timedelta | None
    ) -> None:
        observation = GasObservation(asked_at=self.now - age, **seen)
        self.change(
            lambda connection: save_gas(connection, observation, block_time),
            lambda held, _: held.fees.save(observation, block_time, held.tracking.silences),
            Part.FEES,
        )

    @rule(seen=st.lists(st.tuples(gas_seen(), ages), max_size=4))
    def gas_comes_from_elsewhere(self, seen: list[tuple[dict[str, Any], timedelta]]) -> None:
        observations = [GasObservation(asked_at=self.now - age, **each) for each, age in seen]

        def expect(held: Memory, _: object) -> None:
            for each in observations:
                held.fees.keep_history(each)

        self.change(
            lambda connection: import_gas_history(connection, observations), expect, Part.FEES
        )

    @rule(sender=st.sampled_from(SENDERS), where=some_networks, label=labels)
    def people_watch_a_sender(
        self, sender: Address, where: tuple[NetworkId, ...], label: str
    ) -> None:
        wish = WatchedSender(sender, where, self.moment(), label)
        self.change(
            lambda connection: watch_sender(connection, wish),
            lambda held, said: _same(said, held.senders.watch(wish)),
            Part.SENDERS,
        )

    @rule(sender=st.sampled_from(SENDERS))
    def people_unwatch_a_sender(self, sender: Address) -> None:
        self.change(
            lambda connection: unwatch_sender(connection, sender),
            lambda held, said: _same(said, held.senders.unwatch(sender)),
            Part.SENDERS,
        )

    @rule(name=names, limits=limits)
    def key_is_made(self, name: str, limits: KeyLimits) -> None:
        credential = self._credential()
        self.change(
            lambda connection: create_key(connection, name, limits, credential),
            lambda held, said: _same(said, held.keys.create(name, limits, credential)),
            Part.KEYS,
        )

    @rule(name=names, limits=limits)
    def key_is_limited(self, name: str, limits: KeyLimits) -> None:
        self.change(
            lambda connection: limit_key(connection, name, limits),
            lambda held, said: _same(said, held.keys.change(name, limits=limits)),
            Part.KEYS,
        )

    @rule(name=names)
    def key_is_renamed(self, name: str) -> None:
        (new,) = (each for each in NAMES if each != name)

        def act(connection: Connection) -> bool:
            return find_key(connection, new) is None and rename_key(connection, name, new)

        def expect(held: Memory, said: object) -> None:
            is_free = held.keys.in_use(new) is None
            assert said is (is_free and held.keys.change(name, name=new))

        self.change(act, expect, Part.KEYS)

    @rule(name=names)
    def key_is_revoked(self, name: str) -> None:
        at = self.now
        self.change(
            lambda connection: revoke_key(connection, name, at),
            lambda held, said: _same(said, held.keys.revoke(name, at)),
            Part.KEYS,
        )

    @rule(name=names, lasts=ages)
    def key_is_rotated(self, name: str, lasts: timedelta) -> None:
        credential, ends_at = self._credential(), self.now + lasts
        self.change(
            lambda connection: rotate_key(connection, name, credential, ends_at),
            lambda held, said: _same(said, held.keys.rotate(name, credential, ends_at)),
            Part.KEYS,
        )

    @rule(calls=st.integers(0, 2**40), number=st.integers(0, 3), age=ages)
    def key_is_used(self, calls: int, number: int, age: timedelta) -> None:
        digest, use = _digest(number), KeyUse(self.now - age, calls, 1)
        self.change(
            lambda connection: add_uses(connection, {digest: use}),
            lambda held, _: held.keys.use(digest, use),
            Part.KEYS,
        )

    def _credential(self) -> Credential:
        number = self.new_id().int
        return Credential(_digest(number), _digest(number + 10**6), self.moment())


def _digest(number: int) -> bytes:
    return number.to_bytes(32, "big")


def _same(said: object, expected: object) -> None:
    assert said == expected
