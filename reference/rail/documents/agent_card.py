"""The rail's agent card (P-RA-01, P-RA-02)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import orjson

from reference.protocol import a2a_card
from reference.rail.services import SERVICES, Service
from reference.rail.settings import RailSettings

VERSION = "1.0.0"
_TAGS = ("x402", "usdc")


def build_agent_card(settings: RailSettings, lanes: Sequence[str]) -> dict[str, Any]:
    """Return the card.

    Args:
        settings: The rail's settings.
        lanes: Network keys of the lanes that are offered.
    """
    word = settings.word.word
    extension = {
        "uri": settings.a2a_x402_uri,
        "description": "Payment by x402, welded to the challenge: send a request, pay what the task asks, send proof.",
        # Not required: a client without the extension can still read the challenge in the task and pay (P-RA-02).
        "required": False,
        "params": {"lanes": list(lanes)},
    }
    return a2a_card.agent_card(
        name=f"{word} Pay Rail",
        description=(
            "Services paid per call in USDC. A message is answered by a task that asks for payment; a second message "
            "with a payment welded to that challenge is answered by the result and a signed receipt."
        ),
        url=settings.public_url,
        version=VERSION,
        organization=word,
        skills=[_build_skill(service) for service in SERVICES.values()],
        extensions=[extension],
    )


def _build_skill(service: Service) -> a2a_card.Skill:
    example = orjson.dumps({"service_id": service.id, "request": dict(service.example)}).decode()
    return a2a_card.Skill(
        id=service.path.removeprefix("/").replace("/v1/", "/").replace("/", "-"),
        name=service.id.replace("-", " ").capitalize(),
        description=f'{service.description} Data part: {{"service_id": "{service.id}", "request": …}}.',
        tags=(*_TAGS, service.id),
        examples=(example,),
    )
