"""Probe of an agent for a first profile."""

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
from conformance.surfaces.agent.name_discovery import discover_names
from conformance.surfaces.agent.paths import VERIFY
from conformance.target import AgentBindings, Profile


@dataclass(slots=True)
class DiscoveredAgent:
    """A discovered agent.

    Attributes:
        url: Its address.
        bindings: Members of the profile's table `[agent]`.
        open_question: What the operator must bind first, with its key; None if the
            body is known and its answers are readable.
    """

    url: str
    bindings: dict[str, Any] = field(default_factory=dict)
    open_question: str | None = None


async def probe_agent(client: Client, url: str) -> DiscoveredAgent | None:
    """Return the discovered agent at an address, or None if the server is not an agent.

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
    # The discovery needs the case of a check, although no check runs yet.
    profile = Profile()
    session = Session(profile, client, client.names, 1)
    case = Case(_NO_CHECK, profile, client, EventLog(), random.Random(1), session)  # noqa: S311 - no secret
    try:
        names = await discover_names(Agent(case, url, AgentBindings(openapi_path=path), is_reference=False))
    except Inconclusive as reason:
        agent.open_question = str(reason)
        return agent
    agent.open_question = next(iter(names.unbound.values()), None)
    agent.bindings |= names.bindings.model_dump(mode="json", exclude_none=True, exclude_unset=True)
    return agent


async def _nothing(_: Case) -> None:
    """Do nothing: a probe judges nothing."""


_NO_CHECK = Check("init", (), "agent", None, Exclusive.NOTHING, "", _nothing)
