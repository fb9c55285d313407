"""`linewatch config`: check what is configured, show it, and try every endpoint once."""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import sys
from pathlib import Path
from typing import Final

import click
from msgspec.structs import replace

from dashboard.application.chosen_settings import (
    ChosenSettings,
    choosable_form,
    hidden,
    read_choice,
)
from dashboard.application.configuration import configuration_file, configured
from dashboard.application.configuration_import import (
    ConfigurationImport,
    WrongConfiguration,
    taken_form,
    taken_lines,
)
from dashboard.application.context import ApplicationContext, ChoosableSetting
from dashboard.application.health import InstallationHealth
from dashboard.application.listing import Json
from dashboard.application.polling_plan import PLAN
from dashboard.cli.installation import Installation, open_installation, text_of
from dashboard.cli.main import Group
from dashboard.cli.options import FILE, as_json, by, chosen
from dashboard.cli.output import (
    FAILED,
    WRONG_INPUT,
    Output,
    answer,
    output,
    print_json,
    print_list,
    print_table,
    say,
    warn,
    write,
)
from dashboard.domain.formatting import counted, share
from dashboard.domain.health.observation import (
    CREDITS_PER_CALL,
    FREE_CREDITS,
    Cost,
    TrialOutcome,
    TrialResult,
)
from dashboard.errors import InputError
from dashboard.logs import configure_logs
from dashboard.settings import Settings, load_settings
from dashboard.settings.chosen import chosen_among
from dashboard.settings.layers import Mistake, SettingLocation
from dashboard.settings.listing import EffectiveSetting, effective_settings, value_text
from dashboard.settings.load import read_configuration
from dashboard.wiring.clock import utc_now
from dashboard.wiring.networks import networks_of
from dashboard.wiring.page_settings import ShownConfiguration, profile_of
from dashboard.wiring.store import chosen_here
from dashboard.wiring.trials import TriedNetwork, try_networks

_MILLISECOND: Final = 1e-3
_PASSWORD: Final = "mail.password"  # noqa: S105 - the name of a setting


@click.group(cls=Group)
def config() -> None:
    """Check the configuration, show and try it, and import or export what people made."""


@config.command()
@as_json
@click.pass_context
def check(context: click.Context, *, as_json: bool) -> None:
    """Name each mistake in the configuration with its file and line; status 2 if there is one."""
    settings, mistakes = read_configuration().checked()
    if as_json:
        print_json({"mistakes": [_mistake_json(each) for each in mistakes]})
    else:
        _print_mistakes(settings, mistakes)
    if mistakes:
        context.exit(WRONG_INPUT)


@config.command()
@as_json
def show(*, as_json: bool) -> None:
    """Show every setting in force and where it comes from; secrets stay hidden."""
    configuration = read_configuration()
    settings, _ = configuration.checked()
    of_people = {each.name: each for each in chosen_among(settings, chosen_here(settings))}
    effective = [
        *(each for each in effective_settings(configuration) if each.setting not in of_people),
        *map(_effective, of_people.values()),
    ]
    if as_json:
        print_json({"settings": [_setting_json(each) for each in effective]})
        return
    rows = [(each.setting, value_text(each.value), str(each.location or "")) for each in effective]
    print_table(("setting", "value", "from"), rows)


@config.command("set")
@click.argument("values", metavar="NAME=VALUE...", nargs=-1)
@click.option("--password-file", type=FILE, help="File with the mail password; - is input.")
@click.option("--reset", "unset", metavar="NAME", multiple=True, help="Reset to the file value.")
@by
@as_json
def set_(
    *,
    values: tuple[str, ...],
    password_file: Path | None,
    unset: tuple[str, ...],
    name: str | None,
    as_json: bool,
) -> None:
    """Change settings while everything runs: recipients, mail server, prices, as on Settings.

    They are mail.recipients (separated by commas), mail.smtp_host, mail.smtp_port, mail.security,
    mail.username, mail.sender and networks.NAME.coin_price. All are checked together, and apply at
    once. A value in the settings file or a variable wins.
    """
    wanted = dict(map(read_choice, values)) | dict.fromkeys(unset)
    if password_file is not None:
        password = text_of(password_file).strip("\r\n")
        if not password:
            raise InputError(f"{password_file} is empty: write the password into it")
        wanted |= hidden({_PASSWORD: password})
    if not wanted:
        raise InputError("nothing to choose: give NAME=VALUE, --password-file or --reset NAME")
    with open_installation() as here:
        ask = ChosenSettings(here.source)
        changed = ask.change(wanted, here.user(name))
        found = {each.name: each for each in ask.all()}
    names = [each for each in wanted if each in found]
    forms: list[Json] = [choosable_form(found[each]) for each in names]
    unchanged = () if changed or _PASSWORD in wanted else ("No change was needed.",)
    lines = (f"{each} = {value_text(found[each].value)} ({found[each].source})" for each in names)
    answer({"chosen": forms}, *lines, *unchanged, as_json=as_json)


@config.command("try")
@click.option("--network", metavar="NAME|ID", help="Only this network, by name or chain id.")
@as_json
@click.pass_context
def try_(context: click.Context, network: str | None, *, as_json: bool) -> None:
    """Ask each endpoint once; show answers and what polling costs. Status 1 if one fails."""
    configure_logs("command", logging.ERROR)
    settings = load_settings()
    tried = asyncio.run(try_networks(settings, _only(network, settings)))
    if as_json:
        print_json(
            {
                "networks": [_tried_json(each) for each in tried],
                "assumed_credits_per_call": CREDITS_PER_CALL,
            }
        )
    else:
        print_trials(tried)
    if any(finding.outcome is TrialOutcome.FAILED for each in tried for finding in each.findings):
        context.exit(FAILED)


@config.command()
@output
def plan(*, output: Output) -> None:
    """Show a day's calls and credits, the delay of rejections, and what other settings give.

    The load is that of the last week in the store; no API is asked.
    """
    with open_installation() as here:
        found = InstallationHealth(here.source).plan()
    print_list(PLAN, found.lines, output, after=[*found.in_words()] if found.lines else ())


@config.command()
def export() -> None:
    """Print everything that people configured as a file, without secrets; `import` reads it.

    It contains rules, silences and windows, recipients, watched senders, tracked transactions,
    filters, accounts, templates for answers, and the settings file.
    """
    with open_installation() as here:
        write(configuration_file(configured(_with_settings(here))), nl=False)


@config.command("import")
@click.argument("file", type=FILE)
@click.option("--dry-run", is_flag=True, help="Only show what would change.")
@as_json
def import_(*, file: Path, dry_run: bool, as_json: bool) -> None:
    """Import what `export` printed elsewhere; - reads standard input.

    Rules are replaced as a whole; everything else that the file names is added or changed. A file
    with mistakes changes nothing: every mistake is named. Settings are only compared.
    """
    text = text_of(file)
    with open_installation() as here:
        ask = ConfigurationImport(_with_settings(here))
        try:
            taken = ask.take(text, here.user(), is_tried=dry_run)
        except WrongConfiguration as wrong:
            if as_json:
                print_json({"mistakes": list[Json](wrong.mistakes)})
            for each in wrong.mistakes:
                warn(each)
            sys.exit(WRONG_INPUT)
    is_done = not dry_run
    answer(
        taken_form(taken, is_done=is_done), *taken_lines(taken, is_done=is_done), as_json=as_json
    )


def _with_settings(here: Installation) -> ApplicationContext:
    """Return the request with the settings of the file, which few commands need."""
    if here.source.settings.configuration is not None:
        return here.source
    shown = ShownConfiguration(utc_now).state
    settings = replace(here.source.settings, configuration=shown)
    return dataclasses.replace(here.source, settings=settings)


def _only(text: str | None, settings: Settings) -> int | None:
    profiles = tuple(profile_of(network, settings) for network in networks_of(settings))
    profile = chosen(text, profiles)
    return None if profile is None else profile.network_id


def _print_mistakes(settings: Settings, mistakes: list[Mistake]) -> None:
    for each in mistakes:
        say(str(each))
    if mistakes:
        say(f"{len(mistakes)} mistake{'s' if mistakes[1:] else ''}.")
        return
    names = ", ".join(each.title for each in networks_of(settings))
    say(f"The configuration is good. Networks: {names or 'none'}.")


def print_trials(tried: list[TriedNetwork]) -> None:
    """Print what each endpoint answered, and what polling it costs."""
    for each in tried:
        say(f"{each.network.title} ({each.network.network_id})")
        if each.findings:
            rows = [_row(finding) for finding in each.findings]
            print_table(("endpoint", "question", "outcome", "took", "found"), rows)
        else:
            say("No endpoint is configured; add exclusion, gas or node.")
        for line in _cost_lines(each):
            say(line)
        click.echo()


def _row(finding: TrialResult) -> tuple[str, ...]:
    took = f"{finding.took.total_seconds() / _MILLISECOND:.0f} ms"
    return (finding.endpoint, finding.question, finding.outcome, took, finding.found)


def _cost_lines(tried: TriedNetwork) -> list[str]:
    cost, fees = tried.cost, tried.cost.of_fees
    if cost.is_free:
        return ["Costs no credits: no hosted gateway is asked."]
    lines = [f"At {_prices(cost)}:"]
    if fees.credits:
        lines.append(
            f"  fees: {fees.calls:,} calls, {fees.credits:,} credits a day, "
            f"{share(fees.credits / FREE_CREDITS)} of a free plan's {FREE_CREDITS:,}"
        )
    if cost.of_question.credits:
        whole = cost.of_checks(cost.checks)
        lines.append(
            f"  each tracked transaction: {whole.calls:,} calls, {whole.credits:,} credits over "
            "its seven days"
        )
    if cost.of_question.credits and cost.checks_after_limits is not None:
        after = cost.of_checks(cost.checks_after_limits)
        lines.append(
            f"  each first seen after line limits end: {counted(after.calls, 'call')}, "
            f"{after.credits:,} credits"
        )
    if (receipts := cost.of_receipts).credits:
        lines.append(
            "  each tracked transaction, whether it is in a block: up to "
            f"{receipts.calls:,} calls, {receipts.credits:,} credits over thirty days; twice as "
            "many once it is rejected"
        )
    if (many := cost.of_question.calls) > 1:
        lines.append(f"  each question is put to {many} endpoints")
    return lines


def _prices(cost: Cost) -> str:
    charged = {**cost.question, **cost.receipt, **cost.fees}
    names = [f"the prices of the budget {name}" for name in charged if name]
    if "" in charged:
        names.append(f"{CREDITS_PER_CALL} credits a call, as the hosted gateway counts (assumed)")
    return ", and ".join(names)


def _mistake_json(mistake: Mistake) -> Json:
    fields: dict[str, Json] = {"setting": mistake.setting, "message": str(mistake)}
    return fields | _location_json(mistake.location)


def _effective(each: ChoosableSetting) -> EffectiveSetting:
    """Return a chosen setting as a setting in force."""
    return EffectiveSetting(each.name, each.value, SettingLocation(each.source), each.default)


def _setting_json(each: EffectiveSetting) -> Json:
    fields: dict[str, Json] = {"setting": each.setting, "value": _plain(each.value)}
    return fields | _location_json(each.location)


def _location_json(location: SettingLocation | None) -> dict[str, Json]:
    if location is None:
        return {"source": None, "line": None}
    return {"source": location.source, "line": location.line}


def _tried_json(tried: TriedNetwork) -> Json:
    findings: list[Json] = [
        {
            "endpoint": each.endpoint,
            "question": each.question,
            "outcome": each.outcome.value,
            "found": each.found,
            "milliseconds": round(each.took.total_seconds() / _MILLISECOND),
        }
        for each in tried.findings
    ]
    return {
        "network_id": tried.network.network_id,
        "name": tried.network.title,
        "is_simulated": tried.network.is_simulated,
        "findings": findings,
        "cost": _cost_json(tried.cost),
    }


def _cost_json(cost: Cost) -> Json:
    if cost.is_free:
        return None
    whole, after = cost.of_checks(cost.checks), cost.checks_after_limits
    return {
        "gas_calls_per_day": cost.of_fees.calls,
        "gas_credits_per_day": cost.of_fees.credits,
        "calls_per_transaction": whole.calls,
        "credits_per_transaction": whole.credits,
        "receipt_calls_per_transaction": cost.of_receipts.calls,
        "receipt_credits_per_transaction": cost.of_receipts.credits,
        "calls_after_limits": None if after is None else cost.of_checks(after).calls,
    }


def _plain(value: object) -> Json:
    if isinstance(value, list):
        return [_plain(each) for each in value]
    return value if isinstance(value, str | int | float | bool) else str(value)
