"""Metrics for operators: `GET /metrics` in Prometheus' text format, only with a token and invisible without it.

This is a layer in front of a surface. Without a token in the settings there is no layer. A call without the token is
passed to the surface, which answers as on any unknown path.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reference.web.http.asgi_envelope import RETRY_SECONDS, AsgiApp, Receive, Scope, Send
from reference.web.http.bearer_token import BearerToken
from reference.web.http.single_task_connection import send_whole
from reference.web.process.shutdown import SHUTDOWN, CutShort, Interruptible
from reference.web.settings import name_setting

PATH = "/metrics"


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


Measure = Callable[[], Awaitable[Iterable[Gauge]]]


def add_metrics(app: AsgiApp, token_file: Path | None, measure: Measure) -> AsgiApp:
    """Return a surface that shows its measures to clients with the token, or the surface itself if no token is set.

    Raises:
        Misconfigured: The token's file cannot be used.
    """
    # No setting, no endpoint: metrics must not appear by accident on a public address.
    if token_file is None:
        return app
    with name_setting("WP_METRICS_TOKEN_FILE"):
        token = BearerToken.of(token_file)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        is_metrics = scope["type"] == "http" and (scope["method"], scope["path"]) == ("GET", PATH)
        if not is_metrics or not token.is_sent_with(scope):
            await app(scope, receive, send)
            return
        status, further = 200, list[tuple[bytes, bytes]]()
        try:
            with Interruptible(SHUTDOWN):
                media, body = render_gauges(await measure())
        except CutShort:
            # The process ends while a slow database is asked.
            status, media, body = 503, "text/plain; charset=utf-8", b"this server is shutting down\n"
            further.append((b"retry-after", RETRY_SECONDS.encode()))
        headers = [(b"content-type", media.encode()), (b"cache-control", b"no-store"), *further]
        await send_whole(send, status, [*headers, (b"content-length", str(len(body)).encode())], body)

    return serve


def render_gauges(gauges: Iterable[Gauge]) -> tuple[str, bytes]:
    """Return media type and text of measures."""
    # Only services with metrics need it, and it makes a start a quarter of a second slower.
    from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest  # noqa: PLC0415
    from prometheus_client import Gauge as Prometheus  # noqa: PLC0415

    # A new registry for each scrape: the global one would keep series of lanes that are no longer configured.
    registry = CollectorRegistry()
    for gauge in gauges:
        prometheus_gauge = Prometheus(gauge.name, gauge.meaning, tuple(gauge.labels), registry=registry)
        for labels, value in gauge.values.items():
            (prometheus_gauge.labels(*labels) if labels else prometheus_gauge).set(value)
    return CONTENT_TYPE_LATEST, generate_latest(registry)
