"""Public documents of the gateway: health, keys, OpenAPI (P-KY-04 to P-KY-07)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from importlib.resources import files

import orjson

from reference.gateway.call_admission import Call
from reference.gateway.error_replies import json_reply
from reference.protocol import keys
from reference.web.clock import WpClock
from reference.web.http.exchange import JSON, Reply
from reference.web.keyring import Keyring

# Verifiers may cache keys for five minutes. A retired key stays published, so a rotation breaks no cached copy.
_CACHE = "public, max-age=300"


class Documents:
    """Documents that any client may read."""

    def __init__(
        self,
        did: str,
        keyring: Callable[[], Keyring],
        ping: Callable[[], Awaitable[None]],
        clock: WpClock,
        *,
        faults: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._did = did
        self._keyring = keyring
        self._alive = ping
        self._clock = clock
        self._faults = faults
        self._openapi = files("openapi").joinpath("gateway.json").read_bytes()

    async def health(self, _: Call) -> Reply:
        """Answer GET /health: 503 if the database is unavailable or the clock is in doubt.

        Faults that do not stop the service, but would prevent a restart, are in `faults`.
        """
        # An orchestrator that reads this must not send traffic to a worker that can neither read nor date anything.
        await self._alive()
        self._clock.refuse_in_doubt()
        faults = list(self._faults())
        return json_reply(200, {"status": "degraded", "faults": faults} if faults else {"status": "ok"})

    async def openapi(self, _: Call) -> Reply:
        """Answer GET /openapi.json: the hand-written contract."""
        return Reply(200, self._openapi, {"Content-Type": JSON, "Cache-Control": _CACHE})

    async def jwks(self, _: Call) -> Reply:
        """Answer GET /.well-known/jwks.json."""
        return _document(keys.jwks(self._keyring().published_keys), "application/jwk-set+json")

    async def did(self, _: Call) -> Reply:
        """Answer GET /.well-known/did.json."""
        return _document(keys.did_document(self._did, self._keyring().published_keys, []), "application/did+json")


def _document(value: object, media_type: str) -> Reply:
    return Reply(200, orjson.dumps(value), {"Content-Type": media_type, "Cache-Control": _CACHE})
