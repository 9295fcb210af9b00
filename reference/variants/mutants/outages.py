"""Mutants of what becomes of a payment while a chain's node is away (5.8)."""

from __future__ import annotations

from reference.rail.eligibility import Eligibility
from reference.store.redemptions import Redemptions
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace


def _claims_lapse() -> None:
    """A claim lapses by the clock, whether a node could be asked about it or not, and no absence prolongs a token.

    Either of the two serves who was told to come again, the second where a look noticed that the node was away.
    """

    async def nothing(*_: object, **__: object) -> None:
        return None

    async def never(*_: object, **__: object) -> bool:
        return False

    replace(Redemptions, "keep", lambda _: nothing)
    replace(Eligibility, "_may_come_late", lambda _: never)


MUTANTS = (Mutant("claims-lapse-in-outages", "a claim whose last look met no node never lapses (5.8)", _claims_lapse),)
