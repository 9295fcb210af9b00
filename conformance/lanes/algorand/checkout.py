"""Checkout payer on Algorand: the memo is exactly the note of the transfer (3.5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from algosdk import transaction

from conformance.lanes.algorand.group_shapes import GROUPS
from conformance.lanes.algorand.node import Account
from conformance.lanes.algorand.payer import AlgorandPayer, Refused
from conformance.lanes.checkout_request import (
    OTHER_SIGNERS,
    USDC,
    CheckoutRequest,
    WrongPayment,
    list_respelled_payments,
    list_smaller_payments,
    pay_in_two,
)
from conformance.lanes.signed_payment import SignedPayment
from conformance.outcome import Inconclusive, OpenPoint


@dataclass(slots=True)
class AlgorandCheckout:
    """Payer of bills from the paying account of an Algorand payer."""

    payer: AlgorandPayer

    async def settle(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill; see `CheckoutPayer`."""
        _check_way(way)
        return await self._transfer(bill)

    async def sign(self, bill: CheckoutRequest, way: str | None = None) -> SignedPayment:
        """Sign the transfer of a bill; see `SignsBills`."""
        _check_way(way)
        return await self.payer.signed_transfer(
            asset=read_asset(bill), receiver=bill.address, amount=bill.amount, note=bill.memo.encode(), proof={}
        )

    async def settle_again(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill once more, in another block; see `CheckoutPayer`."""
        return await self.settle(bill, way)

    async def _transfer(self, bill: CheckoutRequest, **changes: Any) -> str:
        standard: dict[str, Any] = {
            "asset": read_asset(bill),
            "receiver": bill.address,
            "amount": bill.amount,
            "note": bill.memo.encode(),
        }
        return await self.payer.transfer(**{**standard, **changes})

    async def list_other_shapes(self, way: str | None = None) -> Sequence[WrongPayment]:
        """Return payments inside a group, and one that another account's key signs; see `CheckoutPayer`."""
        del way

        def make_payment(
            send: Callable[[AlgorandPayer, Any], Awaitable[str]],
        ) -> Callable[[CheckoutRequest], Awaitable[str]]:
            async def pay(bill: CheckoutRequest) -> str:
                to, note = bill.address, bill.memo.encode()
                draft = await self.payer.draft(asset=read_asset(bill), receiver=to, amount=bill.amount, note=note)
                return await send(self.payer, draft)

            return pay

        return [
            *(WrongPayment(what, make_payment(send), beyond=_GROUP_REASON) for what, send in GROUPS.items()),
            WrongPayment(
                "in a group in which another account pays the fee",
                self._pay_with_other_fee_payer,
                beyond=_GROUP_REASON,
                has_other_signer=True,
            ),
            WrongPayment(
                "from an account that is rekeyed to another one",
                self._pay_from_rekeyed_account,
                beyond=OTHER_SIGNERS,
                has_other_signer=True,
            ),
        ]

    async def _pay_with_other_fee_payer(self, bill: CheckoutRequest) -> str:
        """Send the transfer without a fee, after a payment of another account that pays for both."""
        draft = await self.payer.draft(
            asset=read_asset(bill), receiver=bill.address, amount=bill.amount, note=bill.memo.encode()
        )
        sponsor = await self.payer.new_account()
        fee_payment = transaction.PaymentTxn(sponsor.address, await self.payer.params(), sponsor.address, 0)
        fee_payment.fee, draft.fee = fee_payment.fee + draft.fee, 0
        await self.payer.submit([fee_payment, draft], sponsor, self.payer.main)
        return str(draft.get_txid())

    async def _pay_from_rekeyed_account(self, bill: CheckoutRequest) -> str:
        """Pay from an account whose transactions the paying account's key signs; its own key signs again afterwards."""
        asset, main = read_asset(bill), self.payer.main
        owner = await self.payer.new_account(assets=[asset])
        await self.payer.hold(asset, bill.amount, owner)

        async def rekey(signer: Account, to: str) -> None:
            params = await self.payer.params()
            change = transaction.PaymentTxn(owner.address, params, owner.address, 0, rekey_to=to)
            await self.payer.submit([change], signer)

        await rekey(owner, main.address)
        transfer = transaction.AssetTransferTxn(
            owner.address, await self.payer.params(), bill.address, bill.amount, asset, note=bill.memo.encode()
        )
        tx_id = await self.payer.submit([transfer], main)
        # The account's own key must be able to give back what is left.
        await rekey(main, owner.address)
        return tx_id

    async def read_credits(self, tx_id: str, asset: str) -> Mapping[str, int]:
        """Return the changes of a transfer; see `CheckoutPayer`."""
        info = await self.payer.info(tx_id)
        fields = info.get("txn", {}).get("txn", {})
        if str(fields.get("xaid")) != asset:
            return {}
        changes = {str(fields.get("arcv")): int(fields.get("aamt", 0))}
        # A close-out moves the remainder in addition to the amount, and only the node knows how much that was.
        if "aclose" in fields:
            remainder = int(info.get("asset-closing-amount", 0))
            changes[fields["aclose"]] = changes.get(fields["aclose"], 0) + remainder
        # In a clawback, `asnd` loses the units; the sender is only the issuer.
        payer = str(fields.get("asnd") or fields.get("snd"))
        # The payer loses what the others gain; a payment to itself leaves no change.
        changes[payer] = changes.get(payer, 0) - sum(changes.values())
        return {address: amount for address, amount in changes.items() if amount}

    async def read_holding(self, address: str, asset: str) -> int:
        """Return the balance of an address; see `CheckoutPayer`."""
        return await self.payer.balance(address, int(asset))

    def list_unbound_payments(self) -> Sequence[WrongPayment]:
        """Return payments without the memo, and a group in which another transaction carries it."""
        return [
            WrongPayment("no note", lambda bill: self._transfer(bill, note=b"")),
            *list_respelled_payments(self),
            WrongPayment("the note on another transaction of the group", self._pay_with_memo_on_other),
        ]

    async def _pay_with_memo_on_other(self, bill: CheckoutRequest) -> str:
        """Pay without a note, in one group with an empty payment to the payer itself that carries the note."""
        draft = await self.payer.draft(asset=read_asset(bill), receiver=bill.address, amount=bill.amount, note=b"")
        me = self.payer.address
        memo_payment = transaction.PaymentTxn(me, await self.payer.params(), me, 0, note=bill.memo.encode())
        return await self.payer.submit([draft, memo_payment], self.payer.main)

    def list_short_payments(self) -> Sequence[WrongPayment]:
        """Return payments of less, and transfers of enough that do not go to the payee or do not carry the memo."""
        return [
            *list_smaller_payments(self),
            pay_in_two(self),
            WrongPayment(
                "one unit with the memo, the amount without it in the same group", self._pay_one_unit_in_group
            ),
            WrongPayment("clawed back from the payee to the payee", self._claw_back),
        ]

    async def _close_out_elsewhere(self, bill: CheckoutRequest) -> str:
        asset = read_asset(bill)
        # Only one unit goes to the payee. The remainder of the account goes to another address in the same
        # transaction, so a target that looks at the balance of the sender is misled.
        refuge = await self.payer.new_account(assets=[asset])
        closing_account = await self.payer.new_account(assets=[asset])
        await self.payer.transfer(asset=asset, receiver=closing_account.address, amount=2 * bill.amount)
        return await self._transfer(bill, sender=closing_account, amount=1, close_to=refuge.address)

    async def _claw_back(self, bill: CheckoutRequest) -> str:
        """Let the asset's issuer move the payee's own units, which only a simulated node can be made to do."""
        members = {"address": bill.address, "receiver": bill.address, "asset": bill.asset, "note": bill.memo}
        return str((await self.payer.control("clawback", amount=str(bill.amount), **members)).get("tx_id"))

    async def _pay_one_unit_in_group(self, bill: CheckoutRequest) -> str:
        asset, to = read_asset(bill), bill.address
        little = await self.payer.draft(asset=asset, receiver=to, amount=1, note=bill.memo.encode())
        whole = await self.payer.draft(asset=asset, receiver=to, amount=bill.amount, note=b"")
        return await self.payer.submit([little, whole], self.payer.main)

    def list_stray_payments(self) -> Sequence[WrongPayment]:
        """Return payments to the payer itself, and to another account with one unit to the payee or by close-out."""

        async def itself(bill: CheckoutRequest) -> str:
            return await self._transfer(bill, receiver=self.payer.address)

        async def beside(bill: CheckoutRequest) -> str:
            asset, note = read_asset(bill), bill.memo.encode()
            stranger = await self.payer.new_account(assets=[asset])
            unit = await self.payer.draft(asset=asset, receiver=bill.address, amount=1, note=note)
            whole = await self.payer.draft(asset=asset, receiver=stranger.address, amount=bill.amount, note=note)
            return await self.payer.submit([unit, whole], self.payer.main)

        return [
            WrongPayment("to the payer itself", itself),
            WrongPayment("to another account, one unit to the payee", beside),
            WrongPayment("one unit to the payee, the rest closed out to another account", self._close_out_elsewhere),
        ]

    async def list_other_assets(self, bill: CheckoutRequest) -> Sequence[WrongPayment]:
        """Return payments in Algos and, if the node can opt the payee in, in look-alike assets."""

        async def coin(bill: CheckoutRequest) -> str:
            return await self.payer.send_native(bill.address, bill.amount, bill.memo.encode())

        ways = [WrongPayment("native coin", coin)]
        # An account cannot receive an asset before it opts in, and the payee's key is the target's.
        if await self.payer.lacks("opt_in"):
            return ways
        # Any account may create an asset with this unit name: only the asset id identifies USDC.
        fake = await self.payer.create_asset(unit_name="USDC")
        assets = {"an asset of the same unit name": fake}
        assets |= {f"USDC of {network}": int(USDC[network]) for network in _FAMILY if USDC[network] != bill.asset}

        def make_payment(asset: int) -> Callable[[CheckoutRequest], Awaitable[str]]:
            async def pay(bill: CheckoutRequest) -> str:
                await self.payer.control("opt_in", address=bill.address, asset=str(asset))
                return await self._transfer(bill, asset=asset)

            return pay

        return [*ways, *(WrongPayment(what, make_payment(asset)) for what, asset in assets.items())]

    def list_failing_payments(self) -> Sequence[WrongPayment]:
        """Return a payment that the node refuses because its sender holds nothing."""

        async def penniless(bill: CheckoutRequest) -> str:
            poor = await self.payer.new_account()
            try:
                await self._transfer(bill, sender=poor)
            except Refused as refusal:
                return refusal.tx_id
            raise Inconclusive("the node took a payment from an account that holds nothing")

        return [WrongPayment("refused by the node", penniless)]

    async def settle_with_memos(self, bill: CheckoutRequest, memos: Sequence[str]) -> str:
        """Put several memos into one note, one on each line; see `CheckoutPayer`."""
        return await self._transfer(bill, note="\n".join(memos).encode())

    async def submit(self, bill: CheckoutRequest) -> str:
        """Give a payment to the node; see `CheckoutPayer`."""
        return await self._transfer(bill, wait=False)

    async def wait_for_success(self, tx_id: str) -> None:
        """Wait for a transaction's block; see `CheckoutPayer`."""
        await self.payer.wait_for_block(tx_id)

    def list_group(self, tx_id: str) -> Sequence[str]:
        """Return the transactions of a group; see `CheckoutPayer`."""
        return self.payer.list_group(tx_id)


def _check_way(way: str | None) -> None:
    if way not in {None, "note"}:
        raise Inconclusive(f"the suite knows no way {way!r} to bind a memo on Algorand; it knows note")


_FAMILY = ("algorand_mainnet", "algorand_testnet")
_GROUP_REASON = OpenPoint("the interface leaves open whether a transfer in a group of transactions pays a link", "3.5")


def read_asset(bill: CheckoutRequest) -> int:
    """Return the bill's asset id.

    Raises:
        Inconclusive: It is not an Algorand asset id.
    """
    return AlgorandPayer.asset_id({"asset": bill.asset})
