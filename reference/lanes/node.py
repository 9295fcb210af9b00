"""HTTP client of a node: one session, no proxy, no redirect, and only JSON answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import aiohttp
import orjson

from reference.lanes.lane import ChainUnavailable

# Below the ten seconds in which a paid call is answered (P-ST-05), so that one slow question can be asked again.
TIMEOUT_SECONDS = 4.0
# A full block, or the receipt of a transaction that a stranger filled with events, as JSON.
MAX_ANSWER_BYTES = 32 * 1024 * 1024


class AnswerTooLong(ChainUnavailable):
    """The answer is longer than is read at once."""


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
        return _parse_object(*await self._ask("GET", path, None), absent)

    async def post(self, body: Mapping[str, Any] | Sequence[Any]) -> Any:
        """Return the JSON that answers a JSON body, whatever its status.

        Raises:
            ChainUnavailable: The node answers nothing, or not JSON.
        """
        return _parse_json((await self._ask("POST", "", orjson.dumps(body)))[1])

    async def _ask(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        media = {} if body is None else {"Content-Type": "application/json"}
        try:
            async with self._session.request(
                method,
                self._url + path,
                data=body,
                headers={**media, **self._headers},
                # A redirect could lead to another network, or with the token to another host.
                allow_redirects=False,
                timeout=aiohttp.ClientTimeout(total=TIMEOUT_SECONDS),
            ) as response:
                return response.status, await _read_whole(response)
        except (aiohttp.ClientError, TimeoutError, OSError) as fault:
            raise ChainUnavailable(type(fault).__name__) from fault


async def _read_whole(response: aiohttp.ClientResponse) -> bytes:
    """Return the whole body, which arrives in pieces."""
    body = bytearray()
    async for piece in response.content.iter_chunked(65_536):
        body += piece
        if len(body) > MAX_ANSWER_BYTES:
            raise AnswerTooLong("the node's answer is too long")
    return bytes(body)


def _parse_json(body: bytes) -> Any:
    try:
        return orjson.loads(body)
    except ValueError as fault:
        raise ChainUnavailable("the node's answer is not JSON") from fault


def _parse_object(status: int, body: bytes, absent: int | None) -> dict[str, Any] | None:
    """Return the object of an answer, or None for the node's own answer that it is absent."""
    value = _parse_json(body)
    if not isinstance(value, dict):
        raise ChainUnavailable("the node's answer is not an object")
    # Only a 404 in the node's own form says that a transaction is absent. A proxy's 404 would have payments refused.
    if status == absent and isinstance(value.get("message"), str):
        return None
    if status != 200:
        raise ChainUnavailable(f"the node answered {status}")
    return value
