"""Screening of addresses, POST /compliance/screen: a verdict with a signed receipt (3.7)."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence

from reference.gateway import refusals
from reference.gateway.call_admission import Call
from reference.gateway.error_replies import json_reply
from reference.protocol import screening
from reference.web.clock import WpClock
from reference.web.http.exchange import Reply
from reference.web.keyring import Keyring


class Screening:
    """Screens addresses."""

    def __init__(
        self, clock: WpClock, keyring: Callable[[], Keyring], *, did: str, jurisdiction_flags: Sequence[str]
    ) -> None:
        self._clock = clock
        self._keyring = keyring
        self._did = did
        self._flags = jurisdiction_flags

    async def screen(self, call: Call) -> Reply:
        """Answer a screening: 200 for every verdict (P-SC-02)."""
        try:
            answer = screening.screen(
                call.content,
                screened_at_ms=self._clock.now_ms(),
                verdict_id=str(uuid.uuid4()),
                provider_did=self._did,
                jurisdiction_flags=self._flags,
                signing_key=self._keyring().active,
            )
        # Every verdict is 200 (P-SC-02). An unknown network is no verdict about an address, so it is refused.
        except screening.UnsupportedNetwork:
            raise refusals.unsupported_network(call.content.network) from None
        return json_reply(200, answer)
