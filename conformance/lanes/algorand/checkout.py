"""Paying checkout links on Algorand: the memo is the transfer's note, exactly (3.5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from algosdk import transaction

from conformance.lanes.algorand.group_shapes import GROUPS
from conformance.lanes.algorand.payer import AlgorandPayer, Refused
from conformance.lanes.checkout_request import USDC, Bill, Way, in_two, respelled, smaller
from conformance.lanes.signed_payment import SignedPayment
from conformance.outcome import Inconclusive


@dataclass(slots=True)
class AlgorandCheckout:
    """Pays bills from the paying account of an Algorand payer."""

    payer: AlgorandPayer

    async def settle(self, bill: Bill, way: str | None = None) -> str:
        """Pay a bill; see `CheckoutPayer`."""
        _know(way)
        return await self._transfer(bill)

    async def sign(self, bill: Bill, way: str | None = None) -> SignedPayment:
        """Sign the transfer of a bill; see `SignsBills`."""
        _know(way)
        return await self.payer.signed_transfer(
            asset=asset_of(bill), receiver=bill.address, amount=bill.amount, note=bill.memo.encode(), proof={}
        )

    async def settle_again(self, bill: Bill, way: str | None = None) -> str:
        """Pay a bill once more, in another block; see `CheckoutPayer`."""
        return await self.settle(bill, way)

    async def _transfer(self, bill: Bill, **changes: Any) -> str:
        standard: dict[str, Any] = {
            "asset": asset_of(bill),
            "receiver": bill.address,
            "amount": bill.amount,
            "note": bill.memo.encode(),
        }
        return await self.payer.transfer(**{**standard, **changes})

    async def shaped(self, way: str | None = None) -> Sequence[Way]:
        """Return payments in a group: another transaction pays the fee, or opts in first; see `CheckoutPayer`."""
        del way

        def paying(send: Callable[[AlgorandPayer, Any], Awaitable[str]]) -> Callable[[Bill], Awaitable[str]]:
            async def pay(bill: Bill) -> str:
                to, note = bill.address, bill.memo.encode()
                made = await self.payer.draft(asset=asset_of(bill), receiver=to, amount=bill.amount, note=note)
                return await send(self.payer, made)

            return pay

        return [Way(what, paying(send), beyond=_GROUPED) for what, send in GROUPS.items()]

    async def credits(self, tx_id: str, asset: str) -> Mapping[str, int]:
        """Return what a transfer changed; see `CheckoutPayer`."""
        info = await self.payer.info(tx_id)
        sent = info.get("txn", {}).get("txn", {})
        if str(sent.get("xaid")) != asset:
            return {}
        changed = {str(sent.get("arcv")): int(sent.get("aamt", 0))}
        if "aclose" in sent:
            closed = int(info.get("asset-closing-amount", 0))
            changed[sent["aclose"]] = changed.get(sent["aclose"], 0) + closed
        payer = str(sent.get("asnd") or sent.get("snd"))
        changed[payer] = changed.get(payer, 0) - sum(changed.values())
        return {address: amount for address, amount in changed.items() if amount}

    async def holding(self, address: str, asset: str) -> int:
        """Return what an address holds; see `CheckoutPayer`."""
        return await self.payer.balance(address, int(asset))

    def unbound(self) -> Sequence[Way]:
        """Return payments without the memo, and a group in which another transaction has it."""
        return [
            Way("no note", lambda bill: self._transfer(bill, note=b"")),
            *respelled(self),
            Way("the note on another transaction of the group", self._beside),
        ]

    async def _beside(self, bill: Bill) -> str:
        """Pay without a note, in one group with a payment of nothing to the payer itself that has it."""
        draft = await self.payer.draft(asset=asset_of(bill), receiver=bill.address, amount=bill.amount, note=b"")
        me = self.payer.address
        noted = transaction.PaymentTxn(me, await self.payer.params(), me, 0, note=bill.memo.encode())
        return await self.payer.submit([draft, noted], self.payer.main)

    def short(self) -> Sequence[Way]:
        """Return payments of less, and transfers that move enough, but not to the payee or not for this memo."""
        return [
            *smaller(self),
            in_two(self),
            Way("one unit with the memo, the amount without it in the same group", self._grouped),
            Way("clawed back from the payee to the payee", self._clawed_back),
        ]

    async def _closing(self, bill: Bill) -> str:
        asset = asset_of(bill)
        refuge = await self.payer.new_account(assets=[asset])
        leaving = await self.payer.new_account(assets=[asset])
        await self.payer.transfer(asset=asset, receiver=leaving.address, amount=2 * bill.amount)
        return await self._transfer(bill, sender=leaving, amount=1, close_to=refuge.address)

    async def _clawed_back(self, bill: Bill) -> str:
        """Have the asset's issuer move what the payee holds already; only a simulated node can be made to."""
        members = {"address": bill.address, "receiver": bill.address, "asset": bill.asset, "note": bill.memo}
        return str((await self.payer.control("clawback", amount=str(bill.amount), **members)).get("tx_id"))

    async def _grouped(self, bill: Bill) -> str:
        asset, to = asset_of(bill), bill.address
        little = await self.payer.draft(asset=asset, receiver=to, amount=1, note=bill.memo.encode())
        whole = await self.payer.draft(asset=asset, receiver=to, amount=bill.amount, note=b"")
        return await self.payer.submit([little, whole], self.payer.main)

    def strayed(self) -> Sequence[Way]:
        """Return payments to the payer itself, and to another account beside one unit to the payee or closed out."""

        async def itself(bill: Bill) -> str:
            return await self._transfer(bill, receiver=self.payer.address)

        async def beside(bill: Bill) -> str:
            asset, note = asset_of(bill), bill.memo.encode()
            stranger = await self.payer.new_account(assets=[asset])
            unit = await self.payer.draft(asset=asset, receiver=bill.address, amount=1, note=note)
            whole = await self.payer.draft(asset=asset, receiver=stranger.address, amount=bill.amount, note=note)
            return await self.payer.submit([unit, whole], self.payer.main)

        return [
            Way("to the payer itself", itself),
            Way("to another account, one unit to the payee", beside),
            Way("one unit to the payee, the rest closed out to another account", self._closing),
        ]

    async def elsewhere(self, bill: Bill) -> Sequence[Way]:
        """Return payments in native coin and, if the node can opt the payee in, in look-alike assets."""

        async def coin(bill: Bill) -> str:
            return await self.payer.send_native(bill.address, bill.amount, bill.memo.encode())

        ways = [Way("native coin", coin)]
        if await self.payer.lacks("opt_in"):
            return ways
        fake = await self.payer.create_asset(unit_name="USDC")
        others = {"an asset of the same unit name": fake}
        others |= {f"USDC of {network}": int(USDC[network]) for network in _FAMILY if USDC[network] != bill.asset}

        def paying(asset: int) -> Callable[[Bill], Awaitable[str]]:
            async def pay(bill: Bill) -> str:
                await self.payer.control("opt_in", address=bill.address, asset=str(asset))
                return await self._transfer(bill, asset=asset)

            return pay

        return [*ways, *(Way(what, paying(asset)) for what, asset in others.items())]

    def failing(self) -> Sequence[Way]:
        """Return a payment that the node refuses, because its sender holds nothing."""

        async def penniless(bill: Bill) -> str:
            poor = await self.payer.new_account()
            try:
                await self._transfer(bill, sender=poor)
            except Refused as refusal:
                return refusal.tx_id
            raise Inconclusive("the node took a payment from an account that holds nothing")

        return [Way("refused by the node", penniless)]

    async def with_memos(self, bill: Bill, memos: Sequence[str]) -> str:
        """Put several memos into one note, one a line; see `CheckoutPayer`."""
        return await self._transfer(bill, note="\n".join(memos).encode())

    async def submitted(self, bill: Bill) -> str:
        """Hand a payment to the node; see `CheckoutPayer`."""
        return await self._transfer(bill, wait=False)

    async def landed(self, tx_id: str) -> None:
        """Wait for a transaction's block; see `CheckoutPayer`."""
        await self.payer.confirmed(tx_id)

    def together(self, tx_id: str) -> Sequence[str]:
        """Return the transactions of a group; see `CheckoutPayer`."""
        return self.payer.together(tx_id)


def _know(way: str | None) -> None:
    if way not in {None, "note"}:
        raise Inconclusive(f"the suite knows no way {way!r} to bind a memo on Algorand; it knows note")


_FAMILY = ("algorand_mainnet", "algorand_testnet")
_GROUPED = "the interface leaves open whether a transfer that is in a group of transactions pays a link"


def asset_of(bill: Bill) -> int:
    """Return the bill's asset id.

    Raises:
        Inconclusive: It is no Algorand asset id.
    """
    return AlgorandPayer.asset_id({"asset": bill.asset})
