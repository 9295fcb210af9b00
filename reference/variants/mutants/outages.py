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


def _never_taken_over() -> None:
    """A claim belongs to whoever made it first, even when the lease was given back."""

    async def refused(*_: object, **__: object) -> bool:
        return False

    replace(Redemptions, "take_lease", lambda _: refused)


def _marked_and_left() -> None:
    """A claim that was marked as paid gets no answer any more: only one that is marked with its answer is served."""

    async def unstored(*_: object, **__: object) -> bool:
        return False

    replace(Redemptions, "spend", lambda _: unstored)


MUTANTS = (
    Mutant("claims-lapse-in-outages", "a claim whose last look met no node never lapses (5.8)", _claims_lapse),
    Mutant("claims-never-taken-over", "who was told to come again is served (5.5, 5.8)", _never_taken_over),
    Mutant("marked-and-never-served", "what was found paid is served when its proof comes (5.8)", _marked_and_left),
)
