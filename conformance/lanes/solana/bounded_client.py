"""solana-py's client with a bounded size of answers, which its HTTP library would read and unpack without end."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx2
from solana.rpc.async_api import AsyncClient
from solana.rpc.commitment import Confirmed

from conformance.http.client import LONGEST_BODY


def bounded_client(url: str, seconds: float) -> AsyncClient:
    """Return a client of one node that reads answers up to `LONGEST_BODY` bytes and refuses compressed ones."""
    client = AsyncClient(url, commitment=Confirmed, timeout=seconds, extra_headers={"Accept-Encoding": "identity"})
    client._provider.session.event_hooks = {"response": [_bound_body]}  # noqa: SLF001 - there is no public way
    return client


async def _bound_body(response: httpx2.Response) -> None:
    """Bound the body of an answer before it is read.

    Raises:
        ValueError: It is compressed, although the request did not allow that.
    """
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in {"", "identity"}:
        raise ValueError(f"its answer is packed as {coding[:40]}, which was not asked for")
    response.stream = _Bounded(response.stream)


class _Bounded(httpx2.AsyncByteStream):
    """A body up to `LONGEST_BODY` bytes."""

    def __init__(self, stream: httpx2.AsyncByteStream | httpx2.SyncByteStream) -> None:
        self._stream = stream

    async def __aiter__(self) -> AsyncIterator[bytes]:
        length = 0
        if not isinstance(self._stream, httpx2.AsyncByteStream):
            raise TypeError("an asynchronous client has asynchronous bodies")
        async for piece in self._stream:
            length += len(piece)
            if length > LONGEST_BODY:
                raise ValueError(f"its answer is longer than {LONGEST_BODY} bytes, of which no more is read")
            yield piece

    async def aclose(self) -> None:
        """Close the stream."""
        if isinstance(self._stream, httpx2.AsyncByteStream):
            await self._stream.aclose()
