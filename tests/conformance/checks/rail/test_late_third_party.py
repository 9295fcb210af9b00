"""A third party whose transaction comes after the authorization's window gets another one, as on a busy machine."""

from __future__ import annotations

from typing import Any

import pytest

from conformance.checks.rail.base.third_party_settlement import _use_in_time
from conformance.lanes.base.payer import Refused
from conformance.outcome import Inconclusive


class Chain:
    """A payer and a challenge in one: the contract rejects the first authorizations that are used."""

    def __init__(self, rejected: int) -> None:
        self.left = rejected
        self.sign_authorization: list[int] = []

    async def block_time(self) -> int:
        """Return the time of the newest block."""
        return 1_000

    async def sign(self, *, valid_before: int) -> int:
        """Return an authorization, which is its end here."""
        self.sign_authorization.append(valid_before)
        return valid_before

    async def use(self, authorization: int, *, sender: object) -> None:
        """Use an authorization."""
        del authorization, sender
        self.left -= 1
        if self.left >= 0:
            raise Refused("the transaction failed in its block")


async def test_another_authorization_is_signed_with_a_longer_window() -> None:
    """The second one is used, and the caller waits for its end."""
    chain: Any = Chain(1)
    authorization: Any = await _use_in_time(chain, chain, chain)
    assert authorization == (1_020, 20)
    assert chain.sign_authorization == [1_006, 1_020]


async def test_a_contract_that_rejects_all_decides_nothing() -> None:
    """After three of them the row is left undecided."""
    chain: Any = Chain(3)
    with pytest.raises(Inconclusive, match="rejected each of 3 authorizations, valid for up to 60 s"):
        await _use_in_time(chain, chain, chain)
