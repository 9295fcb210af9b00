"""Mutants of what becomes of a payment while a chain's node is away (5.8)."""

from __future__ import annotations

from reference.mutants.seams import Mutant, replace
from reference.store.redemptions import Redemptions


def _claims_lapse() -> None:
    """A claim lapses by the clock, whether a node could be asked about it or not."""

    async def nothing(*_: object, **__: object) -> None:
        return None

    replace(Redemptions, "keep", lambda _: nothing)


MUTANTS = (Mutant("claims-lapse-in-outages", "a claim whose last look met no node never lapses (5.8)", _claims_lapse),)
