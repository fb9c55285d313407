"""Loads the templates of letters; HTML is escaped by itself, an unknown name is an error."""

from __future__ import annotations

from collections.abc import Mapping

from jinja2 import Environment, PackageLoader, StrictUndefined, select_autoescape

from dashboard.alert.compose import Links, NetworkName, Stationery
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
        text=environment.get_template("rejection.txt"),
        html=environment.get_template("rejection.html"),
        networks=networks,
        links=links,
    )
