"""`linewatch rejections`: the stored rejections, the latest first."""

from __future__ import annotations

import sys
from datetime import datetime

import click
from msgspec.structs import replace

from dashboard.application.line_limits import LineLimitEnds
from dashboard.application.rejections import Rejections, rejection_filter
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.output import FOUND, Output, output, print_list
from dashboard.domain.quantity import Address
from dashboard.domain.rejections.exclusion import RejectionStage
from dashboard.domain.rejections.search import HashRange


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
    help="Only those of this hash, or of hashes that begin with it.",
)
@options.label(help="Only those of transactions that are tracked with this label.")
@options.search(help="Only those that hold these words, as on the page Rejections.")
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
    search: str,
    since: datetime | None,
    until: datetime | None,
    limit: int,
    sets_exit_status: bool,
    output: Output,
) -> None:
    """List the stored rejections.

    The latest arrival comes first, and a last line says if line limits ended, or soon will. With
    --exit-code the status is 3 if there are any.
    """
    with open_installation() as here:
        found_by = rejection_filter(here.source, here.chosen_id(network_text), search)
        network_id = found_by.network_id
        wanted = replace(
            found_by,
            tx_rejection_stage=None if stage is None else RejectionStage(stage),
            module=module,
            sender=sender or found_by.sender,
            tx_hashes=tx_hashes or found_by.tx_hashes,
            label=label or found_by.label,
            since=since,
            until=until,
        )
        stored = Rejections(here.source)
        found = stored.latest(wanted, limit)
        listed = [each for each in here.source.networks if network_id in {None, each.network_id}]
        ends = LineLimitEnds(here.source).sentences(listed)
        print_list(stored.listing(found), found, output, after=ends)
    if sets_exit_status and found:
        sys.exit(FOUND)
