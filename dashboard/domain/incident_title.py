"""What an incident is called: one sentence, alike on pages, in messages, commands and webhooks."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from dashboard.domain.incident import Incident
from dashboard.domain.quantity import NetworkId
from dashboard.domain.rule import Dimension, RuleKind

LONGEST_TITLE: Final = 300
"""Characters of a title that are shown."""

_LASTING: Final = {
    RuleKind.REJECTION_RATE: "Rejections{in_common} {are} above their limit",
    RuleKind.BUSY: "{network} {is_} busy",
    RuleKind.FEE: "A fee of {network} {is_} beyond its limit",
    RuleKind.COVERAGE_GAP: "{network} {is_} not watched",
    RuleKind.WORKER_SILENT: "No worker {is_} running",
    RuleKind.DELIVERY_FAILING: "Notifications {are} not delivered",
    RuleKind.CREDITS_SHORT: "Credits {are} running short",
    RuleKind.EXPIRY: "A key or a certificate {is_} about to expire",
    RuleKind.UPSTREAM_SILENT: "An upstream of {network} {is_} silent",
    RuleKind.DATA_STALE: "Fees of {network} {are} stale",
    RuleKind.DISK_FILLING: "Disk of this installation {is_} low on space",
}
_COUNTED: Final = {
    RuleKind.REJECTED: ("rejection{in_common}", "rejections{in_common}"),
    RuleKind.CHANGED: ("changed rejection{in_common}", "changed rejections{in_common}"),
    RuleKind.INCLUDED: (
        "transaction rejected{in_common} is in a block",
        "transactions rejected{in_common} are in a block",
    ),
}
"""What is counted, one of it and several."""

_COMMON: Final = (
    (Dimension.MODULE, "by"),
    (Dimension.NETWORK, "on"),
    (Dimension.STAGE, "at"),
    (Dimension.SENDER, "from"),
    (Dimension.LABEL, "labelled"),
    (Dimension.TAG, "tagged"),
)
"""What changes have in common, in the order in which it is said."""


def incident_title(incident: Incident, network_name: Callable[[NetworkId], str]) -> str:
    """Say what an incident is about, such as "38 rejections by HUB on Linea at SEQUENCER".

    Modules, labels, tags and names of networks in it are foreign text.
    """
    kind, values = RuleKind(incident.kind), _values(incident, network_name)
    in_common = "".join(f" {word} {values[name]}" for name, word in _COMMON if values.get(name))
    if kind in _COUNTED:
        one, several = _COUNTED[kind]
        form = one if incident.transitions == 1 else several
        return f"{incident.transitions:,} {form.format(in_common=in_common)}"
    is_, are = ("is", "are") if incident.is_open else ("was", "were")
    network = values.get(Dimension.NETWORK, "")
    if not network:
        network = "A network" if _LASTING[kind].startswith("{network}") else "a network"
    return _LASTING[kind].format(network=network, in_common=in_common, is_=is_, are=are)


def _values(
    incident: Incident, network_name: Callable[[NetworkId], str]
) -> Mapping[Dimension, str]:
    known = frozenset(Dimension)
    values = {Dimension(name): value for name, value in incident.group if name in known}
    if Dimension.NETWORK in values:
        values[Dimension.NETWORK] = network_name(NetworkId(int(values[Dimension.NETWORK])))
    return values
