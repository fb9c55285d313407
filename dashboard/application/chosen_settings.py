"""Settings that people choose on a page, over the API or by command, without a restart."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Final

from msgspec.structs import replace

from dashboard.application.context import (
    ApplicationSubject,
    ChoosableSetting,
    Choosing,
    ConfigurationState,
    ShownSetting,
)
from dashboard.application.listing import Json, instant
from dashboard.application.recipients import Recipients, TriedRecipient
from dashboard.domain.alerts.notification import Recipient
from dashboard.domain.alerts.rule_keys import MAIL
from dashboard.domain.markup import visible
from dashboard.domain.people.access import Action, Actor, Detail
from dashboard.domain.people.recipients import MailAddress
from dashboard.domain.quantity import shorten
from dashboard.domain.secret import Secret
from dashboard.errors import InputError, StoreError
from dashboard.store.access.audit_log import note_action
from dashboard.store.chosen_settings import (
    LOGIN,
    PASSWORD,
    RECIPIENTS,
    ChosenValue,
    chosen_values,
    read_chosen,
    save_chosen,
)

LONGEST_VALUE: Final = 2_000
"""Characters of one value."""

_MOST_RECIPIENTS: Final = 200
_LONGEST_NAME: Final = 100
_DIGITS_OF_PORT: Final = 5


class ChosenSettings(ApplicationSubject):
    """The default recipients, the mail server and the prices of coins.

    The settings file and variables take precedence. The worker and all pages follow at once.
    """

    def all(self) -> tuple[ChoosableSetting, ...]:
        if self._context.settings.choosing is None:
            return ()
        with self._context.store.read() as connection:
            chosen = read_chosen(connection)
        values = {name: each.value for name, each in chosen.items()}
        return tuple(
            replace(each, chosen_at=chosen[each.name].at, chosen_by=chosen[each.name].by)
            if each.name in chosen
            else each
            for each in self._context.settings.choosing.settings(values)
        )

    def values(self) -> dict[str, ChosenValue]:
        """Return what people chose, even if the settings file overrides it."""
        with self._context.store.read() as connection:
            return chosen_values(connection)

    def change(
        self,
        wanted: Mapping[str, ChosenValue | None],
        by: Actor,
        held: Mapping[str, ChosenValue | None] = MappingProxyType({}),
    ) -> dict[str, ChosenValue | None]:
        """Change these values together, on record; None removes a choice.

        Returns the earlier values of those that changed, without the password. InputError says what
        is wrong, or which value is no longer as `held`; then nothing is changed.
        """
        by.require(Action.CHANGE_SETTINGS)
        _refuse_unreadable(wanted)
        with self._context.store.write() as connection:
            before = chosen_values(connection)
            if others := [name for name, value in held.items() if before.get(name) != value]:
                raise InputError(f"somebody else changed the setting {others[0]} since: look again")
            after = {name: each for name, each in {**before, **wanted}.items() if each is not None}
            changed = [each for each in wanted if before.get(each) != after.get(each)]
            known = {each.name for each in self._choosing().settings(before)}
            for name in wanted.keys() - known - before.keys():  # a reset would pass for done
                self._choosing().refuse_wrong(before, {**after, name: ""})
            self._choosing().refuse_wrong(before, after)
            if changed:
                save_chosen(connection, {name: after.get(name) for name in changed}, by)
                details = {name: _told(after.get(name)) for name in changed}
                subject = ", ".join(changed)
                note_action(connection, by, Action.CHANGE_SETTINGS, subject, details)
        return {name: before.get(name) for name in changed if name != PASSWORD}

    def exported(self) -> dict[str, dict[str, str | int | list[str]]]:
        """Return the choices by table and key, without the password."""
        found: dict[str, dict[str, str | int | list[str]]] = {}
        known = {each.name for each in self.all()} - {PASSWORD}
        chosen = self.values()
        for name in sorted(known & chosen.keys()):
            section, _, key = name.rpartition(".")
            found.setdefault(section, {})[key] = chosen[name]  # type: ignore[assignment]  # no password
        return found

    def take(self, tables: Mapping[str, Mapping[str, Any]], by: Actor) -> list[str]:
        """Adopt the choices in a file written by `exported`; return what was left out, and why.

        If the mail server changes, the password chosen for the old one is removed.
        """
        held, left, wanted = {each.name: each for each in self.all()}, [], {}
        for section, keys in tables.items():
            for key, value in keys.items():
                name = f"{section}.{key}"
                if name in held and held[name].is_fixed:
                    left.append(f"{name} is set in {held[name].source}, which wins")
                else:
                    wanted[name] = _read(name, value)
        before = self.values()
        is_elsewhere = any(name in wanted and wanted[name] != before.get(name) for name in LOGIN)
        if is_elsewhere and "mail.username" in {*wanted, *before}:
            wanted |= {PASSWORD: None} if PASSWORD in before else {}
            left.append(f"{PASSWORD} is never in a file: choose it on the page Settings")
        if wanted:
            self.change(wanted, by)
        return left

    def send_test(self, address: str, by: Actor) -> TriedRecipient:
        """Send a test message to an email address with the current choices, on record."""
        MailAddress.parse(address)
        recipient, choosing, chosen = Recipient(MAIL, address), self._choosing(), self.values()
        return Recipients(self._context).try_out(
            recipient, lambda: choosing.send_trial(chosen, recipient, by), by
        )

    def configuration(self) -> ConfigurationState | None:
        """Return the settings of this process including choices; None if none are shown.

        If the store cannot be read, choices are missing.
        """
        read = self._context.settings.configuration
        if read is None:
            return None
        state = read()
        try:
            held = [each for each in self.all() if each.chosen_at and not each.is_fixed]
        except StoreError:
            return state
        known = {each.name: each for each in state.settings}
        chosen = {each.name: _shown(each, known.get(each.name)) for each in held}
        shown = [*(known | chosen).values()]
        sections = list(dict.fromkeys(each.section for each in shown))
        shown.sort(key=lambda each: sections.index(each.section))
        return replace(state, settings=tuple(shown))

    def _choosing(self) -> Choosing:
        choosing = self._context.settings.choosing
        if choosing is None:
            raise InputError("no settings can be chosen here: change the settings file")
        return choosing


def _refuse_unreadable(wanted: Mapping[str, ChosenValue | None]) -> None:
    """Raise InputError for text that nobody types, to keep it out of lists and mails."""
    for given, value in wanted.items():
        name = visible(given, _LONGEST_NAME)
        text = value.reveal() if isinstance(value, Secret) else value
        if isinstance(text, list) and len(text) > _MOST_RECIPIENTS:
            raise InputError(
                f"the setting {name} holds {len(text):,} addresses, each of which gets every "
                f"alert: write at most {_MOST_RECIPIENTS}, or the address of a mailing list"
            )
        for each in text if isinstance(text, list) else [text]:
            if isinstance(each, str) and not (each.isprintable() and len(each) <= LONGEST_VALUE):
                raise InputError(
                    f"the setting {name} holds a line break or a character that cannot be seen, "
                    f"or is longer than {LONGEST_VALUE:,} characters: type it once more"
                )


def _read(name: str, value: object) -> ChosenValue | None:
    """Read a value of a file, whose type is checked later; InputError if it cannot be a setting."""
    is_list = isinstance(value, list) and all(isinstance(each, str) for each in value)
    if name == PASSWORD:
        raise InputError(f"{name} does not belong in a file: choose it on the page Settings")
    if isinstance(value, bool) or not (is_list or isinstance(value, str | int)):
        raise InputError(f"{name} is neither a text nor a number nor a list of texts: write one")
    return value  # type: ignore[return-value]  # as was just found


def _told(value: ChosenValue | None) -> Detail:
    """Describe a choice for the audit log."""
    if value is None:
        return "the default"
    return "a new one" if isinstance(value, Secret) else value


def _shown(each: ChoosableSetting, known: ShownSetting | None = None) -> ShownSetting:
    value, default = _text(each.value), _text(each.default)
    meaning = "" if known is None else known.meaning
    default = "" if default == value else default
    return ShownSetting(each.name, value, each.source, False, default, meaning)  # noqa: FBT003 - is_default


def _text(value: str | int | list[str]) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value)


def hidden(
    values: Mapping[str, str | int | list[str] | None],
) -> dict[str, ChosenValue | None]:
    """Return values from outside with the password wrapped as a secret."""
    return {
        name: Secret(value) if name == PASSWORD and isinstance(value, str) else value
        for name, value in values.items()
    }


def read_choice(text: str) -> tuple[str, ChosenValue | None]:
    """Parse NAME=VALUE from a command; InputError if there is no value."""
    name, sign, value = text.partition("=")
    if not sign or name == PASSWORD:
        raise InputError(
            f"{shorten(name)} has no value that a command line may hold: write NAME=VALUE, and "
            "let --password-file hold the password"
        )
    if name == RECIPIENTS:
        return name, [each.strip() for each in value.split(",") if each.strip()] or None
    is_port = name == "mail.smtp_port" and value.isdecimal() and len(value) <= _DIGITS_OF_PORT
    return name, int(value) if is_port else value or None


def choosable_form(each: ChoosableSetting) -> Json:
    return {
        "name": each.name,
        "value": list[Json](each.value) if isinstance(each.value, list) else each.value,
        "from": each.source,
        "isFixed": each.is_fixed,
        "chosenAt": instant(each.chosen_at),
        "chosenBy": each.chosen_by or None,
    }
