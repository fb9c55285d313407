"""The settings made from a person's answers: checked and tried before any of it is written."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final
from uuid import uuid4

from msgspec.structs import replace

from dashboard.domain.formatting import capitalized
from dashboard.domain.health.observation import TrialOutcome, TrialResult
from dashboard.domain.toml_tables import write_nested_toml
from dashboard.errors import DeliveryError, UpstreamError
from dashboard.settings import Settings
from dashboard.settings.layers import Layer, Table
from dashboard.settings.load import Configuration, read_configuration
from dashboard.store.engine.disk import force_to_disk, make_folder
from dashboard.wiring.channels import greet_mail_server
from dashboard.wiring.issuers import ask_issuers
from dashboard.wiring.networks import is_own_serve
from dashboard.wiring.trials import TriedNetwork

_OWNER_ONLY: Final = 0o600
_NOT_OTHERS: Final = 0o770


def configuration_of(table: Table) -> Configuration:
    """Return the configuration as it would be with this table in the person's own file."""
    layer = Layer("your answers", table, write_nested_toml(table))
    return read_configuration(own=lambda: layer)


def beyond_own_serve(tried: Sequence[TriedNetwork], settings: Settings) -> list[TriedNetwork]:
    """Leave out the answers of our own serve, which need not run yet."""
    return [replace(each, findings=tuple(_beyond(each, settings))) for each in tried]


def _beyond(tried: TriedNetwork, settings: Settings) -> Iterator[TrialResult]:
    for finding in tried.findings:
        asked = getattr(tried.network.endpoints, finding.endpoint, None)
        if asked is None or not is_own_serve(asked, settings):
            yield finding


def failed_endpoints(tried: Sequence[TriedNetwork]) -> list[str]:
    """Say what was not answered."""
    return [
        f"{finding.endpoint} of {each.network.title}, {finding.question}: {finding.found}"
        for each in tried
        for finding in each.findings
        if finding.outcome is TrialOutcome.FAILED
    ]


def failed_mail_server(settings: Settings) -> list[str]:
    """Say what the mail server refuses, or why it does not answer."""
    try:
        greet_mail_server(settings)
    except DeliveryError as error:
        return [capitalized(str(error))]
    return []


def failed_issuers(settings: Settings) -> list[str]:
    """Say why people could not begin to sign in at the issuer."""
    try:
        asyncio.run(ask_issuers(settings))
    except UpstreamError as error:
        return [f"The issuer cannot be used: {error}"]
    return []


def write_own_file(path: Path, table: Table) -> None:
    """Write the table into the person's own file, whole or not at all.

    A new file is for its owner alone. One that is replaced keeps its owner, its group and their
    rights, so that a service can read it as before; all others have none. OSError if that fails.
    """
    path = path.resolve()
    make_folder(path.parent)
    beside = path.with_name(f".{path.name}.{uuid4().hex[:8]}")
    try:
        descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - of a descriptor
            file.write(write_nested_toml(table))
            if path.exists():
                before = path.stat()
                os.fchown(descriptor, before.st_uid, before.st_gid)
                os.fchmod(descriptor, before.st_mode & _NOT_OTHERS)
            file.flush()
            os.fsync(descriptor)
        beside.replace(path)
        force_to_disk(path.parent)
    finally:
        beside.unlink(missing_ok=True)
