"""Endpoints about all that people configured: to keep it, to compare it, to take it elsewhere."""

from __future__ import annotations

from typing import Annotated

import msgspec

from dashboard.application.configuration import configuration_file, configured
from dashboard.application.configuration_import import ConfigurationImport, taken_form
from dashboard.domain.people.access import Action, Role
from dashboard.web.api.endpoint import LARGEST_TEXT, Asked, Endpoints, Fields, Reply

endpoints = Endpoints()


@endpoints.at(
    "GET /configuration",
    "All that people configured, as TOML without secrets",
    "text",
    least=Role.ADMIN,
)
def configuration(asked: Asked) -> Reply:
    return Reply({"text": configuration_file(configured(asked.context))})


class Given(Fields):
    """The text of such a file; with `dryRun` nothing is changed, and the answer says what would."""

    text: Annotated[str, msgspec.Meta(max_length=LARGEST_TEXT)]
    dry_run: bool = False


@endpoints.at(
    "PUT /configuration",
    "Take what a file says: all of it, or nothing if it has a mistake",
    "isDone changes left",
    Action.IMPORT,
    Given,
    largest=LARGEST_TEXT,
)
def take(asked: Asked) -> Reply:
    said: Given = asked.body
    ask = ConfigurationImport(asked.context)
    taken = ask.take(said.text, asked.by, is_tried=said.dry_run)
    return Reply(taken_form(taken, is_done=not said.dry_run))
