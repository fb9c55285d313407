"""The text of a digest: what happened on each network in a day or a week."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import tzinfo
from typing import Final

from dashboard.domain.alerts.condition import DigestGrounds, NetworkDigest
from dashboard.domain.alerts.kinds.kind import IncidentText
from dashboard.domain.formatting import (
    capitalized,
    counted,
    moment,
    moment_in,
    share_or_less,
    span,
    unnamed_network,
)
from dashboard.domain.health.coverage import seen_rejections
from dashboard.domain.quantity import NetworkId

_NO_MORE: Final = (
    "To stop these digests, open Alerts, Recipients. The unsubscribe link stops all messages."
)


def describe_digest(
    grounds: DigestGrounds, titles: Mapping[NetworkId, str], zone: tzinfo
) -> IncidentText:
    """Describe a digest; times are in UTC, those of labelled lines also in `zone`.

    `titles` are those of networks, with invisible characters shown.
    """
    often = "Weekly" if grounds.is_weekly else "Daily"
    said = f"{_in_all(grounds)}, {counted(grounds.opened, 'new incident')}"
    networks = [
        (titles.get(each.network_id, unnamed_network(each.network_id)), each)
        for each in grounds.networks
    ]
    return IncidentText(
        headline=capitalized(said),
        subject=f"{often} digest: {said}",
        opening=f"Events from {moment(grounds.begins_at)} to {moment(grounds.ends_at)}.",
        page="",
        rows=(
            ("From", moment_in(grounds.begins_at, zone)),
            ("To", moment_in(grounds.ends_at, zone)),
            ("Incidents", _incidents(grounds)),
            *((title, capitalized("; ".join(_figures(each)))) for title, each in networks),
        ),
        remark=_NO_MORE,
        kicker=f"{often} digest",
    )


def _in_all(grounds: DigestGrounds) -> str:
    asked = [each for each in grounds.networks if each.rejections is not None]
    many = sum(each.rejections or 0 for each in asked)
    return seen_rejections(many, is_whole=all(each.is_whole for each in asked))


def _incidents(grounds: DigestGrounds) -> str:
    """Say how many incidents opened, and the states of those open at the end."""
    is_ = "is" if grounds.open == 1 else "are"
    if not grounds.open:
        left = "none is open"
    elif not grounds.unassigned:
        left = f"{grounds.open:,} {is_} open, all acknowledged"
    elif grounds.unassigned == grounds.open:
        left = f"{grounds.open:,} {is_} open, unassigned"
    else:
        left = f"{grounds.open:,} {is_} open, {grounds.unassigned:,} of them unassigned"
    return f"{grounds.opened:,} opened; {left}"


def _figures(digest: NetworkDigest) -> Iterator[str]:
    if digest.rejections is not None:
        yield seen_rejections(digest.rejections, is_whole=digest.is_whole)
    if digest.busy is not None:
        yield f"busy for {share_or_less(digest.busy)} of the time watched"
    if digest.gaps:
        yield f"{counted(digest.gaps, 'gap')}, {span(digest.unwatched)} not watched"
    else:
        yield "no gaps"
