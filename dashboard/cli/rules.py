"""`linewatch rules`: which changes people are notified of, as a file or one by one."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path
from typing import NoReturn

import click

from dashboard.application.listing import Json, instant
from dashboard.application.recipient_words import unreached_words
from dashboard.application.recipients import Recipients
from dashboard.application.rule_preview import LONGEST_PREVIEW, firing_listing
from dashboard.application.rules import AlertRules, rule_file, rule_form, rule_listing, zone_of
from dashboard.cli.installation import Installation, open_installation, text_of
from dashboard.cli.options import FILE, as_json, duration_up_to
from dashboard.cli.output import (
    WRONG_INPUT,
    Output,
    output,
    print_json,
    print_list,
    say,
    warn,
    write,
)
from dashboard.domain.alerts.rule import Rule
from dashboard.domain.alerts.rule_keys import LISTS
from dashboard.domain.alerts.rule_table import (
    RuleDifference,
    RuleEdit,
    RuleTable,
    added,
    changed,
    found_rule,
    merged_with,
    removed,
    replaced_by,
    write_rule,
)
from dashboard.domain.alerts.rule_text import differences_in_words, preview_in_words
from dashboard.domain.quantity import shorten
from dashboard.errors import InputError
from dashboard.settings.layers import Mistake
from dashboard.settings.own_files import read_rule_file
from dashboard.wire.decoding import read_toml

_dry_run = click.option("--dry-run", is_flag=True, help="Only show what would change.")
_set = click.option(
    "--set",
    "settings",
    metavar="KEY=VALUE",
    multiple=True,
    help="A setting of the rule, such as severity=critical or modules=HUB,ADD; repeatable.",
)


@click.group()
def rules() -> None:
    """Define which changes people are notified of, who gets them and how urgent they are.

    Without rules of your own the default rules are in force: `linewatch rules list` shows them.
    """


@rules.command("list")
@output
def listed(*, output: Output) -> None:
    """List the rules in force, and the state of each: firing, pending, no data, on or off."""
    with open_installation() as here:
        found = AlertRules(here.source).listed()
        print_list(rule_listing(here.source), found, output, after=_warnings(here))


@rules.command()
@click.argument("name")
@as_json
def show(*, name: str, as_json: bool) -> None:
    """Show one rule as it is written in a file."""
    with open_installation() as here:
        held = AlertRules(here.source).in_force()
    found_rule(tuple(each.rule for each in held), name)
    (found,) = (each for each in held if each.rule.name == name)
    if as_json:
        print_json(rule_form(found))
    else:
        write(rule_file([found.rule]), nl=False)


@rules.command()
@click.option(
    "--edited", is_flag=True, help="Only what people changed since a file was imported last."
)
@as_json
def export(*, edited: bool, as_json: bool) -> None:
    """Print the rules in force as a file, which `linewatch rules import` reads."""
    with open_installation() as here:
        ask = AlertRules(here.source)
        if as_json:
            print_json(ask.document(only_edited=edited))
        else:
            write(ask.edited_as_file() if edited else ask.as_file(), nl=False)


@rules.command("import")
@click.argument("file", type=FILE)
@click.option(
    "--replace", is_flag=True, help="Remove the rules that the file does not name; default: keep."
)
@_dry_run
@as_json
def import_(*, file: Path, replace: bool, dry_run: bool, as_json: bool) -> None:
    """Put the rules of a file in force; - reads standard input.

    A rule replaces the one of the same name. A file with a mistake changes nothing: every mistake
    is named with its line, its value and the remedy.
    """
    text = text_of(file)
    with open_installation() as here:
        found = _rules_of(here, file, text, as_json=as_json)
        ask = AlertRules(here.source)
        if dry_run:
            edit = replaced_by(found) if replace else merged_with(found)
            changes = ask.plan(edit)
        else:
            changes = ask.import_file(found, here.user(), replaces=replace)
        _tell(here, changes, dry_run=dry_run, as_json=as_json)


@rules.command(epilog="\b\nlinewatch rules add hub --set kind=rejected --set modules=HUB")
@click.argument("name")
@_set
@_dry_run
@as_json
def add(*, name: str, settings: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Add a rule."""
    with open_installation() as here:
        rule = AlertRules(here.source).given(name, plain_table(settings))
        _change(here, added(rule), dry_run=dry_run, as_json=as_json)


@rules.command(epilog="\b\nlinewatch rules edit busy --set severity=warning --unset recipients")
@click.argument("name")
@_set
@click.option("--unset", metavar="KEY", multiple=True, help="Reset KEY to its default; repeatable.")
@_dry_run
@as_json
def edit(
    *,
    name: str,
    settings: tuple[str, ...],
    unset: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> None:
    """Change a rule; what no option names stays as it is."""
    if not settings and not unset:
        raise InputError("nothing to change: give --set KEY=VALUE or --unset KEY")
    with open_installation() as here:
        ask = AlertRules(here.source)

        def edited(rule: Rule) -> Rule:
            table = write_rule(rule) | plain_table(settings)
            kept = {key: value for key, value in table.items() if key not in unset}
            return ask.given(name, kept)

        _change(here, changed(name, edited), dry_run=dry_run, as_json=as_json)


@rules.command()
@click.argument("names", nargs=-1, required=True)
@_dry_run
@as_json
def remove(*, names: tuple[str, ...], dry_run: bool, as_json: bool) -> None:
    """Remove rules."""
    with open_installation() as here:
        _change(here, removed(names), dry_run=dry_run, as_json=as_json)


@rules.command()
@click.argument("name")
@click.option(
    "--within",
    type=duration_up_to(LONGEST_PREVIEW),
    default="7d",
    show_default=True,
    help="How far back to look; 31d at most.",
)
@click.option(
    "--file",
    type=FILE,
    help="Take the rule from this file instead of those in force; - is standard input.",
)
@output
def preview(*, name: str, within: timedelta, file: Path | None, output: Output) -> None:
    """Show how often a rule would have fired in the stored past, and when.

    Night is from 22:00 to 06:00 in the time zone of the rule, or in UTC.
    """
    text = None if file is None else text_of(file)
    with open_installation() as here:
        queries = AlertRules(here.source)
        known = tuple(each.rule for each in queries.in_force())
        if file is not None and text is not None:
            known = _rules_of(here, file, text, as_json=False)
        rule = found_rule(known, name)
        found = queries.preview(rule, within)
        zone = zone_of(rule)
        print_list(
            firing_listing(here.source),
            found.firings,
            output,
            more={
                "rule": rule.name,
                "since": instant(found.since),
                "until": instant(found.until),
                "count": len(found.firings),
                "atNight": found.at_night(zone),
                "isCut": found.is_cut,
            },
            before=(preview_in_words(found, zone),),
        )


def _rules_of(here: Installation, file: Path, text: str, *, as_json: bool) -> tuple[Rule, ...]:
    """Return the rules of a file; if it has mistakes, name each and end."""
    source = "standard input" if str(file) == "-" else str(file)
    read = read_rule_file(source, text, here.source.settings.rule_names)
    if read.mistakes:
        _refuse(read.mistakes, as_json=as_json)
    return read.rules


def _refuse(mistakes: Sequence[Mistake], *, as_json: bool) -> NoReturn:
    if as_json:
        print_json({"mistakes": [_mistake_form(each) for each in mistakes]})
    for each in mistakes:
        warn(str(each))
    sys.exit(WRONG_INPUT)


def _mistake_form(mistake: Mistake) -> Json:
    line = None if mistake.location is None else mistake.location.line
    return {"setting": mistake.setting, "line": line, "message": str(mistake)}


def _change(here: Installation, edit: RuleEdit, *, dry_run: bool, as_json: bool) -> None:
    queries = AlertRules(here.source)
    found = queries.plan(edit) if dry_run else queries.change(edit, here.user())
    _tell(here, found, dry_run=dry_run, as_json=as_json)


def _tell(
    here: Installation, found: Sequence[RuleDifference], *, dry_run: bool, as_json: bool
) -> None:
    if as_json:
        print_json({"isDone": not dry_run, "changes": [_change_form(each) for each in found]})
        return
    for each in found:
        for line in differences_in_words(each):
            say(line)
    if not found:
        say("Nothing changes.")
    elif dry_run:
        say("Dry run: nothing was changed.")
    for line in _warnings(here):
        warn(line)


def _warnings(here: Installation) -> list[str]:
    """Say which rules reach nobody, if the actor may see recipients."""
    if not here.opens("recipients"):
        return []
    unreached = Recipients(here.source).unreached()
    return [f"{unreached_words(each)}: see `linewatch recipients list`" for each in unreached]


def _change_form(difference: RuleDifference) -> Json:
    return {"name": difference.name, "before": difference.before, "after": difference.after}


def plain_table(settings: Sequence[str]) -> RuleTable:
    """Read KEY=VALUE, each value as in a file, or as plain text.

    InputError without an =, and for a key that is given twice.
    """
    table: RuleTable = {}
    for each in settings:
        key, equals, value = each.partition("=")
        if not equals:
            raise InputError(f"{shorten(each)} has no value: write KEY=VALUE")
        name = key.strip()
        if name in table:
            remedy = f", such as {name}=A,B" if name in LISTS else ""
            raise InputError(f"--set {shorten(name)} is given twice: give it once{remedy}")
        table[name] = _value(name, value.strip())
    return table


def _value(key: str, text: str) -> object:
    plain = _plain(text)
    if key not in LISTS or isinstance(plain, list):
        return plain
    separator = ";" if key == "active" else ","
    return [_plain(part.strip()) for part in text.split(separator) if part.strip()]


def _plain(text: str) -> object:
    """Read a value as in TOML, or else use the text as it is; 0x… is an address."""
    if text.casefold().startswith("0x"):
        return text
    try:
        return read_toml(f"value = {text}")["value"]
    except ValueError:
        return text
