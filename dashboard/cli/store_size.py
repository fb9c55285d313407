"""`linewatch store`: how large the store is, what uses the space, and how long it suffices."""

from __future__ import annotations

import click

from dashboard.cli.installation import open_installation
from dashboard.cli.listing import Listing, Output, output, print_list
from dashboard.cli.output import Json, instant
from dashboard.domain.store_size import KindSize, StoreSize
from dashboard.show.parts.health_cards import growth, until_full
from dashboard.show.text import size
from dashboard.store.monitoring.sizes import measure


@click.command()
@output
def store(*, output: Output) -> None:
    """Measure the store: rows and bytes of each kind of data, and how much they grow a day.

    The whole store is read once for that, which takes some seconds for each gigabyte; nothing
    needs to be stopped.
    """
    with open_installation() as here, here.source.store.read() as connection:
        measured = measure(connection, here.source.now())
    print_list(
        Listing(
            "kinds",
            measured.kinds,
            ("KIND", "ROWS", "SIZE", "GROWS BY"),
            _row,
            _form,
            nothing="The store is empty.",
            more=_totals(measured),
            after=_summary(measured),
        ),
        output,
    )


def _row(each: KindSize) -> tuple[str, ...]:
    about = "about " if each.is_estimated else ""
    growth_text = "" if each.growth is None else growth(each.growth)
    return str(each.kind), f"{each.rows:,}", f"{about}{size(each.bytes)}", growth_text


def _summary(measured: StoreSize) -> list[str]:
    free = f"{size(measured.free_inside)} more are free inside, and are used before it grows"
    lines = [f"Together {size(measured.bytes)}; {free}."]
    if measured.growth is None:
        lines.append("How much it grows is known when a worker has measured it on two days.")
    else:
        lines.append(f"It grows by {growth(measured.growth)}.")
    if measured.free_on_disk is not None:
        full = "" if measured.full_in is None else f", full in {until_full(measured.full_in)}"
        lines.append(f"Its disk has room for {size(measured.free_on_disk)}{full}.")
    return lines


def _totals(measured: StoreSize) -> dict[str, Json]:
    full_in = measured.full_in
    return {
        "measuredAt": instant(measured.measured_at),
        "bytes": measured.bytes,
        "freeInside": measured.free_inside,
        "freeOnDisk": measured.free_on_disk,
        "bytesPerDay": _whole(measured.growth),
        "fullInDays": None if full_in is None else full_in.days,
    }


def _form(each: KindSize) -> Json:
    return {
        "kind": str(each.kind),
        "rows": each.rows,
        "bytes": each.bytes,
        "isEstimated": each.is_estimated,
        "bytesPerDay": _whole(each.growth),
    }


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)
