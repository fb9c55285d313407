"""`linewatch shares`: show one transaction to somebody who does not sign in."""

from __future__ import annotations

from datetime import timedelta

import click

from dashboard.application.sharing import LONGEST_SHARE, SHARE_LINKS, Sharing
from dashboard.cli import options
from dashboard.cli.installation import open_installation
from dashboard.cli.options import Parsed, as_json, lasting
from dashboard.cli.output import Output, answer, output, print_list
from dashboard.domain.quantity import TxHash


@click.group()
def shares() -> None:
    """Share what became of one transaction by a link, list the links, and revoke one.

    Everybody who has the link sees the verdict and the text for a customer, without signing in.
    """


@shares.command()
@click.argument("tx_hash", metavar="HASH", type=Parsed("hash", TxHash.parse))
@lasting(LONGEST_SHARE, "7d")
@click.option("--case-id", type=options.CASE_ID, default="", help="The case, for the text.")
@as_json
def create(*, tx_hash: TxHash, lasts: timedelta, case_id: str, as_json: bool) -> None:
    """Make a link and print it this one time."""
    with open_installation() as here:
        sharing = Sharing(here.source)
        link, address = sharing.share(tx_hash, lasts, here.user(), case_id)
    said = f"It is link {link.link_id}; end it with `linewatch shares revoke {link.link_id}`."
    answer({**SHARE_LINKS.form(link), "link": address}, address, said, as_json=as_json)


@shares.command("list")
@output
def list_(*, output: Output) -> None:
    """List the links that are valid, the latest first."""
    with open_installation() as here:
        print_list(SHARE_LINKS, Sharing(here.source).all(), output)


@shares.command()
@click.argument("number", type=click.IntRange(min=1))
@as_json
def revoke(*, number: int, as_json: bool) -> None:
    """Let a link show nothing any more; NUMBER is that of the list."""
    with open_installation() as here:
        link = Sharing(here.source).revoke(number, here.user())
    said = f"The link to {link.tx_hash} shows nothing any more."
    answer({**SHARE_LINKS.form(link), "state": "revoked"}, said, as_json=as_json)
