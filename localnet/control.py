"""Calls to a simulated chain's control address (one form for all chains)."""

from __future__ import annotations

from typing import Any

import aiohttp


class ControlFault(Exception):
    """The simulator refused a control verb; the text is its own."""


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
        raise ControlFault(f"{url}: {verb}: {answer}")
    return answer
