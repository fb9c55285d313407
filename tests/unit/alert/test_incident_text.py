"""What a message says of a network that is busy, silent or stale, and of the end of that.

The usual cases stand among the mails of `tests/mail_samples.py`.
"""

from __future__ import annotations

from datetime import timedelta

from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.alert.compose import Links, MessageContext, NetworkName, compose
from dashboard.alert.incident_text import describe
from dashboard.alert.message import Message
from dashboard.alert.message_writer import load_templates
from dashboard.domain.alerts.condition import (
    INSTALLATION,
    Grounds,
    Opening,
    Signal,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.alerts.kinds.busy import FeeGrounds
from dashboard.domain.alerts.kinds.coverage import GapGrounds
from dashboard.domain.alerts.kinds.disk import SpaceGrounds
from dashboard.domain.alerts.kinds.kind import DescribedChange
from dashboard.domain.alerts.kinds.limits_end import EndGrounds
from dashboard.domain.alerts.kinds.stale_fees import AgeGrounds
from dashboard.domain.alerts.kinds.upstream import OutageGrounds, UnaskedGrounds
from dashboard.domain.alerts.notification import Notification
from dashboard.domain.health.coverage import GapCause
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    a_notification,
    a_transition,
    an_id,
)
from tests.golden_texts import GoldenTexts
from tests.read_messages import as_read

NAMES = {A_NETWORK: NetworkName("devnet", is_simulated=True), ANOTHER_NETWORK: NetworkName("Linea")}
STATIONERY = load_templates(NAMES, Links("https://watch.example/"))
AT = A_MOMENT + timedelta(minutes=14)

ABOVE = FeeGrounds(Signal.BASE_FEE, Wei(23_123_456_789), Wei(19_600_000_000))
PRIORITY = FeeGrounds(Signal.PRIORITY_FEE, Wei(300_000_000), Wei(200_000_000))
MUTE = OutageGrounds(A_MOMENT, "Linea gas endpoint did not answer within 5 s")
OLD = AgeGrounds(Operation.BUSY_THRESHOLD, A_MOMENT, timedelta(minutes=1))
MISSING = AgeGrounds(Operation.BUSY_THRESHOLD, None, timedelta(minutes=1))

GAP = GapGrounds(AT, None, GapCause.NOT_ANSWERED, "no answer")
SPACE = SpaceGrounds(41_000, 500_000_000)

BUSYNESS, FEES = SubjectKind.BUSYNESS, SubjectKind.FEES
GAS = SubjectKind.GAS_API


def notification_of(
    kind: SubjectKind,
    after: State,
    grounds: Grounds | None,
    network: NetworkId = ANOTHER_NETWORK,
    before: State | None = State.CALM,
) -> Notification:
    """Return the notification of a change in an incident that was opened at `A_MOMENT`."""
    transition = a_transition(
        subject=Subject(kind, network), before=before, after=after, at=AT, grounds=grounds
    )
    return a_notification(transition=transition, rejection=None, opening=Opening(an_id(), A_MOMENT))


def message(
    kind: SubjectKind,
    after: State,
    grounds: Grounds | None = None,
    network: NetworkId = ANOTHER_NETWORK,
) -> Message:
    return compose(notification_of(kind, after, grounds, network), STATIONERY)


def from_before_incidents_were_kept() -> Message:
    """Return the message of an end of which nobody knows when it began."""
    transition = a_transition(
        subject=Subject(FEES, ANOTHER_NETWORK), before=State.STALE, after=State.FRESH
    )
    return compose(a_notification(transition=transition, rejection=None), STATIONERY)


def late() -> Message:
    """Return the message that goes when what it is about is over."""
    notification = notification_of(BUSYNESS, State.BUSY, ABOVE)
    change = NotifiedChange(
        notification.transition, None, A_MOMENT, ended=ended(BUSYNESS, State.CALM)
    )
    return compose(notification, STATIONERY, MessageContext(change))


def test_messages_read_as_they_were_reviewed(golden: GoldenTexts) -> None:
    messages = {
        "busy on a simulated network": message(BUSYNESS, State.BUSY, ABOVE, A_NETWORK),
        "busy, told late": late(),
        "calm, for reasons not kept": message(BUSYNESS, State.CALM),
        "no fee seen, so nobody knows": message(BUSYNESS, State.UNKNOWN),
        "busy where the base fee never moves": message(BUSYNESS, State.BUSY, PRIORITY),
        "fee source silent": message(GAS, State.SILENT, MUTE),
        "fee source answers": message(GAS, State.ANSWERING),
        "fees never given": message(FEES, State.STALE, MISSING),
        "fees fresh": message(FEES, State.FRESH),
        "fees fresh, since nobody knows when": from_before_incidents_were_kept(),
        "line limits ended": message(
            SubjectKind.LINE_LIMITS, State.NO_LINE_LIMITS, EndGrounds(A_MOMENT)
        ),
        "line limits ended with a block": message(
            SubjectKind.LINE_LIMITS, State.NO_LINE_LIMITS, EndGrounds(A_MOMENT, 31_000_000)
        ),
        "exclusion API is not awaited any more": message(
            SubjectKind.EXCLUSION_API, State.ANSWERING, EndGrounds(A_MOMENT)
        ),
        "exclusion API is asked nothing any more": message(
            SubjectKind.EXCLUSION_API, State.ANSWERING, UnaskedGrounds(A_MOMENT)
        ),
        "fee source is asked nothing any more": message(
            GAS, State.ANSWERING, UnaskedGrounds(A_MOMENT)
        ),
        "fees are asked no more": message(FEES, State.FRESH, UnaskedGrounds(A_MOMENT)),
        "disk has space": message(SubjectKind.DISK, State.ENOUGH_SPACE, SPACE, INSTALLATION),
    }

    golden.check("messages_of_networks", {title: as_read(messages[title]) for title in messages})


@settings(max_examples=25)
@given(st.text(alphabet=st.characters(), max_size=60))
def test_words_of_an_upstream_start_no_line_and_no_tag_of_their_own(words: str) -> None:
    calm = message(GAS, State.SILENT, OutageGrounds(A_MOMENT, "no answer"))

    written = message(GAS, State.SILENT, OutageGrounds(A_MOMENT, f"no answer {words}"))

    assert written.subject == calm.subject
    assert len(written.text.splitlines()) == len(calm.text.splitlines())
    assert written.html.count("<") == calm.html.count("<")


def ended(kind: SubjectKind, after: State) -> Transition:
    """Return the change with which something of `kind` was over, 84 s after it began."""
    end = AT + timedelta(seconds=84)
    return a_transition(2, subject=Subject(kind, ANOTHER_NETWORK), after=after, at=end)


def test_what_is_over_when_its_message_goes_reads_as_it_was_reviewed(golden: GoldenTexts) -> None:
    cases: dict[str, tuple[SubjectKind, State, Grounds | None, State]] = {
        "busy, then calm": (BUSYNESS, State.BUSY, ABOVE, State.CALM),
        "busy, then no fee seen": (BUSYNESS, State.BUSY, ABOVE, State.UNKNOWN),
        "no fee seen, then busy": (BUSYNESS, State.UNKNOWN, None, State.BUSY),
        "silent, then answering": (GAS, State.SILENT, MUTE, State.ANSWERING),
        "stale, then fresh": (FEES, State.STALE, OLD, State.FRESH),
        "stale without figures": (FEES, State.STALE, None, State.FRESH),
        "disk": (SubjectKind.DISK, State.LOW_ON_SPACE, SPACE, State.ENOUGH_SPACE),
        "gap": (SubjectKind.COVERAGE, State.NOT_WATCHED, GAP, State.WATCHED),
    }

    texts = {
        title: describe(
            DescribedChange(
                notification_of(kind, after, grounds).transition, "Linea", end=ended(kind, end)
            )
        )
        for title, (kind, after, grounds, end) in cases.items()
    }

    golden.check("messages_of_what_is_over", texts)
