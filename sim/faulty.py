"""Armed faults instead of a node's answers, in front of any of the simulators' apps."""

from __future__ import annotations

from typing import Any, Protocol

from sim.faults import ANSWERS, Broken, Faults


class AsgiApp(Protocol):
    """An ASGI application."""

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one event."""


class Faulty:
    """Shows the next armed fault of a chain; the control address is exempt."""

    def __init__(self, app: AsgiApp, faults: Faults) -> None:
        self._app = app
        self._faults = faults

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve one ASGI event."""
        if scope["type"] == "http" and scope["path"] != "/control":
            fault = self._faults.take_answer()
            if fault is not None:
                try:
                    await ANSWERS[fault.name](send, fault.rng)
                except Broken:
                    raise ConnectionAbortedError("a fault cut this answer") from None
                return
        await self._app(scope, receive, send)
