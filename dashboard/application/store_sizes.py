"""How large the store is, and how much it grows."""

from __future__ import annotations

from datetime import timedelta
from typing import Final

from dashboard.application.context import ApplicationContext
from dashboard.application.listing import Json, instant
from dashboard.domain.formatting import size, span
from dashboard.domain.health.retention import StoreSize
from dashboard.store.monitoring.sizes import measure

_TEN_YEARS: Final = timedelta(days=3650)


def measure_store(context: ApplicationContext) -> StoreSize:
    """Measure the store now. StoreError where it cannot be read."""
    with context.store.read() as connection:
        return measure(connection, context.now())


def until_full(length: timedelta) -> str:
    """Say how long the disk suffices, as far as that can be known."""
    return "over ten years" if length > _TEN_YEARS else span(length)


def growth(of_day: float) -> str:
    """Say how many bytes a day something grows."""
    sign = "-" if of_day < 0 else "+"
    return f"{sign}{size(round(abs(of_day)))} a day"


def size_form(measured: StoreSize) -> dict[str, Json]:
    """Write it for programs."""
    full_in = measured.full_in
    return {
        "measuredAt": instant(measured.measured_at),
        "bytes": measured.bytes,
        "freeInside": measured.free_inside,
        "freeOnDisk": measured.free_on_disk,
        "bytesPerDay": _whole(measured.growth),
        "fullInDays": None if full_in is None else full_in.days,
    }


def size_sentences(measured: StoreSize) -> list[str]:
    """Say how large it is, how it grows, and until when its disk suffices."""
    free = f"{size(measured.free_inside)} more are free inside, and are used before it grows"
    lines = [f"The store takes {size(measured.bytes)}; {free}."]
    if measured.growth is None:
        lines.append("How much it grows is known when a worker has measured it on two days.")
    else:
        lines.append(f"It grows by {growth(measured.growth)}.")
    if measured.free_on_disk is not None:
        full = "" if measured.full_in is None else f", full in {until_full(measured.full_in)}"
        lines.append(f"Its disk has room for {size(measured.free_on_disk)}{full}.")
    return lines


def _whole(number: float | None) -> int | None:
    return None if number is None else round(number)
