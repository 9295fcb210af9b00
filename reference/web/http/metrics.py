"""Metrics for operators in Prometheus' text format, at `GET /metrics`.

They are served at an address of their own (`WP_METRICS_ADDRESS`), or by a layer in front of a surface. The layer needs
a token in the settings. It passes a call without the token to the surface, which answers as on any unknown path.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Protocol

from reference.web.http.asgi_envelope import RETRY_SECONDS, AsgiApp, Receive, Scope, Send
from reference.web.http.bearer_token import BearerToken
from reference.web.http.metric_families import Metric, render_metrics
from reference.web.http.single_task_connection import send_whole
from reference.web.logs import get_logger
from reference.web.process.shutdown import SHUTDOWN, CutShort, Interruptible
from reference.web.settings import name_setting

_log = get_logger()
PATH = "/metrics"
Measure = Callable[[], Awaitable[Iterable[Metric]]]


class MetricsSettings(Protocol):
    """Where metrics are offered; see specification 9."""

    @property
    def metrics_token_file(self) -> Path | None:
        """File of the token that opens them."""

    @property
    def metrics_address(self) -> tuple[str, int] | None:
        """Host and port of their own."""


@asynccontextmanager
async def offer_metrics(
    app: AsgiApp, settings: MetricsSettings, measure: Measure, *, is_public: bool = True
) -> AsyncIterator[AsgiApp]:
    """Offer metrics as the settings say until the block is left, and return the surface to serve.

    Args:
        app: The surface.
        settings: At which address, or for which token.
        measure: Returns the metrics.
        is_public: Whether a token may open them at the surface's own address.

    Raises:
        Misconfigured: The address or the token's file cannot be used.
    """
    address, token_file = settings.metrics_address, settings.metrics_token_file
    if address is not None:
        async with _serve_metrics(address, token_file, measure):
            yield app
    else:
        yield add_metrics(app, token_file if is_public else None, measure)


def add_metrics(app: AsgiApp, token_file: Path | None, measure: Measure) -> AsgiApp:
    """Return a surface that shows its measures to clients with the token, or the surface itself if no token is set.

    Raises:
        Misconfigured: The token's file cannot be used.
    """
    # No setting, no endpoint: metrics must not appear by accident on a public address.
    if token_file is None:
        return app
    token = _open_token(token_file)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        is_metrics = scope["type"] == "http" and (scope["method"], scope["path"]) == ("GET", PATH)
        if not is_metrics or not token.is_sent_with(scope):
            await app(scope, receive, send)
            return
        status, headers, body = await _answer(measure)
        fields = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        await send_whole(send, status, [*fields, (b"content-length", str(len(body)).encode())], body)

    return serve


@asynccontextmanager
async def _serve_metrics(address: tuple[str, int], token_file: Path | None, measure: Measure) -> AsyncIterator[None]:
    """Serve metrics at an address of their own; without a token's file every client sees them."""
    # Only services with such an address need it.
    from aiohttp import web  # noqa: PLC0415

    token = None if token_file is None else _open_token(token_file)

    async def handle(request: web.Request) -> web.Response:
        if token is not None and not token.is_in(request.headers.getall("Authorization", [])):
            return web.Response(status=401, headers={"WWW-Authenticate": "Bearer"})
        status, further, body = await _answer(measure)
        return web.Response(status=status, headers=further, body=body)

    app = web.Application()
    app.router.add_get(PATH, handle)
    runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
    await runner.setup()
    try:
        with name_setting("WP_METRICS_ADDRESS"):
            await web.TCPSite(runner, *address).start()
        host, port = runner.addresses[0][:2]
        _log.info("metrics_served", host=host, port=port)
        yield
    finally:
        await runner.cleanup()


def _open_token(token_file: Path) -> BearerToken:
    with name_setting("WP_METRICS_TOKEN_FILE"):
        return BearerToken.of(token_file)


async def _answer(measure: Measure) -> tuple[int, dict[str, str], bytes]:
    """Return status, header fields and body of an answer."""
    try:
        with Interruptible(SHUTDOWN):
            media, body = render_metrics(await measure())
    except CutShort:
        # The process ends while a slow database is asked.
        headers = {"Content-Type": "text/plain; charset=utf-8", "Retry-After": RETRY_SECONDS}
        return 503, headers | {"Cache-Control": "no-store"}, b"this server is shutting down\n"
    return 200, {"Content-Type": media, "Cache-Control": "no-store"}, body
