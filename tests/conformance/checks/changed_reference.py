"""The reference as a transport of checks, with answers that a test changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx
from multidict import CIMultiDict, CIMultiDictProxy

# Takes path, status and JSON of an answer, and returns status and JSON.
Change = Callable[[str, int, Any], tuple[int, Any]]


class ChangedReference:
    """The reference as a transport; `change` changes each answer that has a body."""

    def __init__(self, client: httpx.AsyncClient, change: Change | None) -> None:
        self._client = client
        self._change = change

    async def send(
        self, method: str, url: str, headers: Sequence[tuple[str, str]], body: bytes | None
    ) -> tuple[int, CIMultiDictProxy[str], bytes]:
        """Send one request."""
        answer = await self._client.request(method, url, headers=list(headers), content=body)
        status, content = answer.status_code, answer.content
        if self._change is not None and content:
            status, document = self._change(answer.request.url.path, status, answer.json())
            content = json.dumps(document).encode()
        return status, CIMultiDictProxy(CIMultiDict(answer.headers.multi_items())), content
