"""Settings that people choose on the page: recipients, the mail server, prices; and a test mail."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import partial
from typing import Final, TypeAlias

import streamlit as st

from dashboard.application.application import Application
from dashboard.application.chosen_settings import LONGEST_VALUE, hidden
from dashboard.application.context import ChoosableSetting
from dashboard.application.recipients import TriedRecipient
from dashboard.application.text import age, sentence
from dashboard.domain.formatting import capitalized
from dashboard.domain.markup import plain_label, visible
from dashboard.domain.people.access import Action, Actor
from dashboard.show.parts.acting import Done, act, may
from dashboard.show.parts.frame import card, quiet
from dashboard.show.parts.notices import notice
from dashboard.store.chosen_settings import PASSWORD, RECIPIENTS, ChosenValue

Wanted: TypeAlias = Mapping[str, str | int | list[str] | None]
"""Values by the names of settings; None lets one be as the files say, or the default."""

_PRICE: Final = ".coin_price"
_TRIED: Final = "test_mail_tried"
_SECURITY: Final = {
    "starttls": "STARTTLS (587)",
    "tls": "TLS from the start (465)",
    "none": "none (25)",
}
_MOST_LINES: Final = 20_000
_LONGEST: Final = 400


def chosen_settings_part(queries: Application) -> None:
    """Show the choosable settings, each with its source, and save them, to people who may."""
    if not may(queries, Action.CHANGE_SETTINGS):
        return
    found = {each.name: each for each in queries.chosen_settings.all()}
    if not found:
        return
    prices = [each for name, each in found.items() if name.endswith(_PRICE)]
    if prices:
        _prices(queries, prices)
    _recipients(queries, found[RECIPIENTS])
    _mail_server(queries, {name.removeprefix("mail."): each for name, each in found.items()})


def _prices(queries: Application, prices: list[ChoosableSetting]) -> None:
    with card(
        "prices", "Price of a coin", "Costs are shown in money as well. No price is fetched."
    ):
        names = {each.price_setting: f"{each.name}: 1 {each.coin}" for each in queries.networks}
        with st.form("prices", border=False):
            wanted = {
                each.name: _text(each, names.get(each.name) or _network(each.name), "e.g. 3150 USD")
                for each in prices
            }
            if _is_saved("Save prices", prices):
                _save(queries, prices, wanted, "The prices are saved")
        _sources(queries, prices)


def _network(name: str) -> str:
    return name.removeprefix("networks.").removesuffix(_PRICE)


def _recipients(queries: Application, each: ChoosableSetting) -> None:
    with card(
        "default-recipients",
        "Default recipients",
        "They, like channels with default = true, get what no rule sends elsewhere, and need "
        "no verification.",
    ):
        with st.form("default-recipients", border=False):
            text = st.text_area(
                "Email addresses, one a line",
                "\n".join(each.value if isinstance(each.value, list) else []),
                key=_key(each),
                height=100,
                max_chars=_MOST_LINES,
                placeholder="none: mails go to oncall@localhost",
                disabled=each.is_fixed,
            )
            lines = [line.strip() for line in (text or "").splitlines() if line.strip()]
            if _is_saved("Save recipients", [each]):
                said = "The default recipients are saved, and apply from now on"
                _save(queries, [each], {each.name: lines}, said)
        _sources(queries, [each])


def _mail_server(queries: Application, found: Mapping[str, ChoosableSetting]) -> None:
    host = found["smtp_host"]
    shown = [
        found[each]
        for each in ("smtp_host", "smtp_port", "security", "username", "password", "sender")
    ]
    with card("mail-server", "Mail server", "Without a host, mails are files in the state folder."):
        with st.form("mail-server", border=False):
            with st.container(horizontal=True):
                wanted: dict[str, str | int | list[str] | None] = {
                    host.name: _text(host, "Host", "e.g. smtp.example.org"),
                    found["smtp_port"].name: _port(found["smtp_port"]),
                    found["security"].name: _security(found["security"]),
                }
            with st.container(horizontal=True):
                user, password = found["username"], found["password"]
                wanted[user.name] = _text(user, "User", "none: no login")
                wanted[password.name] = _password(password, user=str(wanted[user.name]))
            sender = found["sender"]
            hint = "e.g. Linewatch <linewatch@example.org>"
            wanted[sender.name] = _text(sender, "From", hint)
            if _is_saved("Save mail server", shown):
                _save(queries, shown, wanted, "The mail server is saved: send a test")
        _sources(queries, shown)
        _test(queries, found["recipients"])


def _text(each: ChoosableSetting, label: str, hint: str) -> str:
    said = st.text_input(
        plain_label(label, _LONGEST),
        str(each.value),
        key=_key(each),
        max_chars=LONGEST_VALUE,
        placeholder=hint,
        disabled=each.is_fixed,
    )
    return (said or "").strip()


def _port(each: ChoosableSetting) -> int:
    port = st.number_input(
        *("Port", 1, 65_535, int(str(each.value))), key=_key(each), disabled=each.is_fixed
    )
    return int(port)


def _security(each: ChoosableSetting) -> str:
    kinds = list(_SECURITY)
    chosen = st.selectbox(
        "Security",
        kinds,
        kinds.index(str(each.value)),
        format_func=_SECURITY.__getitem__,
        key=_key(each),
        disabled=each.is_fixed,
    )
    return str(chosen)


def _password(each: ChoosableSetting, *, user: str) -> str | None:
    """Ask for a password, which is never shown; left empty, it stays while there is a user."""
    given = st.text_input(
        "Password",
        key=_key(each),
        type="password",
        max_chars=LONGEST_VALUE,
        placeholder="stored" if each.value else "",
        help="Leave empty to keep it. It is stored in clear text, and never shown.",
        autocomplete="new-password",
        disabled=each.is_fixed,
    )
    return given or (str(each.value) if user else "")


def _key(each: ChoosableSetting) -> str:
    """Return the key of a field: a new one after each change, so that it shows the new value."""
    at = each.chosen_at
    return f"choose-{each.name}-{'' if at is None else at.timestamp()}"


def _is_saved(label: str, shown: list[ChoosableSetting]) -> bool:
    return st.form_submit_button(label, disabled=all(each.is_fixed for each in shown))


def _save(queries: Application, shown: list[ChoosableSetting], wanted: Wanted, said: str) -> None:
    """Save values that differ from those in force; a default or an empty value ends the choice."""
    st.session_state.pop(_TRIED, None)
    known = {each.name: each for each in shown}
    changed = {
        name: None if value in ("", [], known[name].default) else value
        for name, value in wanted.items()
        if not known[name].is_fixed and value != known[name].value
    }
    change, new = queries.chosen_settings.change, hidden(changed)
    has_password = any(each.name == PASSWORD for each in shown)  # which nobody could bring back

    def done(before: Mapping[str, ChosenValue | None]) -> Done:
        if not changed:
            return Done("No change was needed")
        return Done(said, None if has_password else partial(change, before, held=new))

    act(queries, partial(change, new), done)


def _sources(queries: Application, shown: list[ChoosableSetting]) -> None:
    """Say where fixed settings are set, and who chose the others when."""
    now = queries.now()
    for each in shown:
        if each.is_fixed:
            text = f"{each.name} is set in {each.source}, which wins: change it there."
            quiet(visible(text, _LONGEST))
    at = max((each.chosen_at for each in shown if each.chosen_at), default=None)
    if at is not None:
        quiet(visible(_who(shown, at, now), _LONGEST))


def _who(shown: list[ChoosableSetting], at: datetime, now: datetime) -> str:
    who = next(each.chosen_by for each in shown if each.chosen_at == at)
    return f"Last changed here {age(at, now)} by {who}."


def _test(queries: Application, recipients: ChoosableSetting) -> None:
    """Send a test mail with the saved settings, and say what the server answered."""
    first = recipients.value[0] if isinstance(recipients.value, list) and recipients.value else ""
    with st.form("test-mail", border=False):
        address = st.text_input(
            "Send a test mail to",
            first,
            key=f"test-mail-{first}",
            max_chars=LONGEST_VALUE,
            help="A default recipient or a verified address. The mail is sent like an alert.",
        )
        if st.form_submit_button("Send test"):
            st.session_state.pop(_TRIED, None)
            with st.spinner("Asking the mail server …"):
                act(
                    queries,
                    partial(_try, queries, (address or "").strip()),
                    failed="Nothing was sent.",
                )
    tried: TriedRecipient | None = st.session_state.get(_TRIED)
    if tried is not None:
        answer = sentence(visible(capitalized(tried.answer), _LONGEST))
        to = visible(tried.recipient.address, _LONGEST)
        if tried.was_sent:
            notice("calm", f"The server took the test mail to {to}.", f"It answered: {answer}")
        else:
            notice("bad", f"The test mail to {to} was not sent.", answer)


def _try(queries: Application, address: str, by: Actor) -> None:
    st.session_state[_TRIED] = queries.chosen_settings.send_test(address, by)
