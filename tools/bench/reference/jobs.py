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
    "challenge": ("tools.bench.reference.rail_calls", "challenge"),
    "paid-call": ("tools.bench.reference.rail_calls", "paid_call"),
    "receipt": ("tools.bench.reference.verifiers", "receipt_verification"),
    "message": ("tools.bench.reference.verifiers", "message_verification"),
    "redemption": ("tools.bench.reference.redeeming", "redemption"),
    "delivery": ("tools.bench.reference.delivering", "delivery"),
    "falcon": ("tools.bench.reference.falcon_and_audit_log", "falcon_verification"),
    "audit-chain": ("tools.bench.reference.falcon_and_audit_log", "audit_chain"),
    "zk-issue": ("tools.bench.reference.zero_knowledge", "proof_made"),
    "zk-verify": ("tools.bench.reference.zero_knowledge", "proof_verified"),
}


def contenders(job: str, folder: Path) -> AbstractAsyncContextManager[Contenders]:
    """Open the contenders of a job; what they store goes into `folder`."""
    module, name = JOBS[job]
    entrants: AbstractAsyncContextManager[Contenders] = getattr(import_module(module), name)(folder)
    return entrants


class WrongAnswer(RuntimeError):
    """A contender did not do its job: what it cost says nothing."""


def must(is_right: bool, complaint: str) -> None:
    """Make sure that a job was done.

    Raises:
        WrongAnswer: It was not.
    """
    if not is_right:
        raise WrongAnswer(complaint)


async def together(job: Callable[[Any], Awaitable[object]], parts: Sequence[object]) -> None:
    """Do a job for each thing given, 32 at a time, as a server with 32 connections would."""
    queue = iter(parts)

    async def go_on() -> None:
        for part in queue:
            await job(part)

    await asyncio.gather(*(go_on() for _ in range(min(_AT_ONCE, len(parts)))))
