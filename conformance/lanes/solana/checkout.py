"""Checkout payer on Solana: a memo instruction with the transfer to the derived token account (3.5)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams
from solders.system_program import transfer as transfer_coin

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
from conformance.lanes.solana.instructions import (
    Order,
    TokenTransfer,
    approve,
    associated_account,
    hand_over,
    memo,
    pubkey,
)
from conformance.lanes.solana.node import CONFIRMED
from conformance.lanes.solana.payer import Refused, SolanaPayer
from conformance.lanes.solana.relay_program import call_through
from conformance.lanes.solana.wallet_shapes import Shape, list_shapes, send_in_shape
from conformance.outcome import Inconclusive

_FAMILY = ("solana_mainnet", "solana_devnet")


@dataclass(slots=True)
class SolanaCheckout:
    """Payer of bills from the paying account of a Solana payer."""

    payer: SolanaPayer

    async def settle(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill; see `CheckoutPayer`."""
        _check_way(way)
        return await self._pay(bill)

    async def sign(self, bill: CheckoutRequest, way: str | None = None) -> SignedPayment:
        """Sign the transfer of a bill; see `SignsBills`."""
        _check_way(way)
        token_transfer = await self._transfer(bill)
        return await self.payer.signed_payment(
            [*self._memos(bill.memo.encode()), token_transfer.instruction()], pubkey(bill.asset, "asset"), {}
        )

    async def settle_again(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill once more, in another block; see `CheckoutPayer`."""
        return await self.settle(bill, way)

    async def list_other_shapes(self, way: str | None = None) -> Sequence[WrongPayment]:
        """Return payments in the transaction shapes of wallets, and with other signers; see `CheckoutPayer`."""
        del way
        shapes, guarded_shapes = await list_shapes(self.payer)

        async def unsendable(bill: CheckoutRequest) -> str:
            del bill
            raise Inconclusive("this node has no guard program (Lighthouse)")

        return [
            *(
                WrongPayment(one.name, partial(self._in_shape, one.with_memo()))
                for one in shapes
                if one.differs_for_links
            ),
            *(WrongPayment(one.name, unsendable) for one in guarded_shapes if one.differs_for_links),
            *(
                WrongPayment(name, pay, beyond=OTHER_SIGNERS, has_other_signer=True)
                for name, pay in (
                    ("another account pays the fee", self._pay_with_other_fee_payer),
                    ("a delegate moves the owner's tokens", self._pay_by_delegate),
                )
            ),
        ]

    async def _pay_with_other_fee_payer(self, bill: CheckoutRequest) -> str:
        return await self._pay(bill, sender=await self.payer.new_account(), signers=[self.payer.main])

    async def _pay_by_delegate(self, bill: CheckoutRequest) -> str:
        """Let the paying account move the tokens of another account, whose owner approved the amount."""
        mint, owner = pubkey(bill.asset, "asset"), await self.payer.new_account()
        await self.payer.hold(mint, bill.amount, owner)
        source = associated_account(owner.key, mint)
        await self._send([approve(source, owner.key, self.payer.main.key, bill.amount)], signers=[owner])
        return await self._pay(bill, changes={"source": source})

    async def _in_shape(self, shape: Shape, bill: CheckoutRequest) -> str:
        token_transfer = await self._transfer(bill)
        payee, text = pubkey(bill.address, "address"), bill.memo.encode()
        tx_id = await send_in_shape(self.payer, shape, token_transfer, payee, text, wait=CONFIRMED)
        if not await self.payer.node.lists(token_transfer.destination, tx_id):
            raise Inconclusive("this node lists no transaction under the accounts that it loads from lookup tables")
        return tx_id

    async def _pay(
        self, bill: CheckoutRequest, *memos: bytes, changes: Mapping[str, Any] | None = None, **how: Any
    ) -> str:
        """Send a transfer with memos beside it, the bill's own when none is given; an empty one stands for none."""
        token_transfer = await self._transfer(bill, **(changes or {}))
        texts = [text for text in memos or (bill.memo.encode(),) if text]
        return await self._send([*self._memos(*texts), token_transfer.instruction()], **how)

    def _memos(self, *texts: bytes) -> list[Instruction]:
        return [memo(self.payer.main.key, text) for text in texts]

    async def _send(self, instructions: Sequence[Instruction], **how: Any) -> str:
        return await self.payer.send(instructions, **{"wait": CONFIRMED, **how})

    async def _transfer(self, bill: CheckoutRequest, **changes: Any) -> TokenTransfer:
        mint, payee = pubkey(bill.asset, "asset"), pubkey(bill.address, "address")
        references = () if bill.reference is None else (pubkey(bill.reference, "reference"),)
        order = Order(mint, payee, bill.amount, references[0] if references else payee, bill.memo)
        return await self.payer.transfer(order, **{"references": references, **changes})

    async def read_credits(self, tx_id: str, asset: str) -> Mapping[str, int]:
        """Return what a transaction's token balances changed, by owner; see `CheckoutPayer`."""
        return await self.payer.node.read_changes(tx_id, pubkey(asset, "asset"))

    async def read_holding(self, address: str, asset: str) -> int:
        """Return what an address's associated account holds; see `CheckoutPayer`."""
        return await self.payer.balance(pubkey(address, "address"), pubkey(asset, "asset"))

    def list_unbound_payments(self) -> Sequence[WrongPayment]:
        """Return payments without a memo, with another, and with the memo where no wallet puts it."""
        return [
            WrongPayment("no memo", lambda bill: self._pay(bill, b"")),
            *list_respelled_payments(self),
            WrongPayment(
                "the memo in an instruction of another program", self._pay_through_relay, needs_pinned_binding=True
            ),
        ]

    async def _pay_through_relay(self, bill: CheckoutRequest) -> str:
        """Let the payer's program call the memo program, so that no top-level instruction is a memo."""
        token_transfer, relay = await self._transfer(bill), await self.payer.relay()
        return await self._send([call_through(relay, self._memos(bill.memo.encode())[0]), token_transfer.instruction()])

    def list_short_payments(self) -> Sequence[WrongPayment]:
        """Return payments of less, and a payment that the payee does not keep."""
        return [
            *list_smaller_payments(self),
            pay_in_two(self),
            WrongPayment("to an account that is emptied and handed to the payee", self._hand_over),
        ]

    async def _hand_over(self, bill: CheckoutRequest) -> str:
        me, mint = self.payer.main.key, pubkey(bill.asset, "asset")
        own = await self.payer.token_account(mint, me)
        token_transfer = await self._transfer(bill, destination=own)
        # The transfer is reversed in the same transaction and the empty account handed over: a target that sums up
        # transfers to the payee's accounts, and not the changes of balances, takes this for a payment.
        back = token_transfer.with_changes(source=own, destination=token_transfer.source, references=())
        ownership_change = hand_over(own, me, pubkey(bill.address, "address"))
        memos = self._memos(bill.memo.encode())
        return await self._send([*memos, token_transfer.instruction(), back.instruction(), ownership_change])

    def list_stray_payments(self) -> Sequence[WrongPayment]:
        """Return payments to a token account of the payer, alone and with one unit to the payee."""

        async def itself(bill: CheckoutRequest, *, unit: bool) -> str:
            own = await self.payer.token_account(pubkey(bill.asset, "asset"), self.payer.main.key)
            token_transfer = await self._transfer(bill, destination=own)
            little = [(await self._transfer(bill, amount=1)).instruction()] if unit else []
            return await self._send([*self._memos(bill.memo.encode()), token_transfer.instruction(), *little])

        return [
            WrongPayment("to the payer itself", lambda bill: itself(bill, unit=False)),
            WrongPayment("to the payer itself, one unit to the payee", lambda bill: itself(bill, unit=True)),
        ]

    async def list_other_assets(self, bill: CheckoutRequest) -> Sequence[WrongPayment]:
        """Return payments in native coin, in a mint of the payer and, on a simulated node, in other USDC."""
        fake = await self.payer.create_mint()
        ways = [
            WrongPayment("native coin", self._coin),
            WrongPayment("a look-alike token", lambda bill: self._other_mint(bill, fake)),
            WrongPayment("a look-alike token, no mint named", lambda bill: self._other_mint(bill, fake, decimals=None)),
        ]
        other_networks = [network for network in _FAMILY if USDC[network] != bill.asset and self.payer.has_control]

        def dollar(network: str) -> WrongPayment:
            return WrongPayment(
                f"USDC of {network}", lambda bill: self._other_mint(bill, pubkey(USDC[network], "asset"))
            )

        return [*ways, *map(dollar, other_networks)]

    async def _other_mint(self, bill: CheckoutRequest, mint: Pubkey, **changes: Any) -> str:
        token_transfer = await self._transfer(bill, mint=mint, **changes)
        return await self._send([*self._memos(bill.memo.encode()), token_transfer.instruction()])

    async def _coin(self, bill: CheckoutRequest) -> str:
        payee = pubkey(bill.address, "address")
        # Fewer lamports than the rent would make the transfer to a new account fail.
        amount = max(bill.amount, await self.payer.node.rent(0))
        params = TransferParams(from_pubkey=self.payer.main.key, to_pubkey=payee, lamports=amount)
        return await self._send([*self._memos(bill.memo.encode()), transfer_coin(params)])

    def list_failing_payments(self) -> Sequence[WrongPayment]:
        """Return right payments that fail on the chain: undone by a later instruction, or from an empty account."""

        async def undone(bill: CheckoutRequest) -> str:
            token_transfer = await self._transfer(bill)
            # The second transfer cannot succeed, so the chain rolls the first one back and records the transaction
            # with an error.
            too_much = token_transfer.with_changes(amount=2**63, references=()).instruction()
            memos = self._memos(bill.memo.encode())
            attempt = self._send([*memos, token_transfer.instruction(), too_much], skip_preflight=True)
            return await _await_failure(attempt)

        async def penniless(bill: CheckoutRequest) -> str:
            poor = await self.payer.new_account()
            source = await self.payer.ensure_associated_account(poor.key, pubkey(bill.asset, "asset"))
            token_transfer = await self._transfer(bill, source=source, owner=poor.key)
            memos = memo(poor.key, bill.memo.encode())
            return await _await_failure(
                self._send([memos, token_transfer.instruction()], sender=poor, skip_preflight=True)
            )

        return [
            WrongPayment("undone by a later instruction", undone),
            WrongPayment("from an account that holds nothing", penniless),
        ]

    async def settle_with_memos(self, bill: CheckoutRequest, memos: Sequence[str]) -> str:
        """Put several memo instructions before one transfer; see `CheckoutPayer`."""
        return await self._pay(bill, *(text.encode() for text in memos))

    async def submit(self, bill: CheckoutRequest) -> str:
        """Give a payment to the node; see `CheckoutPayer`."""
        return await self._pay(bill, wait=None)

    async def wait_for_success(self, tx_id: str) -> None:
        """Wait until a transaction is confirmed; see `CheckoutPayer`."""
        await self.payer.node.wait_for_success(tx_id, CONFIRMED)

    def list_group(self, tx_id: str) -> Sequence[str]:
        """Return the transaction alone; see `CheckoutPayer`."""
        return (tx_id,)


def _check_way(way: str | None) -> None:
    if way not in {None, "memo"}:
        raise Inconclusive(f"the suite knows no way {way!r} to bind a memo on Solana; it knows memo")


async def _await_failure(attempt: Awaitable[str]) -> str:
    try:
        await attempt
    except Refused as refusal:
        return refusal.tx_id
    raise Inconclusive("the chain took a payment that cannot succeed")
