"""Loads the templates of messages; HTML is escaped automatically, an unknown name is an error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, tzinfo
from html import escape
from typing import Final

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dashboard.alert.compose import Links, MessageTemplates, NetworkName, TemplatePair
from dashboard.domain.quantity import NetworkId

_CODE: Final = re.compile(r"`([^`]+)`")


def load_templates(
    networks: Mapping[NetworkId, NetworkName], links: Links, zone: tzinfo = UTC
) -> MessageTemplates:
    """Read the templates from the package; times are printed in UTC and in `zone`."""
    environment = Environment(
        loader=PackageLoader("dashboard.alert"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["with_code"] = _with_code
    return MessageTemplates(
        change=_pair(environment, "change"),
        gathered=_pair(environment, "gathered"),
        networks=networks,
        links=links,
        zone=zone,
    )


def _with_code(text: str) -> str:
    """Return a sentence as HTML, with what stands between backticks as code."""
    return _CODE.sub(r'<span class="code">\1</span>', escape(text))


def _pair(environment: Environment, name: str) -> TemplatePair:
    return TemplatePair(
        environment.get_template(f"{name}.txt"), environment.get_template(f"{name}.html")
    )
