"""Messages say what the store knows beside their notification."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from dashboard.alert.compose import Links, NetworkName
from dashboard.alert.deliver import Deliverer, Sending
from dashboard.alert.message import MaySend, Message, MessageHeaders, always
from dashboard.alert.message_writer import MessageWriter, load_templates
from dashboard.alert.notify import expand_outbox
from dashboard.domain.alerts.condition import Signal, State, Subject, SubjectKind
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.upstream import OutageGrounds
from dashboard.domain.alerts.notification import DeliveryResult, NotificationState
from dashboard.domain.alerts.signed_link import LinkFault, SignedLink, read_link
from dashboard.domain.fees.gas import GasObservation, GasSource
from dashboard.domain.health.observation import Operation
from dashboard.domain.people.recipients import AddressOff, OffCause
from dashboard.domain.quantity import NetworkId, Wei
from dashboard.domain.tracking.remarks import Remarks
from dashboard.domain.tracking.track_file import TrackRequest
from dashboard.errors import DeliveryDeferred, StoreUnavailable
from dashboard.store.alerts.conditions import record_transition
from dashboard.store.alerts.notifications import renew_link_key
from dashboard.store.alerts.recipients import turn_off
from dashboard.store.engine.connection import Connection
from dashboard.store.engine.engine import Store
from dashboard.store.evidence.record_answers import record_lookup
from dashboard.store.fees.save import save_gas
from dashboard.store.tracking.transactions import track
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    DISPUTE,
    GWEI,
    a_disputed_answer,
    a_hash,
    a_notification,
    a_transition,
    an_id,
    seconds,
    suggested_gas_fees,
)
from tests.delivery_checks import (
    PATIENT,
    make_pending,
    notifications,
    reject,
    states,
    take_lease,
)
from tests.fake_clock import FakeClock
from tests.flaky_store import FlakyStore
from tests.recording_channel import ONCALL, ONCALL_ALONE, RecordingChannel

ABOVE = FeeGrounds(Signal.BASE_FEE, Wei(23 * GWEI), Wei(20 * GWEI))
TEMPLATES = load_templates({A_NETWORK: NetworkName("Linea")}, Links())


def test_message_names_label_and_attempt(store: Store) -> None:
    attempted_at = A_MOMENT - seconds(9)
    with store.write() as connection:
        request = TrackRequest(a_hash(), (A_NETWORK,), Remarks(attempted_at, "Case 1742"))
        track(connection, request, A_MOMENT)

    message = MessageWriter(store, TEMPLATES).write(a_notification())

    assert message.subject == "ADD over limit 1.14 × · Case 1742 · Linea"
    assert "Attempted      2026-11-20 11:59:51 UTC" in message.text


def test_message_says_that_endpoints_disagree(store: Store) -> None:
    with store.write() as connection:
        record_lookup(connection, A_NETWORK, A_MOMENT, [a_disputed_answer(a_hash())])
    reject(store, 1, 2)
    expand_outbox(store, ONCALL_ALONE, lambda: A_MOMENT)
    [many] = notifications(store)

    writer = MessageWriter(store, TEMPLATES, programs={"mail"})
    alone, several = map(writer.write, (a_notification(), many))

    assert DISPUTE in " ".join(alone.text.split())
    assert ", endpoints disagree" in several.text
    assert DISPUTE in several.attachments[0].content.decode()
    data = several.payload["data"]
    assert isinstance(data, dict)
    said = [each["transaction"]["endpointsSay"] for each in data["members"]]
    assert said == [DISPUTE, None]


def test_programs_get_every_member_of_what_was_grouped(store: Store) -> None:
    reject(store, *range(1, 41))
    expand_outbox(store, ONCALL_ALONE, lambda: A_MOMENT)
    writer = MessageWriter(store, TEMPLATES, programs={"mail"})
    [many] = notifications(store)

    found, alone = (writer.write(each).payload["data"] for each in (many, a_notification()))

    assert isinstance(found, dict)
    assert [each["transaction"]["hash"] for each in found["members"]] == [
        str(a_hash(number)) for number in range(1, 41)
    ]
    assert found["text"] == writer.write(many).text
    assert isinstance(alone, dict)
    assert alone["memberCount"] == 1
    assert MessageWriter(store, TEMPLATES, programs={"hook"}).write(many).payload == {}


def test_message_of_a_changed_record_says_old_and_new(store: Store) -> None:
    reject(store)
    changed = a_transition(transition_id=an_id(2), before=State.REJECTED)
    reject(store, transition=changed, nonce=6)
    expand_outbox(store, ONCALL_ALONE, lambda: A_MOMENT)
    [second] = [each for each in notifications(store) if each.transition == changed]

    message = MessageWriter(store, TEMPLATES).write(second)

    assert "Nonce          5 → 6" in message.text
    assert "<s>5</s> → <strong>6</strong>" in message.html


@pytest.mark.parametrize(
    ("age", "after", "is_named"),
    [(600, State.BUSY, True), (601, State.BUSY, False), (60, State.CALM, False)],
)
def test_message_of_a_busy_network_names_fees_that_are_not_old(
    store: Store, age: int, after: State, *, is_named: bool
) -> None:
    observed = GasObservation(
        A_NETWORK, A_MOMENT - seconds(age), suggested_gas_fees=suggested_gas_fees()
    )
    with store.write() as connection:
        save_gas(connection, observed)
    transition = a_transition(
        subject=Subject(SubjectKind.BUSYNESS, A_NETWORK), after=after, grounds=ABOVE
    )

    message = MessageWriter(store, TEMPLATES).write(
        a_notification(transition=transition, rejection=None)
    )

    assert ("medium   2 gwei" in message.text) is is_named


def test_message_of_several_names_labels_in_text_and_table(store: Store) -> None:
    with store.write() as connection:
        track(
            connection, TrackRequest(a_hash(2), (A_NETWORK,), Remarks(label="Case 1742")), A_MOMENT
        )
    reject(store, 1, 2, 3)
    expand_outbox(store, ONCALL_ALONE, lambda: A_MOMENT)
    [notification] = notifications(store)

    message = MessageWriter(store, TEMPLATES).write(notification)

    assert message.subject == "ADD over limit · 3 rejections · Linea"
    assert "Case 1742 (0x00000000…000002): ADD over limit 1.14 ×, RPC\n" in message.text
    [table] = message.attachments
    assert b",Case 1742," in table.content


def test_message_waits_while_the_store_cannot_be_read(store: Store) -> None:
    writer = MessageWriter(UnreadableStore(store), TEMPLATES)

    with pytest.raises(DeliveryDeferred, match="the message cannot be written: the disk is gone"):
        writer.write(a_notification())


class UnreadableStore(FlakyStore):
    """A store whose disk was pulled out."""

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Fail until it is calm, which it never is."""
        if self.is_calm:
            raise StoreUnavailable("the disk is gone")
        with super().read() as connection:
            yield connection


def test_message_of_a_silence_names_the_rules_that_cannot_be_judged(store: Store) -> None:
    subject = Subject(SubjectKind.GAS_API, A_NETWORK)
    silent = a_transition(subject=subject, after=State.SILENT, grounds=OutageGrounds(A_MOMENT, "x"))
    over = a_transition(subject=subject, before=State.SILENT, after=State.ANSWERING)
    writer = MessageWriter(store, TEMPLATES)
    for number in (A_NETWORK - 1, A_NETWORK + 1):
        let_a_node_stand_in(store, NetworkId(number))

    messages = [
        writer.write(a_notification(transition=each, rejection=None)) for each in (silent, over)
    ]

    said = "While this lasts, these rules cannot be evaluated: busy, stale-fees."
    assert [said in each.text for each in messages] == [True, False]
    assert said in messages[0].html
    let_a_node_stand_in(store, A_NETWORK)
    replaced = writer.write(a_notification(transition=silent, rejection=None))
    assert "While this lasts, these rules cannot be evaluated: stale-fees." in replaced.text


def let_a_node_stand_in(store: Store, network_id: NetworkId) -> None:
    """Let a node answer for the gas API of a network, which is silent."""
    silent = a_transition(
        transition_id=an_id(network_id),
        subject=Subject(SubjectKind.GAS_API, network_id),
        after=State.SILENT,
    )
    observation = GasObservation(
        network_id,
        A_MOMENT,
        suggested_gas_fees=suggested_gas_fees(),
        sources={Operation.SUGGESTED_GAS_FEES: GasSource.NODE_INSTEAD},
    )
    with store.write() as connection:
        assert record_transition(connection, silent, None)
        save_gas(connection, observation)


def test_message_holds_links_that_are_signed_with_the_key_of_now(store: Store) -> None:
    links = Links("https://linewatch.example.org", b"old" * 8)
    writer = MessageWriter(store, load_templates({}, links), ONCALL_ALONE)
    with store.write() as connection:
        renew_link_key(connection, b"new" * 8)

    message = writer.write(a_notification(recipient=ONCALL))

    assert message.unsubscribe.startswith("https://linewatch.example.org/link/")
    token = message.unsubscribe.rpartition("/")[2]
    assert read_link(token, b"old" * 8, A_MOMENT) is LinkFault.FORGED
    assert isinstance(read_link(token, b"new" * 8, A_MOMENT), SignedLink)


class LastMessage(RecordingChannel):
    """Takes messages; whoever gets the first one turns their address off."""

    def __init__(self, store: Store) -> None:
        super().__init__()
        self._store = store

    def send(self, message: Message, headers: MessageHeaders, may_send: MaySend = always) -> str:
        """Take a message, and unsubscribe its reader."""
        answer = super().send(message, headers, may_send)
        off = AddressOff(ONCALL, OffCause.UNSUBSCRIBED, A_MOMENT, "link")
        with self._store.write() as connection:
            turn_off(connection, off)
        return answer


def test_whoever_unsubscribes_gets_nothing_more_of_what_a_worker_has_claimed(
    store: Store, fake_clock: FakeClock
) -> None:
    channel = LastMessage(store)
    writer = MessageWriter(store, TEMPLATES, ONCALL_ALONE)
    sending = Sending({"mail": channel}, writer.write)
    deliverer = Deliverer(store, sending, fake_clock.now, fake_clock.elapsed, PATIENT)
    make_pending(store, 5)

    results = deliverer.deliver_due(take_lease(store))

    assert results == {DeliveryResult.SENT: 1}
    assert len(channel.tried) == 1
    assert states(store) == {NotificationState.SENT: 1, NotificationState.DEAD: 4}
    said = {each.outcome for each in notifications(store)}
    assert said == {"250 taken", "not sent: unsubscribed"}
