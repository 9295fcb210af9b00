"""Asking a node over HTTP: one session, no proxy, no redirect, and no word taken that is not JSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import aiohttp

from reference.chains.lane import ChainUnavailable

TIMEOUT_SECONDS = 4.0
MAX_ANSWER_BYTES = 8 * 1024 * 1024


class Node:
    """One HTTP address of a node."""

    def __init__(self, session: aiohttp.ClientSession, url: str, headers: Mapping[str, str]) -> None:
        self._session = session
        self._url = url.rstrip("/")
        self._headers = dict(headers)

    async def get(self, path: str, *, absent: int | None = None) -> dict[str, Any] | None:
        """Return the JSON object at `path`, or None when the node answers with the status `absent`.

        Raises:
            ChainUnavailable: Any other answer, or none.
        """
        try:
            async with self._session.get(
                self._url + path,
                headers=self._headers,
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
            ) as response:
                body = await response.content.read(MAX_ANSWER_BYTES)
                return _understood(response.status, body, absent)
        except (aiohttp.ClientError, TimeoutError, OSError) as fault:
            raise ChainUnavailable(type(fault).__name__) from fault


def _understood(status: int, body: bytes, absent: int | None) -> dict[str, Any] | None:
    """Return the object; a 404 counts as "absent" only in the node's own form, so that a proxy's 404 does not."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError) as fault:
        raise ChainUnavailable("the node's answer is not JSON") from fault
    if not isinstance(value, dict):
        raise ChainUnavailable("the node's answer is no object")
    if status == absent and isinstance(value.get("message"), str):
        return None
    if status != 200:
        raise ChainUnavailable(f"the node answered {status}")
    return value
