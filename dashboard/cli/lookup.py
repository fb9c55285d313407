"""`linewatch lookup`, `shares` and `answers`: verdicts, links to share, and texts for customers."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

import click

from dashboard.application.customer_answers import (
    AnswerContext,
    AnswerTexts,
    answer_text,
    leading_verdict,
)
from dashboard.application.listing import Json
from dashboard.application.lookup import LookupAnswer, Lookups, lookup_csv, lookup_form
from dashboard.application.share_links import LONGEST_SHARE, SHARE_LINKS, Sharing
from dashboard.application.transaction_summary import TransactionSummary
from dashboard.cli import options
from dashboard.cli.installation import Installation, open_installation, standard_input, text_of
from dashboard.cli.options import FILE, Parsed, as_json, lasting
from dashboard.cli.output import (
    FAILED,
    FOUND,
    WRONG_INPUT,
    Output,
    answer,
    output,
    print_json,
    print_list,
    say,
    warn,
    write,
)
from dashboard.cli.place import place
from dashboard.domain.markup import visible
from dashboard.domain.quantity import NetworkId, TxHash
from dashboard.domain.rejections.answer_template import (
    PLACEHOLDERS,
    AnswerFileState,
    Voice,
    parse_case_id,
)
from dashboard.domain.tracking.hashes_in_text import Paste, read_lookup
from dashboard.errors import InputError

_SHOWN = 80
_MOST_NAMED = 20
"""How many pieces that are not hashes are named, each on a line of its own."""


@click.command()
@click.argument("transactions", nargs=-1, metavar="HASH|LINK...")
@options.network
@click.option("--stored", is_flag=True, help="Ask no network; show what is stored.")
@click.option(
    "--voice",
    type=click.Choice([each.value for each in Voice]),
    default=Voice.ENGINEER.value,
    help="For whom it is written; `linewatch answers show` prints the templates.",
)
@click.option("--case-id", default="", metavar="ID", help="A case id for the answer.")
@output
@options.exit_code
def lookup(
    transactions: tuple[str, ...],
    network_text: str | None,
    *,
    stored: bool,
    voice: str,
    case_id: str,
    output: Output,
    sets_exit_status: bool,
) -> None:
    """Say what happened to transactions.

    "-" reads them from standard input. A part of a hash, a label, a sender or words of a reason
    select the stored transactions that match. The networks are asked now, unless --stored is given,
    and their answers are stored. Text that is not a hash is named, and the rest is answered; then
    the status is 2. The status is 1 if a network does not answer about one of them or an answer
    could not be stored. With --exit-code it is 3 if a rejection is on record, otherwise 1 if it is
    unknown for one of them whether it was rejected.
    """
    text, case_id = _text(transactions), parse_case_id(case_id)
    with open_installation() as here:
        paste = _read(here, text)
        network_id = _network_id(here, network_text, stored=stored)
        asked_at = here.source.now()
        if stored:
            answer = LookupAnswer(Lookups(here.source).known(paste.hashes, network_id))
        else:
            answer = _ask(here, paste.hashes, network_id)
    summaries = answer.summaries
    templates = AnswerTexts(here.source).state().templates
    public_url = here.source.settings.public_url
    now = here.source.now()
    context = AnswerContext(now, case_id, public_url, templates)
    _print(summaries, output, Voice(voice), context)
    is_unanswered = not stored and _warn_of_silence(summaries, asked_at)
    for why in answer.unsaved:
        warn(f"the answers could not be stored. {why}")
    has_rejection = any(finding.versions for each in summaries for finding in each.findings)
    if sets_exit_status and has_rejection:
        sys.exit(FOUND)
    is_unknown = sets_exit_status and any(map(_is_unknown, summaries))
    if is_unanswered or answer.unsaved or is_unknown:
        sys.exit(FAILED)
    if paste.wrong:
        sys.exit(WRONG_INPUT)


def _is_unknown(summary: TransactionSummary) -> bool:
    kind = leading_verdict(summary)
    return kind is None or kind.is_unknown


def _text(texts: Sequence[str]) -> str:
    if not texts:
        raise InputError("lookup needs a transaction hash: linewatch lookup 0x…")
    once = dict.fromkeys(texts)  # a program elsewhere could name one long text 10,000 times
    return "\n".join(standard_input() if text == "-" else text for text in once)


def _read(here: Installation, text: str) -> Paste:
    """Read hashes, links, and shorthands for known ones, and name the rest.

    InputError if nothing is left to look up.
    """
    paste = read_lookup(text)
    if here.opens("rejections", "tracked"):  # or a token for look-ups could search them
        paste = Lookups(here.source).find(paste)
    wrong = [f"“{visible(each.text, _SHOWN)}” {each.why}" for each in paste.wrong]
    if not paste.hashes:
        raise InputError(wrong[0] if wrong else "the input holds no transaction hash")
    for each in filter(None, (*wrong[:_MOST_NAMED], paste.left_out)):
        warn(each)
    if len(wrong) > _MOST_NAMED:
        warn(f"and {len(wrong) - _MOST_NAMED:,} more that are not transaction hashes")
    return paste


def _network_id(here: Installation, text: str | None, *, stored: bool) -> NetworkId | None:
    profile = options.chosen(text, here.source.networks)
    if profile is not None and not (profile.has_exclusion or stored):
        raise InputError(
            f"{profile.name} has no exclusion endpoint to ask: configure one, or use --stored"
        )
    return None if profile is None else profile.network_id


def _ask(
    here: Installation, hashes: tuple[TxHash, ...], network_id: NetworkId | None
) -> LookupAnswer:
    with here.asking() as look_up:
        if look_up is None:
            raise InputError(
                "no network with an exclusion endpoint is configured: add one, or use --stored"
            )
        return Lookups(here.source).ask(look_up, hashes, network_id)


def _print(
    summaries: Sequence[TransactionSummary], output: Output, voice: Voice, context: AnswerContext
) -> None:
    if output is Output.JSON:
        print_json(lookup_form(summaries, context))
    elif output is Output.CSV:
        write(lookup_csv(summaries, context), nl=False)
    else:
        for number, each in enumerate(summaries):
            if number:
                say("")
            for line in answer_text(each, voice, context).splitlines():
                say(line)


def _warn_of_silence(summaries: Sequence[TransactionSummary], asked_at: datetime) -> bool:
    """Name the networks that did not answer about every transaction; return whether there are any.

    One silent network is enough: the rejection may be there.
    """
    silent = [each.unanswered_since(asked_at) for each in summaries]
    names = {
        finding.profile.network_id: finding.profile.name for each in silent for finding in each
    }
    if names:
        about = f"{sum(map(bool, silent))} of {len(summaries)} transactions"
        warn(f"no answer about {about} from {', '.join(names.values())}")
    return bool(names)


@click.group()
def shares() -> None:
    """Share the outcome of one transaction by a link, list the links, and revoke one.

    Everybody who has the link sees the verdict and the text for a customer, without signing in.
    """


@shares.command()
@click.argument("tx_hash", metavar="HASH", type=Parsed("hash", TxHash.parse))
@lasting(LONGEST_SHARE, "7d")
@options.case_id(help="The case id for the text.")
@as_json
def create(*, tx_hash: TxHash, lasts: timedelta, case_id: str, as_json: bool) -> None:
    """Create a link and print it this one time."""
    with open_installation() as here:
        sharing = Sharing(here.source)
        link, address = sharing.share(tx_hash, lasts, here.user(), case_id)
    said = f"This is link {link.link_id}; revoke it with `linewatch shares revoke {link.link_id}`."
    answer({**SHARE_LINKS.form(link), "link": address}, address, said, as_json=as_json)


@shares.command("list")
@output
def list_(*, output: Output) -> None:
    """List the valid links, the latest first."""
    with open_installation() as here:
        print_list(SHARE_LINKS, Sharing(here.source).all(), output)


@shares.command()
@click.argument("number", type=click.IntRange(min=1))
@as_json
def revoke(*, number: int, as_json: bool) -> None:
    """Revoke a link; NUMBER is its number in the list."""
    with open_installation() as here:
        link = Sharing(here.source).revoke(number, here.user())
    said = f"The link to {link.tx_hash} is revoked."
    answer({**SHARE_LINKS.form(link), "state": "revoked"}, said, as_json=as_json)


@click.group()
def answers() -> None:
    """Show and change the templates of the texts for customers and engineers.

    They are in the file answers.toml in the folder of the settings, or in LINEWATCH_HOME if
    Linewatch may not write there; pages change the same file.
    """


@answers.command()
@as_json
def show(*, as_json: bool) -> None:
    """Print the file of templates, or the built-in templates if there is none.

    Its first lines say which fields a template may use.
    """
    with open_installation() as here:
        state = AnswerTexts(here.source).state()
    if as_json:
        form: Json = {
            "file": state.source if place() is None else Path(state.source).name,
            "isBuiltIn": state.text is None,
            "mistakes": list(state.mistakes),
            "placeholders": dict(PLACEHOLDERS),
            "text": state.editable(),
        }
        print_json(form)
    else:
        write(state.editable(), nl=False)
    _end_with(state)


@answers.command()
@click.argument("file", type=FILE, required=False)
def check(*, file: Path | None) -> None:
    """Name every mistake in a file, by default the one in force, with its line and remedy."""
    text = None if file is None else text_of(file)
    with open_installation() as here:
        queries = AnswerTexts(here.source)
        state = queries.state() if text is None else queries.check(text)
    _end_with(state)
    say(
        "No mistake."
        if state.text is not None
        else "There is no file: the built-in ones are in force."
    )


@answers.command("import")
@click.argument("file", type=FILE)
def import_(*, file: Path) -> None:
    """Put a file in force; - reads standard input. A file with a mistake changes nothing."""
    text = text_of(file)
    with open_installation() as here:
        queries = AnswerTexts(here.source)
        _end_with(queries.check(text))
        queries.change(text, here.user())
        say(f"{queries.state().source} is in force.")


@answers.command()
def reset() -> None:
    """Remove the file, so that the built-in templates are in force again."""
    with open_installation() as here:
        AnswerTexts(here.source).change(None, here.user())
    say("The built-in templates are in force.")


def _end_with(state: AnswerFileState) -> None:
    """Name the mistakes and end, if there are any."""
    for each in state.mistakes:
        warn(each)
    if state.mistakes:
        sys.exit(WRONG_INPUT)
