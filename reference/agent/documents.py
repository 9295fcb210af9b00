"""The documents the agent publishes: landing, health, card, OpenAPI, and the hint at /a2a (6.1, 6.6)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Any

import orjson

from reference.agent.settings import AgentSettings
from reference.agent.skills import SKILLS
from reference.protocol import a2a_card
from reference.protocol.a2a_card import CARD, ENDPOINT, LEGACY_CARD
from reference.web.http.cached_document import Document

VERSION = "0.1.0"
_ABOUT = (
    "Verifies RFC 9421 signed HTTP messages offline against the key that the caller expects, explains them, and signs"
    " demo requests with throwaway keys. Free, without a credential; it stores nothing and makes no calls."
)


def build_documents(settings: AgentSettings) -> Mapping[str, Document]:
    """Return every document by its path."""
    # Made once at the start: nothing in these documents changes while the agent runs.
    card = Document(orjson.dumps(_build_card(settings)))
    health = {"status": "ok", "service": f"{settings.word.lower}-agent", "version": VERSION}
    return {
        "/": Document(orjson.dumps(_build_landing(settings))),
        # A cached answer would report an agent as healthy that has stopped.
        "/health": Document(orjson.dumps(health), "no-store"),
        "/openapi.json": Document(orjson.dumps(_build_openapi(settings))),
        ENDPOINT: Document(orjson.dumps(a2a_card.hint(settings.public_url))),
        CARD: card,
        # The path before A2A 0.3, which older clients read.
        LEGACY_CARD: card,
    }


def _name_of(settings: AgentSettings) -> str:
    return f"{settings.word.word} Verifiable-Comms Agent"


def _build_card(settings: AgentSettings) -> dict[str, Any]:
    skills = [a2a_card.Skill(one.id, one.name, one.description, one.tags) for one in SKILLS.values()]
    return a2a_card.agent_card(
        name=_name_of(settings),
        description=_ABOUT,
        url=settings.public_url,
        version=VERSION,
        organization=settings.word.word,
        skills=skills,
    )


def _build_landing(settings: AgentSettings) -> dict[str, Any]:
    url = settings.public_url
    links = {
        **{one.id: url + one.path for one in SKILLS.values()},
        "a2a": url + ENDPOINT,
        "agent_card": url + CARD,
        "openapi": f"{url}/openapi.json",
        "health": f"{url}/health",
    }
    return {"name": _name_of(settings), "description": _ABOUT, "version": VERSION, "links": links}


def _build_openapi(settings: AgentSettings) -> dict[str, Any]:
    """Return the hand-written contract with this agent's address."""
    document: dict[str, Any] = orjson.loads(files("openapi").joinpath("agent.json").read_bytes())
    return {**document, "servers": [{"url": settings.public_url}]}
