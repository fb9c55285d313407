"""Badges: a sign, a word and a colour, none of which is needed alone."""

from __future__ import annotations

from typing import Final

from dashboard.application.incident_words import severity_style
from dashboard.application.network_status import Activity, NetworkStatus
from dashboard.application.source_health import OperationState
from dashboard.domain.alerts.incident import IncidentState
from dashboard.domain.alerts.rule import Severity
from dashboard.domain.markup import Markup, breakable, element, join, visible
from dashboard.domain.tracking.verdict import VerdictKind
from dashboard.show.charts.figure import LONGEST_NAME
from dashboard.show.charts.rejection_chart import module_colour

_ACTIVITIES: Final = {
    Activity.BUSY: ("busy", "▲", "Busy"),
    Activity.CALM: ("calm", "●", "Calm"),
    Activity.FLAT_FEE: ("mute", "═", "Flat fee"),
    Activity.STALE: ("stale", "◌", "Stale"),
    Activity.UNKNOWN: ("mute", "?", "Unknown"),
}
_OPERATIONS: Final = {
    OperationState.ANSWERED: ("calm", "●", "Answered"),
    OperationState.STALE: ("stale", "◌", "Stale"),
    OperationState.FAILING: ("bad", "!", "Failing"),
    OperationState.NOT_ASKED: ("mute", "…", "Not asked yet"),
    OperationState.NOT_AWAITED: ("mute", "○", "No line limits"),
}
_VERDICTS: Final = {
    VerdictKind.REJECTED: ("bad", "✕"),
    VerdictKind.REJECTED_THEN_INCLUDED: ("calm", "✓"),
    VerdictKind.INCLUDED: ("calm", "✓"),
    VerdictKind.REPLACED: ("mute", "⇄"),
    VerdictKind.NO_REJECTION_ON_RECORD: ("mute", "○"),
    VerdictKind.NO_LINE_LIMITS: ("mute", "○"),
    VerdictKind.CANNOT_TELL: ("mute", "?"),
    VerdictKind.NOT_CHECKED_YET: ("mute", "…"),
    VerdictKind.CANNOT_CHECK: ("busy", "!"),
}
_FIRING: Final = {
    Severity.INFO.value: ("mute", "i", "Firing"),
    Severity.WARNING.value: ("busy", "!", "Firing"),
}
_SIGN_COLOURS: Final = {"busy": "#b3661a", "bad": "#d0453c"}
_INCIDENTS: Final = {
    IncidentState.PENDING: ("stale", "…", "Pending"),
    IncidentState.FIRING: ("bad", "!", "Firing"),
    IncidentState.ACKNOWLEDGED: ("calm", "✓", "Acknowledged"),
    IncidentState.SILENCED: ("mute", "‖", "Silenced"),
    IncidentState.NO_DATA: ("stale", "?", "No data"),
    IncidentState.RESOLVED: ("calm", "●", "Resolved"),
}


def badge(kind: str, sign: str, word: str) -> Markup:
    """Build one badge; the sign is decoration for eyes and is not read out."""
    mark = element("span", sign, aria_hidden="true")
    return element("span", join(mark, " ", word), class_=f"lw-badge {kind}")


def operation_badge(state: OperationState) -> Markup:
    """Build the badge that says whether what is asked is answered."""
    return badge(*_OPERATIONS[state])


def network_badges(status: NetworkStatus) -> Markup:
    """Say of a network whether something fails, and whether it is busy.

    As on Health, a failure outweighs that fees are old.
    """
    activity = badge(*_ACTIVITIES[status.activity])
    if not status.figures.failures:
        return activity
    failing = operation_badge(OperationState.FAILING)
    is_known = status.activity not in {Activity.STALE, Activity.UNKNOWN}
    return join(failing, " ", activity) if is_known else failing


def flat_badge() -> Markup:
    """Build the badge of a network whose base fee never moves."""
    return badge(*_ACTIVITIES[Activity.FLAT_FEE])


def verdict_badge(kind: VerdictKind) -> Markup:
    style, sign = _VERDICTS.get(kind, ("mute", "·"))
    return badge(style, sign, kind.value.capitalize())


def simulated_badge(words: str = "Simulated") -> Markup:
    """Build the badge of a network that is made up."""
    return badge("simulated", "◇", words)


def severity_badge(severity: str) -> Markup:
    return badge(*severity_style(severity))


def severity_kind(severity: str) -> str:
    """Return the style of a severity, as the kind of its badge."""
    return severity_style(severity)[0]


def severity_sign(severity: str) -> Markup:
    """Build the sign of a badge alone, for a line; its word is read out."""
    kind, sign, word = severity_style(severity)
    mark = element("span", sign, class_=f"lw-sign {kind}", title=word, aria_hidden="true")
    return join(mark, element("span", f"{word}:", class_="lw-sr"))


def sign_label(severity: str) -> str:
    """Return the same for the label of a widget, in colours that read on light and on dark."""
    kind, sign, word = severity_style(severity)
    return f':color[{sign} {word}:]{{foreground="{_SIGN_COLOURS.get(kind, "#7a8894")}"}}'


def module_mark(module: str) -> Markup:
    """Build the name of a prover module after a square of its colour."""
    square = element(
        "i", class_="lw-module", style=f"background: {module_colour(module)}", aria_hidden="true"
    )
    return join(square, element("b", breakable(visible(module, LONGEST_NAME))))


def incident_badge(state: IncidentState, severity: str) -> Markup:
    """Build the badge of an incident's state: firing is red only if it is critical."""
    if state is IncidentState.FIRING and severity in _FIRING:
        return badge(*_FIRING[severity])
    return badge(*_INCIDENTS[state])
