"""Loads the templates of letters; HTML is escaped by itself, an unknown name is an error."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dashboard.alert.compose import Form, Links, NetworkName, Stationery
from dashboard.domain.quantity import NetworkId


def load_stationery(networks: Mapping[NetworkId, NetworkName], links: Links) -> Stationery:
    """Read the templates from the package."""
    environment = Environment(
        loader=PackageLoader("dashboard.alert"),
        autoescape=select_autoescape(["html"]),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return Stationery(
        rejection=_form(environment, "rejection"),
        condition=_form(environment, "condition"),
        networks=networks,
        links=links,
    )


def _form(environment: Environment, name: str) -> Form:
    return Form(environment.get_template(f"{name}.txt"), environment.get_template(f"{name}.html"))
