"""Families of metrics: named after Linewatch, filled with values by their labels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric


def by_one(counts: Mapping[Any, int]) -> Iterator[tuple[tuple[str, ...], float]]:
    return (((str(label),), count) for label, count in counts.items())


def gauge(name: str, about: str, value: float, **labels: str) -> Metric:
    return gauges(name, about, tuple(labels), [(tuple(labels.values()), value)])


def gauges(
    name: str, about: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    return _filled(GaugeMetricFamily(f"linewatch_{name}", about, labels=labels), values)


def counter(name: str, about: str, value: int) -> Metric:
    return counters(name, about, (), [((), value)])


def counters(
    name: str, about: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float]]
) -> Metric:
    return _filled(CounterMetricFamily(f"linewatch_{name}", about, labels=labels), values)


def _filled(
    family: GaugeMetricFamily | CounterMetricFamily,
    values: Iterable[tuple[tuple[str, ...], float]],
) -> Metric:
    for label_values, value in values:
        family.add_metric(label_values, value)
    return family
