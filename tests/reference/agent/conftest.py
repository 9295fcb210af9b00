"""An agent in the test's own process, called by its ASGI door; and signed messages to show it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from reference.agent.runtime import open_agent as running
from reference.agent.settings import AgentSettings
from reference.protocol.message_signatures import SignRequest, sign

Opener = Callable[..., Any]


@pytest.fixture
async def opener() -> AsyncIterator[Opener]:
    """Return what opens an agent with settings of its own, limits off unless they say otherwise."""
    async with AsyncExitStack() as exits:

        async def open_agent(**settings: Any) -> httpx.AsyncClient:
            app = await exits.enter_async_context(running(AgentSettings(**{"rate_limits": False, **settings})))
            transport = httpx.ASGITransport(app, raise_app_exceptions=True)
            client = httpx.AsyncClient(transport=transport, base_url="http://agent.test", trust_env=False)
            return await exits.enter_async_context(client)

        yield open_agent


@pytest.fixture
async def agent(opener: Opener) -> httpx.AsyncClient:
    """An agent by its defaults, without limits."""
    client: httpx.AsyncClient = await opener()
    return client


@pytest.fixture
def signed_request() -> dict[str, Any]:
    """A signed request with a body, valid at second 1000."""
    request = {"method": "POST", "authority": "example.com", "path": "/a?b=c", "body": '{"hello": "world"}'}
    return sign(SignRequest.model_validate(request), seed=bytes(range(32)), now=1000) | {"now": 1000}


@pytest.fixture
def clock_file(tmp_path: Path) -> Path:
    """A file that moves the agent's clock."""
    path = tmp_path / "clock"
    path.write_text("0\n", "ascii")
    return path
