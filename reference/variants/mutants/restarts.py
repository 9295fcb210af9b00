"""Mutants that forget at a restart (P-ST-02): what was bought, and the secret that live challenges were made with."""

from __future__ import annotations

import secrets
from collections.abc import Awaitable, Callable
from typing import Any, TypeAlias

from sqlalchemy import delete

from reference.rail import identity, runtime
from reference.store.tables import redemptions
from reference.store.used_transfers import used_transfers
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

Agree: TypeAlias = Callable[..., Awaitable[None]]


def _forget_redemptions() -> None:
    """Begin every start with a ledger in which nothing was bought."""

    def forgetful(agree: Agree) -> Agree:
        async def agreed(facts: Any, *rest: Any) -> None:
            await agree(facts, *rest)
            for table in (used_transfers, redemptions):
                await facts._database.change(delete(table))  # noqa: SLF001 - nothing of the clean code forgets

        return agreed

    replace(identity, "agree", forgetful)


def _forget_tokens() -> None:
    """Make tokens with another secret at every start."""

    async def opened(*_: Any, **__: Any) -> bytes:
        return secrets.token_bytes(32)

    async def agreed(*_: Any) -> None:
        """Let every secret pass."""

    replace(runtime, "open_secret", lambda _: opened)
    replace(identity, "agree", lambda _: agreed)


MUTANTS = (
    Mutant("restart-forgets-redemptions", "the ledger survives a restart (P-ST-02)", _forget_redemptions),
    Mutant("restart-forgets-tokens", "tokens survive a restart (P-ST-02)", _forget_tokens),
)
