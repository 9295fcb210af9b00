"""Whether a limit held: what was refused, and whether the calls came fast enough to tell."""

from __future__ import annotations

from collections.abc import Sequence

from conformance.http.client import Answer
from conformance.outcome import Inconclusive
from conformance.surfaces.gateway.rate_limited_gateway import LimitedGateway

MINUTE = 60.0


def throttled(answers: Sequence[Answer]) -> list[Answer]:
    """Return the answers with status 429."""
    return [answer for answer in answers if answer.status == 429]


def quick_enough(service: LimitedGateway, started: float, refused: Sequence[Answer], what: str) -> None:
    """Go on where calls met a limit of a minute, or were made by the service's time so quickly that they had to.

    Raises:
        Inconclusive: They took longer than a minute, and so may have kept the limit.
    """
    if not refused and service.now - started > MINUTE:
        raise Inconclusive(f"{what} took more than a minute: the limit cannot be met from here")
