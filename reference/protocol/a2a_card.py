"""The A2A agent card of a surface: its content, its two paths, and the hint of GET /a2a (P-RA-01, 6.1, 6.6)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

CARD = "/.well-known/agent-card.json"
# The path of A2A before 0.3. Clients of older versions look only there (6.1).
LEGACY_CARD = "/.well-known/agent.json"
ENDPOINT = "/a2a"
PROTOCOL_VERSION = "0.3.0"
TRANSPORT = "JSONRPC"
MODES = ("application/json", "text/plain")


@dataclass(frozen=True, slots=True)
class Skill:
    """One skill of a card."""

    id: str
    name: str
    description: str
    tags: tuple[str, ...]
    examples: tuple[str, ...] = ()


# The surfaces neither stream nor push (P-RA-03), so P-RA-01 fixes all three as false.
_CAPABILITIES: Final = {"streaming": False, "pushNotifications": False, "stateTransitionHistory": False}


def agent_card(
    *,
    name: str,
    description: str,
    url: str,
    version: str,
    organization: str,
    skills: Sequence[Skill],
    extensions: Sequence[Mapping[str, Any]] = (),
) -> dict[str, Any]:
    """Return an A2A 0.3 card, and nothing of 1.0 (P-RA-01).

    Args:
        name: The agent's name.
        description: What it does.
        url: The surface's public address, without a slash at its end.
        version: The agent's own version.
        organization: Its provider.
        skills: What it can do.
        extensions: Extensions it knows, each with at least `uri`.
    """
    endpoint = url + ENDPOINT
    return {
        "protocolVersion": PROTOCOL_VERSION,
        "name": name,
        "description": description,
        "url": endpoint,
        "preferredTransport": TRANSPORT,
        "additionalInterfaces": [{"url": endpoint, "transport": TRANSPORT}],
        "version": version,
        "provider": {"organization": organization, "url": url},
        "capabilities": {**_CAPABILITIES, "extensions": [dict(extension) for extension in extensions]},
        "defaultInputModes": list(MODES),
        "defaultOutputModes": list(MODES),
        "skills": [_describe_skill(skill) for skill in skills],
        "securitySchemes": {},
        "security": [],
        "supportsAuthenticatedExtendedCard": False,
    }


def _describe_skill(skill: Skill) -> dict[str, Any]:
    members = {"id": skill.id, "name": skill.name, "description": skill.description, "tags": list(skill.tags)}
    return {**members, "examples": list(skill.examples)} if skill.examples else members


def hint(url: str) -> dict[str, str]:
    """Return the body of GET /a2a; `url` is the surface's public address, without a slash at its end."""
    return {"hint": "POST JSON-RPC 2.0 to this address", "method": "POST", "url": url + ENDPOINT, "card": url + CARD}
