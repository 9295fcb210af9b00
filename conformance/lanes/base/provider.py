"""web3.py provider of one EVM node, with a separate HTTP session."""

from __future__ import annotations

from typing import Any, Final

import aiohttp
from web3.providers.async_base import AsyncJSONBaseProvider
from web3.types import RPCEndpoint, RPCResponse

from conformance.http.transport import PLAIN_ANSWERS, read_whole

# Nodes keep idle connections for five seconds or more; no request is sent on a connection that may be closing.
_IDLE_SECONDS: Final = 2.0
# web3 asks for the chain id before each call and estimate.
_CHAIN_ID: Final = "eth_chainId"


# Not web3's own HTTP provider: it guards its sessions with one lock for the whole process, and waits for it in a
# thread. A request that is cancelled while it waits takes the lock afterwards and never releases it. Every later
# request, and the end of the program, would then wait for ever.
class NodeProvider(AsyncJSONBaseProvider):
    """Provider of one node by JSON-RPC over HTTP, without proxy and retries; the chain id is asked once."""

    def __init__(self, url: str, seconds: float) -> None:
        """Take the node's address and the seconds that an answer may take."""
        super().__init__()
        self._url = url
        self._chain_id: RPCResponse | None = None
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(keepalive_timeout=_IDLE_SECONDS),
            headers={"Content-Type": "application/json", **PLAIN_ANSWERS},
            raise_for_status=True,
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(total=seconds),
            trust_env=False,
        )

    async def make_request(self, method: RPCEndpoint, params: Any) -> RPCResponse:
        """Ask the node.

        Raises:
            aiohttp.ClientError: It cannot be reached, or answers with another status than 2xx.
            TimeoutError: It gave no answer in time.
            ValueError: Its answer is not JSON, or larger than any answer.
        """
        if method == _CHAIN_ID and self._chain_id is not None:
            return self._chain_id
        request = self.encode_rpc_request(method, params)
        # A redirect would send the key that is in the addresses of some nodes to another host.
        async with self._session.post(self._url, data=request, allow_redirects=False) as response:
            answer = self.decode_rpc_response(await read_whole(response))
        if method == _CHAIN_ID and "result" in answer:
            self._chain_id = answer
        return answer

    async def disconnect(self) -> None:
        """Close connections."""
        await self._session.close()
