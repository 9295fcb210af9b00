"""Paying checkout links on Base: the memo is in an EIP-3009 nonce, or after a transfer's call data (3.5)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from hexbytes import HexBytes

from conformance.lanes.base.authorization import Authorization, Domain, cancellation, nonce_of
from conformance.lanes.base.node import checksummed
from conformance.lanes.base.payer import BasePayer
from conformance.lanes.base.token import Token, own_call
from conformance.lanes.checkout_request import Bill, Way, respelled, smaller
from conformance.lanes.signed_payment import SignedPayment
from conformance.outcome import Inconclusive

_TRANSFER = bytes(keccak(b"Transfer(address,address,uint256)"))
_LIFETIME = 3600
_ENOUGH_GAS = 300_000
_MOVED_TOPICS = 3


@dataclass(slots=True)
class BaseCheckout:
    """Pays bills from the paying account of a Base payer, which signs and submits by itself."""

    payer: BasePayer

    async def settle(self, bill: Bill, way: str | None = None) -> str:
        """Pay a bill; see `CheckoutPayer`."""
        if way == "calldata":
            return await self._transfer(bill, bill.memo.encode())
        _know(way)
        return await self.payer.use(await self._authorized(bill))

    async def sign(self, bill: Bill, way: str | None = None) -> SignedPayment:
        """Sign the transaction that pays a bill; see `SignsBills`."""
        token, me = Token(self.payer.node, bill.asset), self.payer.main
        proof: Mapping[str, Any] = {}
        if way == "calldata":
            await self.payer.set_aside(token.address, bill.amount)
            data = token.transfer_call(bill.address, bill.amount) + bill.memo.encode()
        else:
            _know(way)
            given = await self._authorized(bill)
            proof, data = given.proof(), token.use_call(given)
        held = await token.balance(me.address)
        tx_id, raw = await self.payer.node.signed(me, token.address, data)
        return SignedPayment(me.address, token.address, held, tx_id, raw.hex(), proof)

    async def settle_again(self, bill: Bill, way: str | None = None) -> str:
        """Pay a bill once more, from another account, since one uses a nonce once; see `CheckoutPayer`."""
        if way == "calldata":
            return await self.settle(bill, way)
        other = await self.payer.new_account(asset=bill.asset, amount=bill.amount)
        return await self.payer.use((await self._authorized(bill, sender=other.address)).signed(other.key))

    async def settle_together(self, bills: Sequence[Bill]) -> str:
        """Pay bills in one transaction of the payer's contract, each by the authorization of its memo."""
        return await self.payer.batch(
            [
                (checksummed(one.asset), Token(self.payer.node, one.asset).use_call(await self._authorized(one)))
                for one in bills
            ]
        )

    async def shaped(self, way: str | None = None) -> Sequence[Way]:
        """Return the payer's authorization used by a relayer, and by a contract; see `CheckoutPayer`."""
        if way not in {None, "eip3009"}:
            return []

        async def by_a_relayer(bill: Bill) -> str:
            relayer = await self.payer.new_account(coin=True)
            return await self.payer.use(await self._authorized(bill), sender=relayer)

        async def by_a_contract(bill: Bill) -> str:
            return await self.settle_together([bill])

        return [
            Way("an authorization that a relayer submits", by_a_relayer, beyond=_SUBMITTERS),
            Way("an authorization that a contract uses", by_a_contract, beyond=_SUBMITTERS),
        ]

    async def _authorized(self, bill: Bill, **changes: Any) -> Authorization:
        """Return the paying account's authorization for a bill, its amount set aside."""
        token, me = Token(self.payer.node, bill.asset), self.payer.main
        asked = Authorization(
            sender=me.address,
            to=checksummed(bill.address),
            value=bill.amount,
            valid_after=0,
            valid_before=await self.payer.block_time() + _LIFETIME,
            nonce=nonce_of(bill.memo),
            domain=await self._domain(token),
            token=bill.memo,
        ).changed(**changes)
        if asked.sender == me.address:
            await self.payer.set_aside(token.address, asked.value)
        return asked.signed(me.key)

    async def _domain(self, token: Token) -> Domain:
        name, version = await token.names()
        return Domain(name, version, self.payer.chain_id, token.address)

    async def _transfer(self, bill: Bill, suffix: bytes = b"") -> str:
        """Send a plain transfer whose call data ends in `suffix`."""
        token = Token(self.payer.node, bill.asset)
        await self.payer.set_aside(token.address, bill.amount)
        return await self.payer.send(token.address, token.transfer_call(bill.address, bill.amount) + suffix)

    async def credits(self, tx_id: str, asset: str) -> Mapping[str, int]:
        """Return what a transaction's Transfer logs changed; see `CheckoutPayer`."""
        changed: dict[str, int] = {}
        for log in (await self.payer.node.mined(tx_id)).get("logs", ()):
            topics = [bytes(HexBytes(topic)) for topic in log["topics"]]
            if (
                str(log["address"]).lower() != asset.lower()
                or topics[:1] != [_TRANSFER]
                or len(topics) != _MOVED_TOPICS
            ):
                continue
            value = int.from_bytes(bytes(HexBytes(log["data"])), "big")
            for topic, amount in ((topics[1], -value), (topics[2], value)):
                owner = to_checksum_address(topic[-20:])
                changed[owner] = changed.get(owner, 0) + amount
        return {owner: amount for owner, amount in changed.items() if amount}

    async def holding(self, address: str, asset: str) -> int:
        """Return what an address holds; see `CheckoutPayer`."""
        return await Token(self.payer.node, asset).balance(address)

    def unbound(self) -> Sequence[Way]:
        """Return payments without the memo, with other nonces, and with the memo's cancelled or used elsewhere.

        Also, as far as specification 3.5 forbids them, with other texts than the memo after the call data, and with the
        memo behind the call of another contract.
        """

        def with_nonce(nonce: Callable[[Bill], bytes]) -> Callable[[Bill], Awaitable[str]]:
            async def pay(bill: Bill) -> str:
                return await self.payer.use(await self._authorized(bill, nonce=nonce(bill)))

            return pay

        return [
            Way("a plain transfer", self._transfer),
            Way("an authorization with a nonce of its own", with_nonce(lambda _: os.urandom(32))),
            Way(
                "the memo itself as the nonce", with_nonce(lambda bill: bill.memo.encode()[:32].ljust(32, b"\0")), True
            ),
            Way("the memo's nonce cancelled, a plain transfer beside", self._cancelled),
            Way("the memo's nonce used at a look-alike, a plain transfer right after", self._used_elsewhere),
            *respelled(self),
            *respelled(self, "calldata"),
            Way(
                "the memo after the call data of another contract's call",
                self._behind_another_call,
                pinned=True,
                claimed=True,
            ),
        ]

    async def _behind_another_call(self, bill: Bill) -> str:
        """Have the payer's contract transfer the amount, called with the memo after its own arguments."""
        token = Token(self.payer.node, bill.asset)
        await self._transfer(bill.changed(address=await self.payer.batcher()))
        given = token.transfer_call(bill.address, bill.amount)
        return await self.payer.batch([(token.address, given)], suffix=bill.memo.encode())

    async def _cancelled(self, bill: Bill) -> str:
        """Cancel the memo's nonce and transfer the amount, in one transaction of the payer's contract."""
        token, me, nonce = Token(self.payer.node, bill.asset), self.payer.main, nonce_of(bill.memo)
        domain = await self._domain(token)
        beside = await self._authorized(bill, nonce=os.urandom(32))
        cancel = token.cancel_call(me.address, nonce, cancellation(domain, me.address, nonce, me.key))
        return await self.payer.batch([(token.address, cancel), (token.address, token.use_call(beside))])

    async def _used_elsewhere(self, bill: Bill) -> str:
        """Let a look-alike tell that the memo's nonce was used, and transfer the amount, by the payer's contract."""
        token = Token(self.payer.node, bill.asset)
        fake = await self.payer.deploy("CopycatToken", *await token.names())
        contract = await self.payer.batcher()
        await self._transfer(bill.changed(address=contract))
        claim = own_call("CopycatToken", "claim", contract, nonce_of(bill.memo))
        return await self.payer.batch([(fake, claim), (token.address, token.transfer_call(bill.address, bill.amount))])

    def short(self) -> Sequence[Way]:
        """Return payments of less, and the memo's authorization beside another transfer of the whole amount."""
        return [
            *smaller(self),
            Way("one unit with the memo, the amount without it right after", lambda bill: self._beside(bill, (1, 0))),
            Way("the amount without the memo, one unit with it right after", lambda bill: self._beside(bill, (0, 1))),
        ]

    async def _beside(self, bill: Bill, order: tuple[int, int]) -> str:
        token = Token(self.payer.node, bill.asset)
        pair = (await self._authorized(bill, nonce=os.urandom(32)), await self._authorized(bill, value=1))
        return await self.payer.batch([(token.address, token.use_call(pair[place])) for place in order])

    async def _to_itself(self, bill: Bill) -> str:
        token = Token(self.payer.node, bill.asset)
        mine = await self._authorized(bill, to=self.payer.address)
        other = await self._authorized(bill, nonce=os.urandom(32))
        return await self.payer.batch([(token.address, token.use_call(one)) for one in (mine, other)])

    def strayed(self) -> Sequence[Way]:
        """Return payments to the payer itself, alone and with as much to the payee without the memo."""

        async def itself(bill: Bill) -> str:
            return await self.payer.use(await self._authorized(bill, to=self.payer.address))

        what = "to the payer itself, as much to the payee without the memo"
        return [Way("to the payer itself", itself), Way(what, self._to_itself)]

    async def elsewhere(self, bill: Bill) -> Sequence[Way]:
        """Return payments in native coin and in a contract that tells of transfers nobody made."""
        name, version = await Token(self.payer.node, bill.asset).names()
        fake = await self.payer.deploy("CopycatToken", name, version)

        async def coin(bill: Bill) -> str:
            tx_id = await self.payer.node.send(
                self.payer.main, bill.address, bill.memo.encode(), value=bill.amount, gas=_ENOUGH_GAS
            )
            await self.payer.node.succeeded(tx_id)
            return tx_id

        async def copycat(bill: Bill) -> str:
            given = await self._authorized(bill.changed(asset=fake), sender=_STRANGER)
            return await self.payer.use(given)

        async def used_beside_fake_log(bill: Bill) -> str:
            """Use the memo's nonce for one unit and tell of the amount by the look-alike's log right after it."""
            token = Token(self.payer.node, bill.asset)
            to_itself = await self._authorized(bill, to=self.payer.address, value=1)
            pretended = own_call("CopycatToken", "pretend", self.payer.address, checksummed(bill.address), bill.amount)
            return await self.payer.batch([(token.address, token.use_call(to_itself)), (fake, pretended)])

        return [
            Way("native coin", coin),
            Way("a look-alike token", copycat),
            Way("the memo's authorization with a look-alike's transfer", used_beside_fake_log),
        ]

    def failing(self) -> Sequence[Way]:
        """Return a right payment that fails in its block, because its payer holds nothing."""

        async def penniless(bill: Bill) -> str:
            poor = await self.payer.new_account()
            given = (await self._authorized(bill, sender=poor.address)).signed(poor.key)
            tx_id = await self.payer.use(given, gas=_ENOUGH_GAS, wait=False)
            if (await self.payer.node.mined(tx_id)).get("status") != 0:
                raise Inconclusive("the chain took the payment of an account that holds nothing")
            return tx_id

        return [Way("failed in its block", penniless)]

    async def with_memos(self, bill: Bill, memos: Sequence[str]) -> str:
        """Say that there is no such thing: an authorization has one nonce, and moves its own amount."""
        del bill, memos
        raise Inconclusive("one transfer on Base carries one memo")

    async def submitted(self, bill: Bill) -> str:
        """Hand a payment to the node, from an account that nobody else waits for; see `CheckoutPayer`."""
        sender = await self.payer.new_account(coin=True)
        return await self.payer.use(await self._authorized(bill), sender=sender, wait=False)

    async def landed(self, tx_id: str) -> None:
        """Wait for a transaction's block; see `CheckoutPayer`."""
        await self.payer.node.succeeded(tx_id)

    def together(self, tx_id: str) -> Sequence[str]:
        """Return the transaction alone; see `CheckoutPayer`."""
        return (tx_id,)


def _know(way: str | None) -> None:
    if way not in {None, "eip3009"}:
        raise Inconclusive(f"the suite knows no way {way!r} to bind a memo on Base; it knows eip3009 and calldata")


_STRANGER = "0x00000000000000000000000000000000DeaDBeef"
_SUBMITTERS = "the interface leaves open who may submit a payer's authorization for a link"
