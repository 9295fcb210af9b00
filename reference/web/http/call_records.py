"""Records of answered calls: counts and times for metrics, and one line in the log for each (P-CV-26).

The counts are plain numbers, because a counter of prometheus-client takes a lock for each call. They become metrics
when they are asked for.
"""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from typing import Any, Self

from reference.web import logs
from reference.web.http.metric_families import CounterMetric, Gauge, HistogramMetric, Metric
from reference.web.http.trace_context import TraceContext
from reference.web.process.work_limit import WorkLimit
from reference.web.settings import CommonSettings

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Upper bounds of the times of answers, in seconds."""
GONE = 499
"""The status under which a call is recorded whose client went away before it was answered."""
OTHER = "other"
"""The route of a call that no operation answers, and the method that none has."""
# A label that clients choose would make a series for each value that they think of.
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
# The code is near the beginning of an error body. A text that a caller sent has its quotes escaped, so it is not found.
_CODE = re.compile(rb'"error": ?"([a-z0-9_]{1,64})"')
_CODE_BYTES = 512
_KINDS = ("other", "paid")


class CallRecords:
    """The answered calls of one surface since its start."""

    def __init__(self, *, is_logged: bool = False) -> None:
        """Begin with none; say whether each has a line in the log."""
        self._is_logged = is_logged
        self._answers: dict[tuple[str, str, int], int] = {}
        self._refusals = Counter[tuple[str, str]]()
        self._times: dict[str, list[int]] = {}
        self._seconds: dict[str, float] = {}

    @classmethod
    def of(cls, settings: CommonSettings) -> Self:
        """Return the records of a service with these settings."""
        return cls(is_logged=settings.logs_requests)

    def add(
        self, context: TraceContext, method: str, route: str, status: int, body: bytes = b"", *, begun: float
    ) -> None:
        """Record a call.

        Args:
            context: Its ids.
            method: Its method.
            route: The path of its operation, with names in place of tokens and ids.
            status: The status of its answer, or `GONE`.
            body: The answer's body, of which an error code is read.
            begun: When it arrived, by `time.perf_counter`.
        """
        seconds = time.perf_counter() - begun
        method = method if method in _METHODS else OTHER
        key = (method, route, status)
        self._answers[key] = self._answers.get(key, 0) + 1
        times = self._times.get(route)
        if times is None:
            times, self._seconds[route] = [0] * (len(BUCKETS) + 1), 0.0
            self._times[route] = times
        times[bisect_left(BUCKETS, seconds)] += 1
        self._seconds[route] += seconds
        code_match = _CODE.search(body, 0, _CODE_BYTES) if status >= 400 else None
        code = code_match[1].decode() if code_match is not None else ""
        if code:
            self._refusals[route, code] += 1
        if self._is_logged:
            members: dict[str, Any] = context.members()
            members["method"], members["route"], members["status"] = method, route, status
            members["milliseconds"] = round(seconds * 1000, 3)
            if code:
                members["code"] = code
            logs.write_line("request", members)

    def metrics(self, work: WorkLimit | None) -> list[Metric]:
        """Return the metrics of calls, and those of the bound on the work of this process."""
        answers = {(method, route, str(status)): count for (method, route, status), count in self._answers.items()}
        metrics: list[Metric] = [
            CounterMetric("weldproof_http_requests", "Answered calls.", ("method", "route", "status"), answers),
            HistogramMetric(
                "weldproof_http_request_seconds",
                "Time from the head of a call to the beginning of its answer.",
                ("route",),
                BUCKETS,
                {(route,): (tuple(counts), self._seconds[route]) for route, counts in self._times.items()},
            ),
            CounterMetric(
                "weldproof_http_refusals", "Answers with an error code.", ("route", "code"), dict(self._refusals)
            ),
        ]
        return metrics if work is None else [*metrics, *_describe_work(work)]


def _describe_work(work: WorkLimit) -> list[Metric]:
    return [
        Gauge(
            "weldproof_calls_at_work",
            "Calls that are at work in this worker, with a payment and others.",
            ("kind",),
            _by_kind(work.at_work),
        ),
        CounterMetric(
            "weldproof_calls_shed", "Calls that this worker refused as too many.", ("kind",), _by_kind(work.refused)
        ),
    ]


def _by_kind(numbers: list[int]) -> Mapping[Any, float]:
    return {(kind,): float(number) for kind, number in zip(_KINDS, numbers, strict=True)}
