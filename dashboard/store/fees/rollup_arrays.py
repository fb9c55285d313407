"""Roll-ups of fees as arrays: built, changed, checked, and combined into the steps of a chart."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import repeat
from typing import Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from msgspec import Struct
from msgspec.structs import replace

from dashboard.domain.fees.gas import RollupLevel, SavedFee, TimedFee
from dashboard.store.engine.driver import Row
from dashboard.store.fees.histograms import Flags, Histograms, Integers, parts_of, summed

Totals: TypeAlias = npt.NDArray[np.object_]
"""Sums of fees, which may need more than 64 bits."""

_PERCENTS: Final = (50, 90)


class RollupArrays(Struct, frozen=True):
    """Roll-ups of one series in columns, oldest first; a single fee is one of one value."""

    begins: Integers
    first: Integers
    last: Integers
    lowest: Integers
    highest: Integers
    totals: Totals
    seen: Integers
    estimated: Integers
    median: Integers
    p90: Integers
    last_fee: Integers
    gap: Integers
    histograms: Histograms

    @classmethod
    def of_rows(cls, rows: Sequence[Row]) -> Self:
        """Read rows with all columns; without the last column, the histograms count nothing."""
        columns: list[Any] = list(zip(*rows, strict=True))[3:] or [()] * 13
        begins, first, last, lowest, highest = map(_integers, columns[:5])
        totals = [int.from_bytes(each, "big") for each in columns[5]]
        seen, estimated, median, p90, last_fee, gap = map(_integers, columns[6:12])
        histograms, *_ = columns[12:] or [[b""] * len(rows)]
        return cls(
            begins,
            first,
            last,
            lowest,
            highest,
            np.array(totals, dtype=object),
            seen,
            estimated,
            median,
            p90,
            last_fee,
            gap,
            Histograms.decode(histograms),
        )

    @classmethod
    def of_values(cls, at: Integers, fees: Integers, estimated: Integers | None = None) -> Self:
        """Roll up single fees in wei by time in milliseconds, strictly ascending."""
        zeros = np.zeros_like(at)
        return cls(
            begins=at,
            first=at,
            last=at,
            lowest=fees,
            highest=fees,
            totals=fees.astype(object),
            seen=np.ones_like(at),
            estimated=zeros if estimated is None else estimated,
            median=fees,
            p90=fees,
            last_fee=fees,
            gap=zeros,
            histograms=Histograms(np.arange(len(at)), parts_of(fees), np.ones_like(at)),
        )

    @classmethod
    def of_saved(cls, saved: Sequence[SavedFee]) -> Self:
        """Roll up saved fees for a roll-up that already counts the fees they replaced."""
        values = cls.of_fees([each.fee for each in saved])
        old = [(place, each) for place, (_, each) in enumerate(saved) if each is not None]
        places = _integers([place for place, _ in old])
        replaced = cls.of_fees([each for _, each in old])
        values.totals[places] -= replaced.totals
        values.seen[places] -= replaced.seen
        values.estimated[places] -= replaced.estimated
        parts = replaced.histograms.parts
        taken = Histograms(places, parts, -np.ones_like(parts))
        return replace(values, histograms=values.histograms.beside(taken))

    @classmethod
    def of_fees(cls, fees: Sequence[TimedFee]) -> Self:
        """Take single fees, oldest first."""
        columns: list[Any] = list(zip(*fees, strict=True)) or [()] * 3
        return cls.of_values(*map(_integers, columns))

    def __len__(self) -> int:
        return len(self.begins)

    def inconsistent(self, level: RollupLevel) -> Integers:
        """Return when the roll-ups begin that contradict themselves."""
        lasts_to = self.begins + level.length
        wrong = (self.begins % level.length != 0) | (self.seen < 1) | (self.gap < 0)
        wrong |= (self.first < self.begins) | (self.last < self.first) | (self.last >= lasts_to)
        wrong |= (self.last_fee < self.lowest) | (self.last_fee > self.highest)
        wrong |= (self.estimated < 0) | (self.estimated > self.seen)
        seen = self.seen.astype(object)
        wrong |= (self.totals < self.lowest * seen) | (self.totals > self.highest * seen)
        wrong |= self.histograms.sums(len(self)) != self.seen
        counted = self.recounted()
        wrong |= (counted.median != self.median) | (counted.p90 != self.p90)
        begins: Integers = self.begins[wrong]
        return begins

    def rows(self, network_id: int, series: int, level: RollupLevel) -> list[Row]:
        """Return each as a row with all columns; every histogram has to count something."""
        lists = {name: getattr(self, name).tolist() for name in _COLUMNS}
        lists["totals"] = [
            total.to_bytes((total.bit_length() + 7) // 8, "big") for total in self.totals
        ]
        return list(
            zip(
                repeat(network_id),
                repeat(int(series)),
                repeat(int(level)),
                *lists.values(),
                self.histograms.merged().encode(),
                strict=False,
            )
        )

    def recounted(self) -> Self:
        """Return them with merged histograms, and the percentiles that follow from these."""
        histograms = self.histograms.merged()
        median, p90 = (
            np.clip(histograms.quantile(percent, len(self)), self.lowest, self.highest)
            for percent in _PERCENTS
        )
        return replace(self, median=median, p90=p90, histograms=histograms)

    def rolled_up(self, length: int) -> Self:
        """Roll up by so many milliseconds; if parts overlap, gaps count as before."""
        if not len(self):
            return self
        begins = self.begins - self.begins % length
        starts = np.flatnonzero(np.diff(begins, prepend=begins[0] - 1))
        place_of = np.repeat(np.arange(len(starts)), np.diff(starts, append=len(begins)))
        last = np.maximum.reduceat(self.last, starts)
        is_last = self.last == last[place_of]
        newest = np.maximum.reduceat(np.where(is_last, np.arange(len(begins)), 0), starts)
        passed = np.maximum.accumulate(np.clip(self.last, begins, begins + length - 1))
        between = self.first - np.append(self.first[0], passed[:-1])
        between[starts] = 0
        return replace(
            self,
            begins=begins[starts],
            first=np.minimum.reduceat(self.first, starts),
            last=last,
            lowest=np.minimum.reduceat(self.lowest, starts),
            highest=np.maximum.reduceat(self.highest, starts),
            totals=np.add.reduceat(self.totals, starts),
            seen=np.add.reduceat(self.seen, starts),
            estimated=np.add.reduceat(self.estimated, starts),
            last_fee=self.last_fee[newest],
            gap=np.maximum.reduceat(np.maximum(self.gap, between), starts),
            histograms=self.histograms.regrouped(place_of),
        ).recounted()

    def chosen(self, is_chosen: Flags) -> Self:
        columns = {name: getattr(self, name)[is_chosen] for name in _COLUMNS}
        return replace(self, **columns, histograms=self.histograms.chosen(is_chosen))

    def updated(self, level: RollupLevel, changed: RollupArrays) -> RollupArrays:
        """Return these with the changed ones in their places."""
        kept = self.chosen(~np.isin(self.begins, changed.begins))
        return joined(level, kept, changed)


_COLUMNS: Final = RollupArrays.__struct_fields__[:-1]
"""All but the histograms."""


def joined(level: RollupLevel, *several: RollupArrays) -> RollupArrays:
    """Join parts of roll-ups of a level, in order of time if they have one."""
    begins = np.concatenate([each.begins for each in several])
    firsts = np.concatenate([each.first for each in several])
    order = np.lexsort((firsts, begins // level.length))
    place_of = np.empty_like(order)
    place_of[order] = np.arange(len(order))
    columns = {
        name: np.concatenate([getattr(each, name) for each in several])[order] for name in _COLUMNS
    }
    counted, before = Histograms(*[_integers(())] * 3), 0
    for each in several:
        owners = place_of[before : before + len(each)]
        counted = counted.beside(each.histograms.regrouped(owners))
        before += len(each)
    return replace(several[0], **columns, histograms=counted)


def with_newer_fees(
    keys: Sequence[tuple[int, int, int]], rows: Sequence[Row | None], fees: Sequence[TimedFee]
) -> list[Row]:
    """Return rows with a newer fee added to each, as `rolled_up` would.

    If there is no row, or the fee is later than what the row covers, a new row begins with it. Keys
    of network, series and level tell which is which.
    """
    begins = [RollupLevel(key[2]).begin_of(fee.at) for key, fee in zip(keys, fees, strict=True)]
    covers = [row is not None and row[3] == begin for row, begin in zip(rows, begins, strict=True)]
    is_held = np.array(covers, np.bool_)
    held = RollupArrays.of_rows([row for row, has in zip(rows, covers, strict=True) if row and has])
    alone = replace(RollupArrays.of_fees(fees), begins=_integers(begins))
    newer = alone.chosen(is_held)
    grown = replace(
        held,
        last=newer.last,
        lowest=np.minimum(held.lowest, newer.lowest),
        highest=np.maximum(held.highest, newer.highest),
        totals=held.totals + newer.totals,
        seen=held.seen + newer.seen,
        estimated=held.estimated + newer.estimated,
        last_fee=newer.last_fee,
        gap=np.maximum(held.gap, newer.first - held.last),
        histograms=held.histograms.beside(newer.histograms),
    ).recounted()
    made = [*grown.rows(0, 0, RollupLevel.DAY), *alone.chosen(~is_held).rows(0, 0, RollupLevel.DAY)]
    of_made = sorted(range(len(keys)), key=covers.__getitem__, reverse=True)
    return [(*keys[place], *row[3:]) for place, row in zip(of_made, made, strict=True)]


def changed_rollups(
    level: RollupLevel, held: RollupArrays, parts: RollupArrays, saved: Sequence[SavedFee]
) -> RollupArrays:
    """Return the roll-ups of a level that saved fees change.

    Each is recomputed from its parts, if all are kept. If some are not, the fees are added to the
    old roll-up: its bounds and gaps stay as wide as they were.
    """
    changes, values = RollupArrays.of_saved(saved), RollupArrays.of_fees([it.fee for it in saved])
    touched = np.unique(changes.begins - changes.begins % level.length)
    known, there, added = (_seen_in(touched, level, each) for each in (held, parts, changes))
    is_whole = there == known + added
    is_held = np.isin(touched, held.begins)
    chosen = (
        (parts, is_whole),
        (held, ~is_whole),
        (changes, ~is_whole & is_held),
        (values, ~is_whole & ~is_held),
    )
    pieces = (
        each.chosen(np.isin(each.begins - each.begins % level.length, touched[where]))
        for each, where in chosen
    )
    return joined(level, *pieces).rolled_up(level.length)


def without_purged(
    changed: RollupArrays, minutes: RollupArrays, hours: RollupArrays
) -> RollupArrays:
    """Leave out minutes that were purged, as other minutes of the same hour were."""
    counted = _seen_in(hours.begins, RollupLevel.HOUR, minutes)
    is_new = ~np.isin(changed.begins, minutes.begins)
    hour_of = changed.begins - changed.begins % RollupLevel.HOUR.length
    return changed.chosen(~(is_new & np.isin(hour_of, hours.begins[hours.seen != counted])))


def _seen_in(touched: Integers, level: RollupLevel, rollups: RollupArrays) -> Integers:
    """Return how many values each of these periods has."""
    begins = rollups.begins - rollups.begins % level.length
    places = np.searchsorted(touched, begins)
    is_touched = np.isin(begins, touched)
    return summed(places[is_touched], rollups.seen[is_touched], len(touched))


def _integers(numbers: Sequence[int]) -> Integers:
    return np.array(numbers, np.int64)
