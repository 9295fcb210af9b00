"""Two rails alike, one asked as it is served and one without its front: what is asked of them, and what they answer."""

from __future__ import annotations

import dataclasses
import secrets
from collections.abc import Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import algosdk
import pytest

from reference.lanes.algorand.lane import AlgorandLane
from reference.lanes.lane import Lane
from reference.protocol.networks import NETWORKS
from reference.rail.paid_fast_path import PaidFastPath
from reference.rail.runtime import open_rail_with_lanes
from reference.rail.settings import RailSettings
from reference.web.clock import WpClock
from reference.web.http.asgi_envelope import AsgiApp, Envelope, Message, Scope
from tools.bench.reference.memory_rail import NoNode

NETWORK = NETWORKS["algorand_mainnet"]
PATHS = ("/pay/v1/verify/receipt", "/pay/v1/verify/rfc9421", "/pay/v1/compliance/receipt")
JSON = (b"content-type", b"application/json")
Header = tuple[bytes, bytes]


@dataclass(frozen=True)
class Asked:
    """One request, its body in parts."""

    method: str = "POST"
    path: str = PATHS[0]
    query: bytes = b""
    headers: tuple[Header, ...] = (JSON,)
    body: tuple[bytes, ...] = (b'{"jws":"e30.e30.AA"}',)

    def scope(self) -> Scope:
        """Return its ASGI scope."""
        return {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": self.method,
            "scheme": "http",
            "path": self.path,
            "raw_path": self.path.encode(),
            "query_string": self.query,
            "root_path": "",
            "headers": [(b"host", b"localhost"), *self.headers],
            "client": ("127.0.0.1", 1),
            "server": ("127.0.0.1", 2),
            "extensions": {},
        }


Answer = tuple[int, list[Header], bytes]


async def answer(app: AsgiApp, question: Asked) -> Answer:
    """Return status, headers and body of an answer."""
    parts = list(question.body)
    messages: list[Message] = []

    async def receive() -> Message:
        if not parts:
            return {"type": "http.disconnect"}
        return {"type": "http.request", "body": parts.pop(0), "more_body": bool(parts)}

    async def send(message: Message) -> None:
        messages.append(message)

    await app(question.scope(), receive, send)
    body = b"".join(one.get("body", b"") for one in messages[1:])
    return messages[0]["status"], sorted(messages[0]["headers"]), body


@dataclass
class Doors:
    """Two rails alike: one is asked as it is served, the other without its front."""

    front: Envelope
    app: Envelope

    async def ask_both(self, request: Asked) -> Answer:
        """Return the one answer of both."""
        first, second = await answer(self.front, request), await answer(self.app, request)
        assert first == second, request
        return first


NOW = 1_800_000_000
PAYEE = str(algosdk.encoding.encode_address(bytes(32)))


def stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let chance and time stand still, so that two answers can be equal."""
    monkeypatch.setattr(secrets, "token_bytes", bytes)
    monkeypatch.setattr(secrets, "token_hex", lambda size: "00" * size)
    monkeypatch.setattr(WpClock, "seconds", lambda _: NOW + 0.5)


def unasked_lane() -> Lane:
    """Return a lane whose node is never asked."""
    return AlgorandLane(NETWORK, NoNode(), None)


async def doors_of(
    exits: AsyncExitStack, folder: Path, lane: Callable[[], Lane] = unasked_lane, **settings: Any
) -> Doors:
    """Open both rails, each over a lane of its own."""
    created_items: list[Envelope] = []
    (folder / "secret").write_text("11" * 32, "ascii")
    for name in ("front", "app"):
        given = RailSettings(
            rail_data_dir=folder / name,
            rail_token_secret_file=folder / "secret",
            rail_payto={"algorand": PAYEE},
            **settings,
        )
        rail = await exits.enter_async_context(open_rail_with_lanes(given, {NETWORK.key: lane()}))
        assert isinstance(rail, Envelope)
        created_items.append(rail)
    assert isinstance(created_items[1].app, PaidFastPath)
    return Doors(created_items[0], dataclasses.replace(created_items[1], app=created_items[1].app.app))
