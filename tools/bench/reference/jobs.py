"""The jobs: each by its name, imported when it is measured; and what all of them share."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

from tools.bench.reference.rounds import Contender

_AT_ONCE = 32

Contenders: TypeAlias = Sequence[Contender]

# Where each job's contenders are opened, ours first; signature verification needs no rail, and no rail's imports.
JOBS: Mapping[str, tuple[str, str]] = {
    "challenge": ("tools.bench.reference.calls", "challenge"),
    "paid-call": ("tools.bench.reference.calls", "paid_call"),
    "receipt": ("tools.bench.reference.verifiers", "receipt_verification"),
    "message": ("tools.bench.reference.verifiers", "message_verification"),
    "redemption": ("tools.bench.reference.redeeming", "redemption"),
    "delivery": ("tools.bench.reference.delivering", "delivery"),
    "falcon": ("tools.bench.reference.trust", "falcon_verification"),
    "audit-chain": ("tools.bench.reference.trust", "audit_chain"),
    "zk-issue": ("tools.bench.reference.zero_knowledge", "proof_made"),
    "zk-verify": ("tools.bench.reference.zero_knowledge", "proof_verified"),
}


def contenders(job: str, folder: Path) -> AbstractAsyncContextManager[Contenders]:
    """Open the contenders of a job; what they store goes into `folder`."""
    module, name = JOBS[job]
    opened: AbstractAsyncContextManager[Contenders] = getattr(import_module(module), name)(folder)
    return opened


class WrongAnswer(RuntimeError):
    """A contender did not do its job: what it cost says nothing."""


def must(done: bool, what: str) -> None:
    """Make sure that a job was done.

    Raises:
        WrongAnswer: It was not.
    """
    if not done:
        raise WrongAnswer(what)


async def together(one: Callable[[Any], Awaitable[object]], given: Sequence[object]) -> None:
    """Do a job for each thing given, 32 at a time, as a server with 32 connections would."""
    waiting = iter(given)

    async def go_on() -> None:
        for thing in waiting:
            await one(thing)

    await asyncio.gather(*(go_on() for _ in range(min(_AT_ONCE, len(given)))))
