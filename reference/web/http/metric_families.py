"""Metrics as plain values, and Prometheus' text format of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from prometheus_client.core import Metric as Family


@dataclass(frozen=True, slots=True)
class Gauge:
    """One gauge.

    Attributes:
        name: Its name.
        meaning: Its meaning, in a sentence.
        labels: Names of its labels.
        values: Its values, by the values of the labels: tuples of texts.
    """

    name: str
    meaning: str
    labels: Sequence[str] = ()
    values: Mapping[Any, float] = field(default_factory=dict)

    @classmethod
    def single(cls, name: str, meaning: str, value: float) -> Gauge:
        """Return a gauge without labels."""
        return cls(name, meaning, (), {(): value})


@dataclass(frozen=True, slots=True)
class CounterMetric:
    """One counter since the start of the process, with the members of a gauge; its series end with `_total`."""

    name: str
    meaning: str
    labels: Sequence[str]
    values: Mapping[Any, float]


@dataclass(frozen=True, slots=True)
class HistogramMetric:
    """One histogram since the start of the process.

    Attributes:
        name: Its name.
        meaning: Its meaning, in a sentence.
        labels: Names of its labels.
        bounds: Upper bounds of its buckets but the last, which has none.
        values: By the values of the labels, how many values are in each bucket, and their sum.
    """

    name: str
    meaning: str
    labels: Sequence[str]
    bounds: Sequence[float]
    values: Mapping[Any, tuple[Sequence[int], float]]


Metric: TypeAlias = Gauge | CounterMetric | HistogramMetric


def describe_capacity(counts: Mapping[str, int]) -> Gauge:
    """Return the gauge of what a database's capacity is used for."""
    meaning = "Connections of the pool to PostgreSQL, used and idle; changes that wait for SQLite's writer."
    return Gauge("weldproof_database_connections", meaning, ("state",), {(key,): float(counts[key]) for key in counts})


def describe_lag(seconds: Mapping[str, float]) -> Gauge:
    """Return the gauge of how far nodes are behind."""
    meaning = "By how many seconds the newest block that a network's node has shown is behind this machine's clock."
    return Gauge("weldproof_node_lag_seconds", meaning, ("network",), {(key,): seconds[key] for key in seconds})


def render_metrics(metrics: Iterable[Metric]) -> tuple[str, bytes]:
    """Return media type and text of metrics, and of what this process uses."""
    # Only services with metrics need it, and it makes a start a quarter of a second slower.
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, ProcessCollector, generate_latest  # noqa: PLC0415

    families = [_build_family(metric) for metric in metrics]

    class Collector:
        """What prometheus-client asks for families."""

        def collect(self) -> Iterator[Family]:
            yield from families

    # A new registry for each scrape: the global one would keep series of lanes that are no longer configured.
    registry = CollectorRegistry()
    registry.register(Collector())
    ProcessCollector(registry=registry)
    return CONTENT_TYPE_LATEST, generate_latest(registry)


def _build_family(metric: Metric) -> Family:
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily  # noqa: PLC0415

    if isinstance(metric, HistogramMetric):
        histogram = HistogramMetricFamily(metric.name, metric.meaning, labels=metric.labels)
        bounds = [*map(str, metric.bounds), "+Inf"]
        for labels, (counts, total) in metric.values.items():
            histogram.add_metric(labels, list(zip(bounds, accumulate(counts), strict=True)), total)
        return histogram
    kind = CounterMetricFamily if isinstance(metric, CounterMetric) else GaugeMetricFamily
    family = kind(metric.name, metric.meaning, labels=metric.labels)
    for labels, value in metric.values.items():
        family.add_metric(labels, value)
    return family
