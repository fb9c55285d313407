"""What a message says of a network that is busy, silent or stale, and of the end of that."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.alert.compose import Links, MessageFacts, NetworkName, compose
from dashboard.alert.incident_text import describe_over
from dashboard.alert.message import Message
from dashboard.alert.message_writer import load_templates
from dashboard.domain.alerts.condition import (
    INSTALLATION,
    Opening,
    State,
    Subject,
    SubjectKind,
    Transition,
)
from dashboard.domain.alerts.grounds import (
    AgeGrounds,
    FeeGrounds,
    Grounds,
    Signal,
    SilenceGrounds,
    SpaceGrounds,
)
from dashboard.domain.alerts.incident import NotifiedChange
from dashboard.domain.alerts.notification import Notification
from dashboard.domain.fees.spells import BusyContext, FeePoint, UsualSpells
from dashboard.domain.health.observation import Operation
from dashboard.domain.quantity import NetworkId, Wei
from tests.builders import (
    A_MOMENT,
    A_NETWORK,
    ANOTHER_NETWORK,
    GWEI,
    a_notification,
    a_transition,
    an_id,
    suggested_gas_fees,
)

NAMES = {A_NETWORK: NetworkName("devnet", is_simulated=True), ANOTHER_NETWORK: NetworkName("Linea")}
STATIONERY = load_templates(NAMES, Links("https://watch.example/"))
AT = A_MOMENT + timedelta(minutes=14)

ABOVE = FeeGrounds(Signal.BASE_FEE, Wei(23_123_456_789), Wei(19_600_000_000))
BELOW = FeeGrounds(Signal.BASE_FEE, Wei(15_200_000_000), Wei(19_600_000_000))
PRIORITY = FeeGrounds(Signal.PRIORITY_FEE, Wei(300_000_000), Wei(200_000_000))
MUTE = SilenceGrounds(A_MOMENT, "Linea gas endpoint did not answer within 5 s")
OLD = AgeGrounds(Operation.BUSY_THRESHOLD, A_MOMENT, timedelta(minutes=1))
MISSING = AgeGrounds(Operation.BUSY_THRESHOLD, None, timedelta(minutes=1))

SPACE = SpaceGrounds(41_000, 500_000_000)

BUSYNESS, FEES = SubjectKind.BUSYNESS, SubjectKind.FEES
GAS, EXCLUSION = SubjectKind.GAS_API, SubjectKind.EXCLUSION_API


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


@pytest.mark.parametrize(
    ("kind", "after", "grounds", "subject"),
    [
        (BUSYNESS, State.BUSY, ABOVE, "Linea is busy: 23.1 gwei, threshold 19.6"),
        (BUSYNESS, State.CALM, BELOW, "Linea is calm again: 15.2 gwei, threshold 19.6"),
        (
            BUSYNESS,
            State.BUSY,
            PRIORITY,
            "Linea is busy: priority fee 0.3 gwei, 90th percentile 0.2",
        ),
        (GAS, State.SILENT, MUTE, "Linea: fee source is silent since 12:00 UTC"),
        (GAS, State.ANSWERING, None, "Linea: fee source answers again"),
        (
            SubjectKind.DISK,
            State.LOW_ON_SPACE,
            SPACE,
            "The disk of the store is low on space: 41.0 kB free",
        ),
        (
            SubjectKind.DISK,
            State.ENOUGH_SPACE,
            SPACE,
            "The disk of the store has enough space again: 41.0 kB free",
        ),
        (EXCLUSION, State.SILENT, MUTE, "Linea: exclusion API is silent since 12:00 UTC"),
        (EXCLUSION, State.ANSWERING, None, "Linea: exclusion API answers again"),
        (FEES, State.STALE, OLD, "Linea: fees are stale, last seen at 12:00 UTC"),
        (FEES, State.STALE, MISSING, "Linea: fees are stale"),
        (FEES, State.FRESH, None, "Linea: fees are fresh again"),
        (BUSYNESS, State.CALM, None, "Linea: fees changed to calm"),
    ],
)
def test_subject_says_what_changed(
    kind: SubjectKind, after: State, grounds: Grounds | None, subject: str
) -> None:
    assert message(kind, after, grounds).subject == subject


@pytest.mark.parametrize(
    ("kind", "after", "grounds", "first_line"),
    [
        (
            BUSYNESS,
            State.BUSY,
            ABOVE,
            "Linea is busy: the base fee is 23.1 gwei, above its busy threshold of 19.6 gwei.",
        ),
        (
            BUSYNESS,
            State.CALM,
            BELOW,
            (
                "Linea is calm again: the base fee is 15.2 gwei, not above its busy threshold of "
                "19.6 gwei."
            ),
        ),
        (
            BUSYNESS,
            State.BUSY,
            PRIORITY,
            (
                "Linea is busy: the medium suggested priority fee is 0.3 gwei, above 0.2 gwei, the "
                "90th percentile of the last day."
            ),
        ),
        (
            GAS,
            State.SILENT,
            MUTE,
            "The fee source of Linea has given no fees since 2026-11-20 12:00:00 UTC.",
        ),
        (
            SubjectKind.EXCLUSION_API,
            State.SILENT,
            MUTE,
            "The exclusion API of Linea has answered nothing since 2026-11-20 12:00:00 UTC.",
        ),
        (
            FEES,
            State.STALE,
            OLD,
            ("The fees of Linea are stale: the last answer came on 2026-11-20 12:00:00 UTC."),
        ),
        (
            FEES,
            State.STALE,
            MISSING,
            "The fees of Linea are stale: none were ever given.",
        ),
        (FEES, State.FRESH, None, "Linea: fees are fresh again."),
    ],
)
def test_first_line_says_it_as_a_sentence(
    kind: SubjectKind, after: State, grounds: Grounds | None, first_line: str
) -> None:
    assert message(kind, after, grounds).text.splitlines()[0] == first_line


@pytest.mark.parametrize(
    ("kind", "after", "grounds", "fact"),
    [
        (BUSYNESS, State.BUSY, ABOVE, "23.123456789 gwei"),
        (BUSYNESS, State.BUSY, ABOVE, "Put off what can wait"),
        (BUSYNESS, State.BUSY, PRIORITY, "The base fee never moves here"),
        (BUSYNESS, State.CALM, BELOW, "14 min, since 2026-11-20 12:00:00 UTC"),
        (GAS, State.SILENT, MUTE, "Linea gas endpoint did not answer within 5 s"),
        (GAS, State.SILENT, MUTE, "nobody is notified when the network becomes busy"),
        (EXCLUSION, State.SILENT, MUTE, "None is missed if it answers again within seven days"),
        (EXCLUSION, State.ANSWERING, None, "14 min, since 2026-11-20 12:00:00 UTC"),
        (FEES, State.STALE, OLD, "Older than two of its own poll periods"),
        (FEES, State.STALE, OLD, "1 min"),
        (FEES, State.STALE, OLD, "Linewatch noticed this on 2026-11-20 12:14:00 UTC"),
    ],
)
def test_both_parts_tell_every_fact(
    kind: SubjectKind, after: State, grounds: Grounds | None, fact: str
) -> None:
    written = message(kind, after, grounds)

    assert fact in written.text
    assert fact in written.html


def test_opening_does_not_say_how_long_it_lasted() -> None:
    assert "Lasted" not in message(BUSYNESS, State.BUSY, ABOVE).text


def test_end_of_an_incident_from_before_they_were_kept_is_told_without_its_length() -> None:
    transition = a_transition(
        subject=Subject(FEES, ANOTHER_NETWORK), before=State.STALE, after=State.FRESH
    )

    written = compose(a_notification(transition=transition, rejection=None), STATIONERY)

    assert "Lasted" not in written.text


@pytest.mark.parametrize(
    ("kind", "after", "grounds", "page"),
    [(BUSYNESS, State.BUSY, ABOVE, "fees"), (GAS, State.SILENT, MUTE, "health")],
)
def test_link_leads_to_the_page_that_shows_more(
    kind: SubjectKind, after: State, grounds: Grounds, page: str
) -> None:
    written = message(kind, after, grounds)

    address = f"https://watch.example/{page}?network=59144"
    assert f"{address}\n" in written.text
    assert f'href="{address}"' in written.html


def test_message_holds_no_link_without_a_public_address() -> None:
    silent = load_templates(NAMES, Links())

    written = compose(notification_of(BUSYNESS, State.BUSY, ABOVE), silent)

    assert "://" not in written.text + written.html


def test_simulated_network_says_so_in_subject_and_both_parts() -> None:
    written = message(BUSYNESS, State.BUSY, ABOVE, A_NETWORK)

    assert written.subject == ("devnet is busy: 23.1 gwei, threshold 19.6 (simulated data)")
    assert "This is simulated data" in written.text
    assert "<strong>Simulated data.</strong>" in written.html


@pytest.mark.parametrize(
    ("after", "tone"),
    [(State.BUSY, "notable"), (State.CALM, "relief"), (State.STALE, "alarm")],
)
def test_colour_of_a_message_says_how_bad_it_is(after: State, tone: str) -> None:
    assert f'class="card {tone}"' in message(BUSYNESS, after, None).html


@given(st.text(alphabet=st.characters(), max_size=60))
def test_words_of_an_upstream_start_no_line_and_no_tag_of_their_own(words: str) -> None:
    calm = message(GAS, State.SILENT, SilenceGrounds(A_MOMENT, "no answer"))

    written = message(GAS, State.SILENT, SilenceGrounds(A_MOMENT, f"no answer {words}"))

    assert written.subject == calm.subject
    assert len(written.text.splitlines()) == len(calm.text.splitlines())
    assert written.html.count("<") == calm.html.count("<")


def test_message_about_the_disk_names_no_network() -> None:
    written = message(SubjectKind.DISK, State.LOW_ON_SPACE, SPACE, INSTALLATION)

    assert "network 0" not in written.text
    assert "41.0 kB are free, 500.0 MB should be at least" in written.text
    assert "https://watch.example/health\n" in written.text


def test_message_of_a_busy_network_shows_what_surrounds_it() -> None:
    notification = notification_of(BUSYNESS, State.BUSY, ABOVE)
    fee = Wei(20 * GWEI)
    minutes = [FeePoint(AT - timedelta(minutes=minute), fee, fee) for minute in (3, 2, 1)]
    around = BusyContext(
        grounds=ABOVE,
        since=AT - timedelta(days=1),
        until=AT,
        suggested=suggested_gas_fees(),
        suggested_at=AT,
        fees=tuple(minutes),
        usual=UsualSpells(9, timedelta(minutes=14), timedelta(minutes=52), is_of_hour=True),
    )

    written = compose(
        notification, STATIONERY, MessageFacts(NotifiedChange(notification.transition), around)
    )

    [image] = written.images
    assert f'src="cid:{image.content_id}"' in written.html
    for fact in ("14.00 gwei", "usually last 14 min", "base fee of the last 24 h"):
        assert fact in written.text
        assert fact in written.html


def ended(kind: SubjectKind, after: State) -> Transition:
    """Return the change with which something of `kind` was over, 84 s after it began."""
    end = AT + timedelta(seconds=84)
    return a_transition(2, subject=Subject(kind, ANOTHER_NETWORK), after=after, at=end)


@pytest.mark.parametrize(
    ("kind", "after", "grounds", "end", "said"),
    [
        (BUSYNESS, State.BUSY, ABOVE, State.CALM, "Linea was busy from 12:14:00 to 12:15:24 UTC: "),
        (BUSYNESS, State.BUSY, ABOVE, State.UNKNOWN, "12:15:24 UTC, when fees were seen last: "),
        (GAS, State.SILENT, MUTE, State.ANSWERING, "was silent from 12:14:00 to 12:15:24 UTC"),
        (FEES, State.STALE, OLD, State.FRESH, "fees were stale from 12:14:00 to 12:15:24 UTC"),
        (
            SubjectKind.DISK,
            State.LOW_ON_SPACE,
            SPACE,
            State.ENOUGH_SPACE,
            "was low on space from 12:14:00 to 12:15:24 UTC",
        ),
        (FEES, State.STALE, None, State.FRESH, "over since 12:15:24 UTC"),
    ],
)
def test_what_is_over_when_its_message_goes_is_told_as_past(
    kind: SubjectKind, after: State, grounds: Grounds | None, end: State, said: str
) -> None:
    began = notification_of(kind, after, grounds).transition

    text = describe_over(began, ended(kind, end), "Linea")

    assert said in text.headline
    assert text.next_steps == ()


def test_nobody_knows_whether_a_network_is_busy_from_where_no_fee_was_seen() -> None:
    told = message(BUSYNESS, State.UNKNOWN)

    assert "whether it is busy is unknown from 12:14 UTC" in told.subject


def test_message_is_written_in_the_past_where_it_comes_late() -> None:
    late = notification_of(BUSYNESS, State.BUSY, ABOVE)
    change = NotifiedChange(late.transition, None, A_MOMENT, ended=ended(BUSYNESS, State.CALM))

    told = compose(late, STATIONERY, MessageFacts(change))

    assert "Linea was busy from 12:14:00 to 12:15:24 UTC" in told.subject
