"""A proof of Base that is right in everything but that its payer holds nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conformance.engine.check import Case
from conformance.lanes.base.payer import BasePayer
from conformance.outcome import Inconclusive


async def unfunded_proof(case: Case, entry: Mapping[str, Any]) -> dict[str, Any]:
    """Return the proof that an `accepts` entry asks for, by a fresh account that holds nothing.

    Raises:
        Inconclusive: The lane has no payer, or the entry names no price, token or domain.
    """
    payer = await case.session.payer("base")
    if not isinstance(payer, BasePayer):
        raise Inconclusive("the Base lane has no payer")
    return (await payer.authorize(entry, await payer.new_account())).proof()
