"""The control plane's health and OpenAPI documents (7.1)."""

from __future__ import annotations

from importlib.resources import files

from reference.control_plane.audit_log import AuditLog
from reference.control_plane.call_context import Call
from reference.protocol.service_word import ServiceWord
from reference.store.services import Services
from reference.web.http.cached_document import Document
from reference.web.http.detail_error_replies import json_reply
from reference.web.http.exchange import Reply

VERSION = "0.1.0"


class Documents:
    """Documents that are free and need no credential."""

    def __init__(self, word: ServiceWord, services: Services, log: AuditLog) -> None:
        self._service = f"{word.lower}-controlplane"
        self._services = services
        self._log = log
        self._openapi = Document(files("openapi").joinpath("control_plane.json").read_bytes())

    async def serve_health(self, _: Call) -> Reply:
        """Answer GET /health; 503 if the database is away."""
        # This question is the health check itself: without the database nothing could be served.
        issuers, services = await self._services.counts()
        health = {
            # A log that is not checked yet counts as degraded, too: None is not whole.
            "status": "ok" if self._log.is_whole else "degraded",
            "service": self._service,
            "version": VERSION,
            "issuers": issuers,
            "services": services,
        }
        return json_reply(health, headers={"Cache-Control": "no-store"})

    async def serve_openapi(self, call: Call) -> Reply:
        """Answer GET /openapi.json: the hand-written contract."""
        return call.reply_with_document(self._openapi)
