"""Loads the templates of messages; HTML is escaped automatically, an unknown name is an error."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dashboard.alert.compose import Links, MessageTemplates, NetworkName, TemplatePair
from dashboard.domain.quantity import NetworkId


def load_templates(networks: Mapping[NetworkId, NetworkName], links: Links) -> MessageTemplates:
    """Read the templates from the package."""
    environment = Environment(
        loader=PackageLoader("dashboard.alert"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return MessageTemplates(
        rejection=_pair(environment, "rejection"),
        condition=_pair(environment, "condition"),
        networks=networks,
        links=links,
    )


def _pair(environment: Environment, name: str) -> TemplatePair:
    return TemplatePair(
        environment.get_template(f"{name}.txt"), environment.get_template(f"{name}.html")
    )
