"""All that people configured, as one file without secrets: to keep, compare, or move elsewhere."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, TypeAlias

from msgspec import Struct

from dashboard.application.chosen_settings import ChosenSettings
from dashboard.application.context import ApplicationContext
from dashboard.application.customer_answers import AnswerTexts
from dashboard.application.listing import instant
from dashboard.application.people import People
from dashboard.application.recipients import ListedRecipient, Recipients
from dashboard.application.rules import AlertRules
from dashboard.application.senders import WatchedSenders
from dashboard.application.silences import Silences
from dashboard.application.tracked import TrackedTransactions
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.alerts.rule_table import write_rule
from dashboard.domain.alerts.silence import Silence
from dashboard.domain.people.recipients import RecipientProfile
from dashboard.domain.quantity import NetworkId
from dashboard.domain.secret import MASK
from dashboard.domain.toml_tables import write_toml
from dashboard.domain.tracking.remarks import Remarks
from dashboard.store.tracking.search import TrackedFilter

Table: TypeAlias = Mapping[str, Any]
Section: TypeAlias = Mapping[str, Table]
Document: TypeAlias = Mapping[str, Section]
"""The configuration: by section, then by name, keys with their values."""

MOST_TRACKED: Final = 10_000
"""Only this many tracked transactions are in one file, the latest."""

TEMPLATES: Final = "templates"
"""The only table in the section of answers."""

_HEAD: Final = (
    "# All that people configured in Linewatch, without secrets; "
    "`linewatch config import` takes it.\n"
)


def configuration_file(document: Document) -> str:
    written = (write_toml(section, tables) for section, tables in document.items())
    return "\n".join([_HEAD, *filter(None, written)])


def configured(context: ApplicationContext) -> Document:
    """Return the whole configuration; the result does not depend on the order of changes."""
    return {
        "rules": {each.rule.name: write_rule(each.rule) for each in AlertRules(context).in_force()},
        "silences": _silences(Silences(context)),
        "recipients": _recipients(Recipients(context).all()),
        "senders": {
            str(each.sender): without_empty(networks=list(each.network_ids), label=each.label)
            for each in sorted(WatchedSenders(context).watched(), key=lambda each: each.sender)
        },
        "tracked": _tracked(TrackedTransactions(context)),
        "filters": {
            each.name: dict(each.parameters)
            for each in TrackedTransactions(context).saved_filters()
        },
        "people": {
            each.name: {"role": each.role.value}
            for each in (account.person for account in People(context).all())
            if each.issuer is None
        },
        "answers": _answers(AnswerTexts(context)),
        "chosen": ChosenSettings(context).exported(),
        "settings": _settings(context),
    }


class Difference(Struct, frozen=True):
    """One table that differs: its keys before and after, None if it does not exist."""

    section: str
    name: str
    before: Table | None
    after: Table | None

    def __str__(self) -> str:
        what = f"{self.section}.{self.name}"
        if self.before is None:
            return f"+ {what}"
        if self.after is None:
            return f"- {what}"
        keys = {**self.before, **self.after}
        changed = [key for key in keys if self.before.get(key) != self.after.get(key)]
        return f"~ {what}: {', '.join(changed)}"


def differences(before: Document, after: Document) -> Iterator[Difference]:
    for section in before:
        old, new = before[section], after[section]
        for name in {**old, **new}:
            if old.get(name) != new.get(name):
                yield Difference(section, name, old.get(name), new.get(name))


def without_empty(**values: Any) -> Table:  # noqa: ANN401 - of TOML
    """Return a table without empty values."""
    return {name: value for name, value in values.items() if value not in ("", [], None, False)}


def _silences(ask: Silences) -> Section:
    found = sorted(ask.stored().unfinished, key=lambda each: str(each.request.request_id))
    return {str(each.request.request_id): silence_table(each) for each in found}


def silence_table(silence: Silence) -> Table:
    """Return a silence as a table, without its author and its creation time."""
    request = silence.request
    hours = None if request.weekly is None else request.weekly.hours
    return {
        "kind": request.kind.value,
        "matchers": [str(each) for each in request.matchers],
        "starts_at": instant(request.starts_at),
        "ends_at": instant(request.ends_at),
        "reason": request.reason,
        **without_empty(
            weekly=[] if hours is None else list(map(str, hours.spans)),
            time_zone="" if hours is None else hours.zone,
        ),
    }


def _recipients(listed: Sequence[ListedRecipient]) -> Section:
    tables = {_name_of(each.recipient): _recipient(each) for each in listed}
    return {name: table for name, table in sorted(tables.items()) if table}


def _recipient(each: ListedRecipient) -> Table:
    wanted = RecipientProfile() if each.is_fixed else each.profile
    return without_empty(
        verified=each.verification is not None and each.verification.verified_at is not None,
        off="" if each.off is None else each.off.cause.value,
        note="" if each.off is None else each.off.note,
        time_zone=wanted.zone,
        active=list(map(str, wanted.active)),
        digest="" if wanted.digest is None else str(wanted.digest),
    )


def _name_of(recipient: Recipient) -> str:
    """Return the name of a recipient in a file; an email address has no colon before its @."""
    is_mail = recipient.channel == MAIL
    return recipient.address if is_mail else f"{recipient.channel}:{recipient.address}"


def _tracked(ask: TrackedTransactions) -> Section:
    found = sorted(ask.export(TrackedFilter(), MOST_TRACKED), key=lambda each: each.tx_hash)
    return {str(each.tx_hash): tracked_table(each.network_ids, each.remarks) for each in found}


def tracked_table(network_ids: Sequence[NetworkId], remarks: Remarks) -> Table:
    """Return a tracked transaction as a table, without the time since when it is tracked."""
    return without_empty(
        networks=sorted(network_ids),
        attempted_at=instant(remarks.attempted_at),
        label=remarks.label,
        note=remarks.note,
        case_id=remarks.case_id,
        owner=remarks.owner,
        tags=remarks.tags,
    )


def _answers(ask: AnswerTexts) -> Section:
    text = ask.state().text
    return {} if text is None else {TEMPLATES: {"text": text}}


def _settings(context: ApplicationContext) -> Section:
    """Return what the settings file sets, as text, without values that may be secret."""
    if context.settings.configuration is None:
        return {}
    state = context.settings.configuration()
    file, found = Path(state.own_file).name, dict[str, dict[str, str]]()
    for each in state.settings:
        section, _, key = each.name.partition(".")
        if key and each.value != MASK and each.source.startswith(file):
            found.setdefault(section, {})[key] = each.value
    return found
