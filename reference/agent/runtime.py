"""One running agent: assembles its parts. It holds nothing open and makes no calls."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import cast

from reference.agent.app import build_app, methods_of
from reference.agent.conversation import Conversation
from reference.agent.documents import build_documents
from reference.agent.settings import AgentSettings
from reference.web.a2a.in_memory_tasks import MemoryTasks
from reference.web.a2a.methods import A2aServer
from reference.web.clock import WpClock
from reference.web.http.asgi_envelope import AsgiApp, Envelope
from reference.web.http.call_records import CallRecords
from reference.web.http.detail_error_replies import render_refusal
from reference.web.http.quart_calls import list_paths
from reference.web.http.rate import AddressLimit
from reference.web.http.rate_store import open_rate_store
from reference.web.http.request_guard import RequestGuard
from reference.web.process.work_limit import WorkLimit

# Tasks cost nothing, so a client that lost one asks again; an hour is enough to continue a conversation (decision
# 0068).
TASK_SECONDS = 3600
CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Expose-Headers": (
        "Retry-After, X-Request-Id, X-RateLimit-Limit, X-RateLimit-Remaining, X-RateLimit-Reset"
    ),
}
PREFLIGHT = {
    "Access-Control-Allow-Methods": "GET, POST",
    "Access-Control-Allow-Headers": "content-type, x-a2a-extensions, a2a-extensions, a2a-version",
    "Access-Control-Max-Age": "600",
}


@asynccontextmanager
async def open_agent(settings: AgentSettings) -> AsyncIterator[AsgiApp]:
    """Open an agent."""
    clock = WpClock(settings.clock_offset_file)
    conversation = Conversation(clock, skew=settings.skew_seconds, proxies=settings.proxies())
    a2a = A2aServer(MemoryTasks(clock, seconds=TASK_SECONDS), clock, conversation)
    documents_by_path = build_documents(settings)
    app = build_app(documents_by_path, a2a.rpc, clock, skew=settings.skew_seconds)
    async with open_rate_store(settings) as share:
        limit = AddressLimit.bucket(settings.agent_rate, clock, on=settings.rate_limits, shared=share("agent"))
        # In front of the app, so that a call over the limit costs no parsing.
        gate = RequestGuard(methods_of(documents_by_path).get, limit, settings.proxies())
        yield Envelope(
            cast("AsgiApp", app),
            settings.agent_body_limit,
            CORS,
            PREFLIGHT,
            gate=gate,
            render_refusal=render_refusal,
            work=WorkLimit.of(settings),
            records=CallRecords.of(settings),
            routes=list_paths(app),
            proxies=settings.proxies(),
        )
