"""The management API about settings: a text is checked, some are chosen, a mail server is tried."""

from __future__ import annotations

from dashboard.domain.people.access import Role
from dashboard.store.access.audit_log import AuditFilter, audit_entries
from dashboard.web.api.endpoint import PREFIX
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
    with site.store.read() as connection:
        audit = str(audit_entries(connection, AuditFilter()))
    assert "c4nary" not in changed.text + refused.text + tried.text + found.text + audit
