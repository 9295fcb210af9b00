"""Calls of the rail, beside an app that does nothing."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

from reference.web.http.asgi_envelope import AsgiApp
from tools.bench.reference import material
from tools.bench.reference.asgi_calls import bare, call, quart_hello
from tools.bench.reference.jobs import Contenders, must, together
from tools.bench.reference.memory_rail import PATH, MemoryRail, memory_rail
from tools.bench.reference.rounds import Contender


@asynccontextmanager
async def challenge(folder: Path) -> AsyncIterator[Contenders]:
    """Answer an unpaid call with a 402 of three lanes."""
    async with memory_rail(folder, material.receipt()) as rail:
        yield [
            Contender("weldproof", "ours", _calls(rail.app, PATH, rail.body, 402)),
            Contender(
                "weldproof, through Quart",
                "ours",
                _calls(rail.app, PATH, rail.body, 402, (b"payment-signature", b"e30=")),
            ),
            *_hello_floors(rail.body),
        ]


@asynccontextmanager
async def paid_call(folder: Path) -> AsyncIterator[Contenders]:
    """Answer a paid call: weld, redemption on the disk, receipt verification, two signatures; the chain in memory."""
    async with memory_rail(folder, material.receipt()) as rail:
        yield [Contender("weldproof", "ours", _make_buyer(rail), rail.proofs), *_hello_floors(rail.body)]


def _make_buyer(rail: MemoryRail) -> Callable[[Sequence[bytes]], Awaitable[None]]:
    async def buy(proof: bytes) -> None:
        answer = await call(rail.app, "POST", PATH, rail.body, [(b"x-payment", proof)])
        must(answer.status == 200, f"a paid call was answered {answer.status}: {answer.body[:200]!r}")

    async def run(proofs: Sequence[bytes]) -> None:
        await together(buy, proofs)

    return run


def _calls(
    app: AsgiApp, path: str, body: bytes, status: int, *headers: tuple[bytes, bytes]
) -> Callable[[Any], Awaitable[None]]:
    async def send(_: object) -> None:
        answer = await call(app, "POST", path, body, headers)
        must(answer.status == status, f"{path} was answered {answer.status}: {answer.body[:200]!r}")

    async def run(parts: Sequence[object]) -> None:
        await together(send, parts)

    return run


def _hello_floors(body: bytes) -> Contenders:
    return [
        Contender("Quart hello", "floor", _calls(cast("AsgiApp", quart_hello()), "/", body, 200)),
        Contender("bare ASGI hello", "floor", _calls(bare, "/", body, 200)),
    ]
