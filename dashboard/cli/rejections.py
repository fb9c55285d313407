"""`linewatch rejections`: the rejections in the store, the latest first."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import Final

import click

from dashboard.application.listing import Json
from dashboard.application.rejections import rejection_form
from dashboard.application.text import moment
from dashboard.cli import options
from dashboard.cli.installation import Installation, open_installation
from dashboard.cli.output import FOUND, Listing, Output, output, print_list
from dashboard.domain.quantity import Address
from dashboard.domain.rejections.exclusion import RejectionStage, StoredRejection
from dashboard.domain.rejections.reasons import ReasonKind, explain
from dashboard.domain.rejections.search import HashRange, RejectionFilter, parse_search
from dashboard.store.rejections.search import search

_COLUMNS: Final = (
    "ARRIVED",
    "NETWORK",
    "STAGE",
    "MODULE",
    "LINES",
    "LIMIT",
    "TRANSACTION",
    "REASON",
)


@click.command()
@options.network
@click.option(
    "--stage",
    type=click.Choice([*RejectionStage], case_sensitive=False),
    help="Where it was rejected.",
)
@click.option(
    "--module",
    type=options.MODULE,
    help="Only those whose reason names this prover module, such as HUB.",
)
@click.option("--sender", type=options.ADDRESS, help="Only those of this sender.")
@click.option(
    "--tx",
    "tx_hashes",
    type=options.HASH_RANGE,
    help="Only the versions of this transaction, or of those whose hash begins so.",
)
@click.option(
    "--label", default="", help="Only those of transactions that are tracked with this label."
)
@click.option(
    "--search",
    "searched",
    default="",
    help="Only those that contain these words, as in the search of the page Rejections.",
)
@options.within
@options.limit
@options.exit_code
@output
def rejections(  # noqa: PLR0913 - one for each option
    *,
    network_text: str | None,
    stage: RejectionStage | None,
    module: str | None,
    sender: Address | None,
    tx_hashes: HashRange | None,
    label: str,
    searched: str,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    sets_exit_status: bool,
    output: Output,
) -> None:
    """List the rejections that are stored.

    The latest arrival comes first. With --exit-code the status is 3 where there are any.
    """
    found_by = parse_search(searched)
    with open_installation() as here:
        network_id, words = here.source.search_scope(here.chosen_id(network_text), found_by.words)
        wanted = RejectionFilter(
            network_id=network_id,
            tx_rejection_stage=None if stage is None else RejectionStage(stage),
            module=module,
            sender=sender or found_by.sender,
            tx_hashes=tx_hashes or found_by.tx_hashes,
            label=label,
            search=words,
            beginning=found_by.beginning,
            since=since,
            until=until,
        )
        with here.source.store.read() as connection:
            found = search(connection, wanted, limit)
        print_list(_listing(here, found), output)
    if sets_exit_status and found:
        sys.exit(FOUND)


def _listing(here: Installation, found: list[StoredRejection]) -> Listing[StoredRejection]:
    return Listing(
        "rejections",
        found,
        _COLUMNS,
        row=lambda each: _row(here, each),
        form=lambda each: _form(here, each),
        nothing="No such rejection is stored.",
    )


def _form(here: Installation, stored: StoredRejection) -> Json:
    return {
        "networkId": stored.network_id,
        "network": here.source.network_name(stored.network_id),
        "isSimulated": here.is_simulated(stored.network_id),
        **rejection_form(stored, here.reason_of(stored)),
    }


def _row(here: Installation, stored: StoredRejection) -> tuple[str, ...]:
    record = stored.record
    reason = here.reason_of(stored)
    words = explain(reason) if reason.kind is not ReasonKind.UNPARSED else f"“{reason.text}”"
    return (
        moment(stored.first_seen_at),
        here.label(stored.network_id),
        str(record.tx_rejection_stage),
        reason.module or "",
        "" if reason.count is None else str(reason.count),
        "" if reason.limit is None else str(reason.limit),
        str(record.tx_hash),
        words,
    )
