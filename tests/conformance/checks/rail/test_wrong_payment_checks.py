"""What the check of payments of something else makes of rails that read a transfer wrongly."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import pytest

from conformance.engine.session import Session
from conformance.lanes.algorand.payer import AlgorandPayer
from conformance.outcome import Verdict
from tests.conformance.checks.rail.scripted_rail import PROFILE, Payer, Rail
from tests.conformance.checks.trial import run_one_check

OTHERWISE = "payment_of_something_else"
ASSET, PRICE = 31566704, 10000
Counts = Callable[[Mapping[str, Any]], bool]


class SendingPayer(Payer, AlgorandPayer):
    """Sends transfers of which the rail takes those that `counts` accepts."""

    def __init__(self, rail: Rail, counts: Counts) -> None:
        super().__init__(rail)
        self._counts = counts

    async def new_account(self, **_: Any) -> Any:
        """Return a stranger."""
        return SimpleNamespace(address="STRANGER")

    async def transfer(self, **transfer: Any) -> str:
        """Send; what does not count the rail does not know."""
        proof = await self.pay({"extra": {"payment_reference": ""}})
        if not self._counts(transfer):
            self._rail.paid.discard(proof["tx_id"])
        return str(proof["tx_id"])

    async def send_native(self, *_: Any) -> str:
        """Send coin, which no rail here takes."""
        return await self.transfer(asset=0, receiver="", amount=0)


def honest(transfer: Mapping[str, Any]) -> bool:
    """Take what the note, the receiver, the asset and the amount of a transfer say."""
    return _is_payee(transfer["receiver"]) and transfer["asset"] == ASSET and transfer["amount"] >= PRICE


def _is_payee(address: str | None) -> bool:
    return address not in {None, "", "STRANGER", Payer.address}


async def _run_payment_check(counts: Counts) -> dict[str, Verdict]:
    rail = Rail()

    def ready(session: Session) -> None:
        session.payers.open_payers["algorand"] = SendingPayer(rail, counts)

    verdicts = await run_one_check(OTHERWISE, rail, PROFILE, ready=ready)
    return {row: verdict for row, verdict in verdicts.items() if verdict is not Verdict.PASS}


async def test_an_honest_rail_passes() -> None:
    """Nothing that is wrong in one thing is served."""
    assert await _run_payment_check(honest) == {}


@pytest.mark.parametrize(
    ("counts", "row"),
    [
        (lambda one: honest({**one, "receiver": "PAYEE"}), "RAIL-PAY-08"),
        (lambda one: honest({**one, "receiver": one.get("close_to") or one["receiver"]}), "RAIL-PAY-08"),
        (lambda one: honest({**one, "amount": one["amount"] + 1}), "RAIL-PAY-09"),
    ],
    ids=["any receiver", "a close-out's receiver", "a unit less"],
)
async def test_who_reads_one_thing_wrongly_fails(counts: Counts, row: str) -> None:
    """By the row of that thing, and by no other."""
    assert await _run_payment_check(counts) == {row: Verdict.FAIL}
