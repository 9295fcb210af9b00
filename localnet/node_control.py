"""Calls to the control address of a node, simulated or real (one form for all chains)."""

from __future__ import annotations

from typing import Any

import aiohttp


class ControlFault(Exception):
    """The node refused a control verb; the text is its own."""


async def control(session: aiohttp.ClientSession, url: str, verb: str, **members: Any) -> dict[str, Any]:
    """Carry out one control verb and return its answer.

    Raises:
        ControlFault: It was refused or could not be asked.
    """
    try:
        async with session.post(url, json={"verb": verb, **members}) as response:
            answer = await response.json(content_type=None)
    except (aiohttp.ClientError, TimeoutError, ValueError) as fault:
        raise ControlFault(f"{url}: {verb}: {fault}") from fault
    if not isinstance(answer, dict) or answer.get("ok") is not True:
        reason = answer.get("error") if isinstance(answer, dict) else None
        raise ControlFault(f"{verb}: {reason}" if isinstance(reason, str) else f"{url}: {verb}: {answer}")
    return answer


async def verbs_of(session: aiohttp.ClientSession, url: str) -> frozenset[str]:
    """Return the names of the verbs that a control address lists.

    Raises:
        ControlFault: It could not be asked.
    """
    try:
        async with session.get(url) as response:
            description = await response.json(content_type=None)
        return frozenset(description["verbs"])
    except (aiohttp.ClientError, TimeoutError, ValueError, LookupError, TypeError) as fault:
        raise ControlFault(f"{url}: {fault}") from fault
