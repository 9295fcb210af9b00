"""An addon: its name, port and operations, and its command (8.1)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import cast

import click

from reference.addons.kit.app import build_app, build_document_handler, methods_of
from reference.addons.kit.handler_context import Call, Context, Handler
from reference.addons.kit.settings import AddonSettings
from reference.web.clock import WpClock
from reference.web.control_plane_link import surface_serving
from reference.web.control_plane_link.link import ISSUER_KEYS, ControlPlaneLink, KeySource
from reference.web.http.asgi_envelope import AsgiApp, Envelope
from reference.web.http.cached_document import Document
from reference.web.http.call_records import CallRecords
from reference.web.http.detail_error_replies import json_reply, render_refusal
from reference.web.http.exchange import Reply
from reference.web.http.quart_calls import list_paths
from reference.web.http.rate import AddressLimit
from reference.web.http.rate_store import open_rate_store
from reference.web.http.request_guard import RequestGuard
from reference.web.process.work_limit import WorkLimit
from reference.web.settings import read_settings, server_option

_FRESH = {"Cache-Control": "no-store"}


@dataclass(frozen=True, slots=True)
class Addon:
    """One kind of service that joins the control plane.

    Attributes:
        name: The part of its name after `<service>-`.
        port: Its port, unless `WP_ADDON_PORT` names another.
        operations: From the context to its operations by method and path, like `POST /v1/verify`. Called once, before
            it serves.
        source: The document of the control plane from which its keys are read.
        openapi: File of its document in `openapi/`, served at `/openapi.json`; empty for none.
        version: Version in `/health`; empty takes the distribution's.
        notice: A warning in `/health`, for clients that might rely on more than the addon gives.
    """

    name: str
    port: int
    operations: Callable[[Context], Mapping[str, Handler]]
    source: KeySource = ISSUER_KEYS
    openapi: str = ""
    version: str = ""
    notice: str = ""

    def main(self) -> None:
        """Serve the addon; this is its command. Settings come from the environment (WP_…, S2_HUB_…)."""

        @click.command(f"weldproof-{self.name}", help=f"Serve the addon {self.name}.")
        @server_option
        def serve(server: str | None) -> None:
            self._serve(server)

        serve.main(prog_name=serve.name)

    def _serve(self, server: str | None) -> None:
        settings = read_settings(AddonSettings, server=server)
        surface_serving.serve(
            lambda link: self.open_addon(settings, link),
            settings,
            self.name,
            settings="WP_ADDON",
            port=self.port if settings.addon_port is None else settings.addon_port,
            fd=settings.addon_fd,
            source=self.source,
        )

    @asynccontextmanager
    async def open_addon(self, settings: AddonSettings, link: ControlPlaneLink) -> AsyncIterator[AsgiApp]:
        """Open the addon with a running link.

        Raises:
            Misconfigured: One of its files cannot be used.
        """
        clock = WpClock(settings.clock_offset_file)
        context = Context(
            settings.word,
            clock,
            settings.skew_seconds,
            settings.addon_data_dir or Path("data") / self.name,
            link.keys,
            lambda: link.state,
        )
        # An addon may replace the kit's operations, since its own come last.
        operations = {"GET /health": self._build_health(context), **self._build_document(), **self.operations(context)}
        async with open_rate_store(settings) as share:
            limit = AddressLimit.bucket(settings.addon_rate, clock, on=settings.rate_limits, shared=share(self.name))
            gate = RequestGuard(methods_of(operations).get, limit, settings.proxies(), options=False)
            app = build_app(operations)
            yield Envelope(
                cast("AsgiApp", app),
                settings.body_limit,
                gate=gate,
                render_refusal=render_refusal,
                work=WorkLimit.of(settings),
                records=CallRecords.of(settings),
                routes=list_paths(app),
                proxies=settings.proxies(),
            )

    def _build_health(self, context: Context) -> Handler:
        """Return the operation of GET /health (P-AD-01)."""
        service = f"{context.word.lower}-{self.name}"
        version_text = self.version or version("weldproof")

        async def health(_: Call) -> Reply:
            # Only keys that may be used now count: those of a stale trust set do not (P-AD-04).
            issuers = len(context.keys() or ())
            body = {
                "status": "ok",
                "service": service,
                "version": version_text,
                "hub": context.hub(),
                "issuers": issuers,
            }
            return json_reply(body | ({"notice": self.notice} if self.notice else {}), headers=_FRESH)

        return health

    def _build_document(self) -> dict[str, Handler]:
        if not self.openapi:
            return {}
        return {
            "GET /openapi.json": build_document_handler(Document(files("openapi").joinpath(self.openapi).read_bytes()))
        }
