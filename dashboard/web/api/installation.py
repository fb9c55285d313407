"""Endpoints about the installation: networks, attention, templates, settings, all as a file."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Final

import msgspec

from dashboard.application.attention import attention_form
from dashboard.application.chosen_settings import choosable_form, hidden
from dashboard.application.configuration import configuration_file, configured
from dashboard.application.configuration_import import ConfigurationImport, taken_form
from dashboard.application.context import LONGEST_SETTINGS, SettingChange
from dashboard.application.listing import Json, instant
from dashboard.application.network_status import NetworkStatus
from dashboard.domain.people.access import READS_ACCESS, Action, Role, least_role
from dashboard.domain.rejections.line_limits import LimitsEnd
from dashboard.errors import NotFound
from dashboard.web.api.endpoint import (
    LARGEST_TEXT,
    Asked,
    Endpoints,
    Fields,
    Reply,
    Text,
    refuse_other_version,
)

endpoints = Endpoints()
_TEMPLATES: Final = "text builtIn mistakes"


@endpoints.at("GET /networks", "How busy each network is", "asOf networks")
def networks(asked: Asked) -> Reply:
    as_of, statuses = asked.application.statuses_as_of()
    limits = asked.application.line_limits.limits()
    forms: list[Json] = [
        _network(each, limits[each.profile.network_id].end, as_of) for each in statuses
    ]
    return Reply({"asOf": instant(as_of), "networks": forms})


def _network(status: NetworkStatus, end: LimitsEnd | None, as_of: datetime) -> Json:
    figures, profile = status.figures, status.profile
    wei = {
        "estimatedBaseFee": figures.base_fee,
        "baseFeePercentile": figures.base_fee_percentile,
        "busyThreshold": figures.busy_threshold,
    }
    fees: dict[str, Json] = {
        name: None if each is None else {"wei": str(each.value), "at": instant(each.asked_at)}
        for name, each in wei.items()
    }
    return {
        **profile.form(),
        "activity": str(status.activity),
        "reason": status.activity_reason,
        **fees,
        "lineLimitsEnd": None
        if end is None
        else {
            "at": instant(end.at),
            "blockNumber": None if end.block_number is None else hex(end.block_number),
            "hasEnded": end.ended_at(as_of) is not None,
        },
    }


@endpoints.at("GET /attention", "What needs attention now", "asOf attention")
def attention(asked: Asked) -> Reply:
    as_of, statuses = asked.application.statuses_as_of()
    found = asked.application.needed_attention(statuses, as_of)
    return Reply({"asOf": instant(as_of), "attention": [attention_form(each) for each in found]})


class Templates(Fields):
    """The text of the file of templates; null restores the built-in ones."""

    text: Annotated[str, msgspec.Meta(max_length=100_000)] | None


@endpoints.at("GET /answers", "Templates for answers", _TEMPLATES)
def answers(asked: Asked) -> Reply:
    return Reply.of_version(_answer_document(asked))


@endpoints.at(
    "PUT /answers",
    "Change the templates for answers",
    _TEMPLATES,
    Action.CHANGE_ANSWERS,
    Templates,
    needs_match=True,
)
def set_answers(asked: Asked) -> Reply:
    ask = asked.application.answers
    seen = ask.state()
    refuse_other_version(asked, _answer_document(asked))
    ask.change(asked.body.text, asked.by, seen)
    return answers(asked)


def _answer_document(asked: Asked) -> dict[str, Json]:
    """Return the templates for answers as the document that is read and written back."""
    state = asked.application.answers.state()
    return {"text": state.text, "builtIn": state.text is None, "mistakes": list(state.mistakes)}


@endpoints.at(
    "GET /settings",
    "Settings in force with their origin, secrets masked",
    "settings changedSinceStart mistakes",
)
def settings(asked: Asked) -> Reply:
    state = asked.application.chosen_settings.configuration()
    if state is None:
        raise NotFound("settings are not shown here")
    mistakes = list[Json](state.mistakes)
    changed = list(map(_change, state.changed))
    values: list[Json] = [
        {
            "name": each.name,
            "value": each.value,
            "from": each.source,
            "isDefault": each.is_default,
            "default": each.default,
            "meaning": each.meaning,
        }
        for each in state.settings
    ]
    return Reply({"settings": values, "changedSinceStart": changed, "mistakes": mistakes})


class Chosen(Fields):
    """Values by the names of settings; null restores that of the files, or the default."""

    values: dict[str, str | int | list[str] | None]


@endpoints.at("GET /settings/chosen", "Settings that people choose while everything runs", "chosen")
def chosen(asked: Asked) -> Reply:
    return Reply({"chosen": list(map(choosable_form, asked.application.chosen_settings.all()))})


@endpoints.at(
    "PATCH /settings/chosen",
    "Choose settings: default recipients, the mail server, the price of a coin",
    "chosen",
    Action.CHANGE_SETTINGS,
    Chosen,
)
def choose(asked: Asked) -> Reply:
    said: Chosen = asked.body
    asked.application.chosen_settings.change(hidden(said.values), asked.by)
    return chosen(asked)


class TrialMail(Fields):
    """The email address for a test message."""

    to: Text


@endpoints.at(
    "POST /settings/test-mail",
    "Send a test message by the mail server in force",
    "address wasSent answer",
    body=TrialMail,
    least=least_role(Action.TEST_SEND),  # no action: nothing is written while a server is asked
)
def send_test(asked: Asked) -> Reply:
    tried = asked.application.chosen_settings.send_test(asked.body.to, asked.by)
    said: dict[str, Json] = {"address": tried.recipient.address, "answer": tried.answer}
    return Reply({**said, "wasSent": tried.was_sent})


class SettingsText(Fields):
    """The text of a settings file, which is checked and not stored."""

    text: Annotated[str, msgspec.Meta(max_length=LONGEST_SETTINGS)]


@endpoints.at(
    "POST /settings/check",
    "Check a text before it is saved as linewatch.toml",
    "mistakes changes unread",
    body=SettingsText,
    least=READS_ACCESS,
)
def check_settings(asked: Asked) -> Reply:
    check = asked.context.settings.check_text
    if check is None:
        raise NotFound("settings are not checked here")
    found = check(asked.body.text)
    return Reply(
        {
            "mistakes": list[Json](found.mistakes),
            "changes": list(map(_change, found.changes)),
            "unread": list[Json](found.unread),
        }
    )


def _change(each: SettingChange) -> Json:
    return {
        "name": each.name,
        "running": each.running,
        "after": each.after,
        "needsRestart": each.needs_restart,
    }


@endpoints.at(
    "GET /configuration",
    "All that people configured, as TOML without secrets",
    "text",
    least=Role.ADMIN,
)
def configuration(asked: Asked) -> Reply:
    return Reply({"text": configuration_file(configured(asked.context))})


class GivenConfiguration(Fields):
    """The text of such a file; with `dryRun` nothing is changed, and the answer says what would."""

    text: Annotated[str, msgspec.Meta(max_length=LARGEST_TEXT)]
    dry_run: bool = False


@endpoints.at(
    "PUT /configuration",
    "Import a file: all of it, or nothing if it has a mistake",
    "isDone changes left",
    Action.IMPORT,
    GivenConfiguration,
    largest=LARGEST_TEXT,
)
def take_configuration(asked: Asked) -> Reply:
    said: GivenConfiguration = asked.body
    ask = ConfigurationImport(asked.context)
    taken = ask.take(said.text, asked.by, is_tried=said.dry_run)
    return Reply(taken_form(taken, is_done=not said.dry_run))
