"""Paying checkout links on Solana: a memo beside the transfer, to the derived token account (3.5)."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from solders.instruction import Instruction
from solders.pubkey import Pubkey
from solders.system_program import TransferParams
from solders.system_program import transfer as transfer_coin

from conformance.lanes.checkout_request import USDC, Bill, Way, in_two, respelled, smaller
from conformance.lanes.signed_payment import SignedPayment
from conformance.lanes.solana.instructions import (
    Order,
    TokenTransfer,
    hand_over,
    memo,
    pubkey,
)
from conformance.lanes.solana.node import CONFIRMED
from conformance.lanes.solana.payer import Refused, SolanaPayer
from conformance.lanes.solana.relay import through
from conformance.lanes.solana.wallet_shapes import Shape, send_in_shape, shapes_of
from conformance.outcome import Inconclusive

_FAMILY = ("solana_mainnet", "solana_devnet")


@dataclass(slots=True)
class SolanaCheckout:
    """Pays bills from the paying account of a Solana payer."""

    payer: SolanaPayer

    async def settle(self, bill: Bill, way: str | None = None) -> str:
        """Pay a bill; see `CheckoutPayer`."""
        _know(way)
        return await self._pay(bill)

    async def sign(self, bill: Bill, way: str | None = None) -> SignedPayment:
        """Sign the transfer of a bill; see `SignsBills`."""
        _know(way)
        made = await self._transfer(bill)
        return await self.payer.signed_payment(
            [*self._memos(bill.memo.encode()), made.instruction()], pubkey(bill.asset, "asset"), {}
        )

    async def settle_again(self, bill: Bill, way: str | None = None) -> str:
        """Pay a bill once more, in another block; see `CheckoutPayer`."""
        return await self.settle(bill, way)

    async def shaped(self, way: str | None = None) -> Sequence[Way]:
        """Return payments in the shapes of wallets' transactions; see `CheckoutPayer`."""
        del way
        shapes, unguarded = await shapes_of(self.payer)

        async def unsendable(bill: Bill) -> str:
            del bill
            raise Inconclusive("this node has no guard program (Lighthouse)")

        return [
            *(Way(one.what, partial(self._in_shape, one.with_memo())) for one in shapes if one.differs_for_links),
            *(Way(one.what, unsendable) for one in unguarded if one.differs_for_links),
        ]

    async def _in_shape(self, shape: Shape, bill: Bill) -> str:
        made = await self._transfer(bill)
        payee, text = pubkey(bill.address, "address"), bill.memo.encode()
        tx_id = await send_in_shape(self.payer, shape, made, payee, text, wait=CONFIRMED)
        if not await self.payer.node.lists(made.destination, tx_id):
            raise Inconclusive("this node lists no transaction under the accounts that it loads from lookup tables")
        return tx_id

    async def _pay(self, bill: Bill, *memos: bytes, changes: Mapping[str, Any] | None = None, **how: Any) -> str:
        """Send a transfer with memos beside it, the bill's own when none is given; an empty one stands for none."""
        made = await self._transfer(bill, **(changes or {}))
        texts = [text for text in memos or (bill.memo.encode(),) if text]
        return await self._send([*self._memos(*texts), made.instruction()], **how)

    def _memos(self, *texts: bytes) -> list[Instruction]:
        return [memo(self.payer.main.key, text) for text in texts]

    async def _send(self, instructions: Sequence[Instruction], **how: Any) -> str:
        return await self.payer.send(instructions, **{"wait": CONFIRMED, **how})

    async def _transfer(self, bill: Bill, **changes: Any) -> TokenTransfer:
        mint, payee = pubkey(bill.asset, "asset"), pubkey(bill.address, "address")
        references = () if bill.reference is None else (pubkey(bill.reference, "reference"),)
        order = Order(mint, payee, bill.amount, references[0] if references else payee, bill.memo)
        return await self.payer.transfer(order, **{"references": references, **changes})

    async def credits(self, tx_id: str, asset: str) -> Mapping[str, int]:
        """Return what a transaction's token balances changed, by owner; see `CheckoutPayer`."""
        return await self.payer.node.changed(tx_id, pubkey(asset, "asset"))

    async def holding(self, address: str, asset: str) -> int:
        """Return what an address's associated account holds; see `CheckoutPayer`."""
        return await self.payer.balance(pubkey(address, "address"), pubkey(asset, "asset"))

    def unbound(self) -> Sequence[Way]:
        """Return payments without a memo, with another, and with the memo where no wallet puts it."""
        return [
            Way("no memo", lambda bill: self._pay(bill, b"")),
            *respelled(self),
            Way("the memo in an instruction of another program", self._inner, pinned=True),
        ]

    async def _inner(self, bill: Bill) -> str:
        """Have the payer's own program call the memo program, so that no top-level instruction is a memo."""
        made, relay = await self._transfer(bill), await self.payer.relay()
        return await self._send([through(relay, self._memos(bill.memo.encode())[0]), made.instruction()])

    def short(self) -> Sequence[Way]:
        """Return payments of less, and of what the payee does not keep."""
        return [
            *smaller(self),
            in_two(self),
            Way("to an account that is emptied and handed to the payee", self._handed_over),
        ]

    async def _handed_over(self, bill: Bill) -> str:
        me, mint = self.payer.main.key, pubkey(bill.asset, "asset")
        own = await self.payer.token_account(mint, me)
        made = await self._transfer(bill, destination=own)
        back = made.changed(source=own, destination=made.source, references=())
        handed = hand_over(own, me, pubkey(bill.address, "address"))
        noted = self._memos(bill.memo.encode())
        return await self._send([*noted, made.instruction(), back.instruction(), handed])

    def strayed(self) -> Sequence[Way]:
        """Return payments to a token account of the payer's own, alone and with one unit to the payee."""

        async def itself(bill: Bill, *, unit: bool) -> str:
            own = await self.payer.token_account(pubkey(bill.asset, "asset"), self.payer.main.key)
            made = await self._transfer(bill, destination=own)
            little = [(await self._transfer(bill, amount=1)).instruction()] if unit else []
            return await self._send([*self._memos(bill.memo.encode()), made.instruction(), *little])

        return [
            Way("to the payer itself", lambda bill: itself(bill, unit=False)),
            Way("to the payer itself, one unit to the payee", lambda bill: itself(bill, unit=True)),
        ]

    async def elsewhere(self, bill: Bill) -> Sequence[Way]:
        """Return payments in native coin, in a mint of the payer's own and, on a simulated node, in other dollars."""
        fake = await self.payer.create_mint()
        ways = [
            Way("native coin", self._coin),
            Way("a look-alike token", lambda bill: self._other_mint(bill, fake)),
            Way("a look-alike token, no mint named", lambda bill: self._other_mint(bill, fake, decimals=None)),
        ]
        others = [network for network in _FAMILY if USDC[network] != bill.asset and self.payer.has_control]

        def dollar(network: str) -> Way:
            return Way(f"USDC of {network}", lambda bill: self._other_mint(bill, pubkey(USDC[network], "asset")))

        return [*ways, *map(dollar, others)]

    async def _other_mint(self, bill: Bill, mint: Pubkey, **changes: Any) -> str:
        made = await self._transfer(bill, mint=mint, **changes)
        return await self._send([*self._memos(bill.memo.encode()), made.instruction()])

    async def _coin(self, bill: Bill) -> str:
        payee = pubkey(bill.address, "address")
        amount = max(bill.amount, await self.payer.node.rent(0))
        params = TransferParams(from_pubkey=self.payer.main.key, to_pubkey=payee, lamports=amount)
        return await self._send([*self._memos(bill.memo.encode()), transfer_coin(params)])

    def failing(self) -> Sequence[Way]:
        """Return a right payment that a later instruction undoes, recorded by the chain with its error."""

        async def undone(bill: Bill) -> str:
            made = await self._transfer(bill)
            too_much = made.changed(amount=2**63, references=()).instruction()
            noted = self._memos(bill.memo.encode())
            sending = self._send([*noted, made.instruction(), too_much], skip_preflight=True)
            return await _fails(sending)

        async def penniless(bill: Bill) -> str:
            poor = await self.payer.new_account()
            source = await self.payer.associated(poor.key, pubkey(bill.asset, "asset"))
            made = await self._transfer(bill, source=source, owner=poor.key)
            noted = memo(poor.key, bill.memo.encode())
            return await _fails(self._send([noted, made.instruction()], sender=poor, skip_preflight=True))

        return [Way("undone by a later instruction", undone), Way("from an account that holds nothing", penniless)]

    async def with_memos(self, bill: Bill, memos: Sequence[str]) -> str:
        """Put several memo instructions beside one transfer; see `CheckoutPayer`."""
        return await self._pay(bill, *(text.encode() for text in memos))

    async def submitted(self, bill: Bill) -> str:
        """Hand a payment to the node; see `CheckoutPayer`."""
        return await self._pay(bill, wait=None)

    async def landed(self, tx_id: str) -> None:
        """Wait until a transaction is confirmed; see `CheckoutPayer`."""
        await self.payer.node.succeeded(tx_id, CONFIRMED)

    def together(self, tx_id: str) -> Sequence[str]:
        """Return the transaction alone; see `CheckoutPayer`."""
        return (tx_id,)


def _know(way: str | None) -> None:
    if way not in {None, "memo"}:
        raise Inconclusive(f"the suite knows no way {way!r} to bind a memo on Solana; it knows memo")


async def _fails(sending: Awaitable[str]) -> str:
    try:
        await sending
    except Refused as refusal:
        return refusal.tx_id
    raise Inconclusive("the chain took a payment that cannot succeed")
