"""The management API about settings: a text is checked, some are chosen, a mail server is tried."""

from __future__ import annotations

import socket
import threading

from dashboard.domain.people.access import Action, Role
from dashboard.web.api.endpoint import PREFIX
from tests.mail_server import rude_server
from tests.one_by_one import audited
from tests.unit.show.web.api_site import Site


def test_text_of_settings_is_checked_as_on_the_page(site: Site) -> None:
    url, body = f"{PREFIX}/settings/check", {"text": "[pages"}

    assert site.client.post(url, json=body, headers=site.token()).json() == {
        "mistakes": ["6 characters"],
        "changes": [
            {"name": "devnet.mode", "running": "auto", "after": "off", "needsRestart": True}
        ],
        "unread": ["mail.password"],
    }


def test_settings_are_chosen_and_tried_and_the_password_is_never_told(site: Site) -> None:
    header, url, ops = site.token(), f"{PREFIX}/settings/chosen", "ops@example.org"
    server = {"mail.smtp_host": "127.0.0.1", "mail.smtp_port": 1, "mail.recipients": [ops]}
    values = {**server, "mail.username": "watch", "mail.password": "c4nary-secret"}

    changed = site.client.patch(url, json={"values": values}, headers=header)
    refused = site.client.patch(url, json={"values": {"mail.smtp_port": 0}}, headers=header)
    tried = site.client.post(f"{PREFIX}/settings/test-mail", json={"to": ops}, headers=header)
    found = site.client.get(url, headers=site.token(Role.VIEWER))

    by_name = {each["name"]: each for each in found.json()["chosen"]}
    assert {name: by_name[name]["value"] for name in server} == server
    assert by_name["mail.password"]["value"] == "•••"
    assert (by_name["mail.smtp_host"]["from"], by_name["mail.smtp_host"]["chosenBy"]) == (
        *("page Settings", "admin (token)"),
    )
    assert (changed.status_code, refused.status_code) == (200, 422)
    assert "The setting mail.smtp_port is '0'" in refused.json()["detail"]
    assert tried.json()["wasSent"] is False
    assert "127.0.0.1 port 1: cannot be reached" in tried.json()["answer"]
    audit = str(audited(site.store))
    assert "c4nary" not in changed.text + refused.text + tried.text + found.text + audit


def refuse_with_hostile_words(line: socket.socket, _over: threading.Event) -> None:
    """Refuse in several lines, with markup, terminal codes, a line of a log and a mark of order."""
    line.sendall(b"550-<b>no</b> [x](http://evil.example)\r\n" * 400)
    line.sendall(b"550 \x1b[31mred\x07\x00\r2026-11-20 12:00:00 [info] forged\xe2\x80\xae\r\n")


def test_words_of_a_hostile_mail_server_are_one_line_without_codes_and_name_the_remedy(
    site: Site,
) -> None:
    header, ops = site.token(), "ops@example.org"
    with rude_server(refuse_with_hostile_words) as port:
        server = {"mail.smtp_host": "127.0.0.1", "mail.smtp_port": port, "mail.recipients": [ops]}
        url = f"{PREFIX}/settings/chosen"
        site.client.patch(url, json={"values": server}, headers=header)
        tried = site.client.post(f"{PREFIX}/settings/test-mail", json={"to": ops}, headers=header)

    answer = tried.json()["answer"]
    assert answer.startswith("the mail server refused us: 550 <b>no</b> [x](http://evil.example)")
    assert answer.endswith("; ask who runs it whether this machine may connect")
    assert answer.isprintable()
    assert "\\u000a" not in answer
    assert len(answer) < 350
    [entry] = audited(site.store, Action.TEST_SEND)
    assert entry.details["answer"] == answer
