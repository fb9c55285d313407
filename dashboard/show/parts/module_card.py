"""One prover module: what it works on, and its limit in the table of limits that is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import streamlit as st

from dashboard.domain.module_limits import ModuleLimits
from dashboard.domain.module_purpose import purpose_of
from dashboard.show.parts.heading import section
from dashboard.show.parts.markup import Markup, element, join

LIMITS: Final = "limits"
"""The parameter of the address that names the table of limits."""


def module_card(module: str, tables: Sequence[ModuleLimits], usual: ModuleLimits | None) -> None:
    """Show a module; `usual` is the table of limits that its network has."""
    with st.container(key="card-module", gap="small"):
        with st.container(horizontal=True, vertical_alignment="center", key="head-module"):
            section(module, _purpose(module))
            table = _chosen_table(tables, usual)
        if table is not None:
            st.html(_limit(module, table))


def _purpose(module: str) -> str:
    purpose = purpose_of(module)
    if purpose is None:
        return "A prover module of which only the name is public."
    return f"A prover module. What it works on: {purpose}."


def _chosen_table(
    tables: Sequence[ModuleLimits], usual: ModuleLimits | None
) -> ModuleLimits | None:
    by_title = {each.title: each for each in tables}
    if not by_title:
        return None
    first = tables[0] if usual is None else usual
    title = st.selectbox(
        "Limits by",
        list(by_title),
        index=list(by_title).index(first.title),
        key=LIMITS,
        bind="query-params",
        label_visibility="collapsed",
        width=320,
    )
    return by_title.get(title, first)


def _limit(module: str, table: ModuleLimits) -> Markup:
    limit = table.limit_of(module)
    if limit is None:
        said = join("This table does not name ", element("b", module), ".")
    elif limit == 0:
        said = join(
            "Limit ", element("b", "0"), ": the network cannot prove this operation at all."
        )
    else:
        said = join("Limit ", element("b", f"{limit:,}"), " lines in one transaction.")
    quiet = element(
        "small",
        f" By {table.title}. Limits change with the releases of nodes; where a reason names one, "
        "that is what the node used.",
        title=table.source,
    )
    return element("p", said, quiet, class_="lw-lede")
