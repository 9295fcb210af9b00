"""The PyPI package x402: its FastAPI middleware over a facilitator in memory. Run by the bench's own environment.

usage: x402_app.py uvicorn|hypercorn FD
"""

from __future__ import annotations

import sys
from typing import Any, cast

import uvicorn  # type: ignore[import-not-found,unused-ignore]
import uvloop
from fastapi import FastAPI, Request  # type: ignore[import-not-found,unused-ignore]
from hypercorn.asyncio import serve
from hypercorn.config import Config
from x402 import x402ResourceServer
from x402.http.middleware.fastapi import payment_middleware
from x402.mechanisms.evm.exact import ExactEvmServerScheme
from x402.schemas import SettleResponse, SupportedKind, SupportedResponse, VerifyResponse

PATH = "/pay/v1/verify/receipt"
NETWORKS = ("eip155:8453", "eip155:84532", "eip155:137")
PAYEE = "0x" + "11" * 20
PAYER = "0x" + "22" * 20


class Facilitator:
    """Says yes to everything, at once: what is measured is the middleware."""

    async def verify(self, *_: Any, **__: Any) -> VerifyResponse:
        """Return that a payment is valid."""
        return VerifyResponse(is_valid=True, payer=PAYER)

    async def settle(self, _: Any, requirements: Any, *__: Any, **___: Any) -> SettleResponse:
        """Return that a payment was settled."""
        return SettleResponse(success=True, transaction="0x" + "33" * 32, network=requirements.network, payer=PAYER)

    def get_supported(self) -> SupportedResponse:
        """Return the three networks."""
        kinds = [SupportedKind(x402_version=2, scheme="exact", network=network) for network in NETWORKS]
        return SupportedResponse(kinds=kinds)


def build() -> Any:
    """Return the app: one paid route that costs a cent on three networks."""
    stub, scheme = cast("Any", Facilitator()), cast("Any", ExactEvmServerScheme)  # its types are narrower than its code
    server = x402ResourceServer(stub)
    for network in NETWORKS:
        server.register(network, scheme())
    accepts = [{"scheme": "exact", "payTo": PAYEE, "price": "$0.01", "network": network} for network in NETWORKS]
    route = {"accepts": accepts, "description": "Verifies a receipt", "mime_type": "application/json"}
    middleware = payment_middleware(cast("Any", {f"POST {PATH}": route}), server)
    app = FastAPI(openapi_url=None)

    async def around(request: Request, call_next: Any) -> Any:
        return await middleware(request, call_next)

    async def verify(body: dict[str, Any]) -> dict[str, bool]:
        return {"verified": "jws" in body}

    app.middleware("http")(around)
    app.add_api_route(PATH, verify, methods=["POST"])
    return app


async def on_hypercorn(descriptor: int) -> None:
    """Serve on Hypercorn, set as ours is."""
    config = Config()
    config.bind = [f"fd://{descriptor}"]
    config.keep_alive_max_requests = 1_000_000
    config.include_server_header = False
    await serve(build(), config)


async def on_uvicorn(descriptor: int) -> None:
    """Serve on uvicorn, set as ours is."""
    config = uvicorn.Config(build(), fd=descriptor, http="httptools", log_level="warning", access_log=False)
    await uvicorn.Server(config).serve()


if __name__ == "__main__":
    uvloop.run({"hypercorn": on_hypercorn, "uvicorn": on_uvicorn}[sys.argv[1]](int(sys.argv[2])))
