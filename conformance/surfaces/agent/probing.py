"""What can be told of an agent by asking it, for a first profile."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import Any

from conformance.discovery.operation_presence import is_there, openapi_path
from conformance.engine.check import Case, Check
from conformance.engine.exclusive import Exclusive
from conformance.engine.session import Session
from conformance.http.client import Client
from conformance.log.events import EventLog
from conformance.outcome import Inconclusive
from conformance.surfaces.agent.access import Agent
from conformance.surfaces.agent.finding import discover_names
from conformance.surfaces.agent.paths import VERIFY
from conformance.target import AgentBindings, Profile


@dataclass(slots=True)
class DiscoveredAgent:
    """An agent and what was found out about it.

    Attributes:
        url: Its address.
        bindings: Members of the profile's table `[agent]`.
        open: What the operator is to say first, with its key; None where the body is known and its answers are read.
    """

    url: str
    bindings: dict[str, Any] = field(default_factory=dict)
    open_question: str | None = None


async def probe_agent(client: Client, url: str) -> DiscoveredAgent | None:
    """Ask a server whether it is an agent, and what it is like; None when it is not.

    Args:
        client: Sends and records.
        url: Address without a slash at its end.

    Raises:
        Unreachable: It gave no answer.
    """
    if not await is_there(client, url, VERIFY):
        return None
    agent = DiscoveredAgent(url)
    if (path := await openapi_path(client, url)) is not None:
        agent.bindings["openapi_path"] = path
    profile = Profile()
    session = Session(profile, client, client.names, 1)
    case = Case(_NO_CHECK, profile, client, EventLog(), random.Random(1), session)  # noqa: S311 - nobody's secret
    try:
        names = await discover_names(Agent(case, url, AgentBindings(openapi_path=path), ours=False))
    except Inconclusive as reason:
        agent.open = str(reason)
        return agent
    agent.open = next(iter(names.unbound.values()), None)
    agent.bindings |= names.bindings.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return agent


async def _nothing(_: Case) -> None:
    """Check nothing: a probe asks and does not judge."""


_NO_CHECK = Check("init", (), "agent", None, Exclusive.NOTHING, "", _nothing)
