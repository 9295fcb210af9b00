"""Checkout payer on Base: the memo is the nonce of an EIP-3009 authorization, or follows the call data (3.5)."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address
from eth_utils.crypto import keccak
from hexbytes import HexBytes

from conformance.lanes.base.authorization import Authorization, Domain, cancellation, nonce_of
from conformance.lanes.base.node import to_checksum
from conformance.lanes.base.payer import BasePayer
from conformance.lanes.base.token import Token, encode_own_call
from conformance.lanes.checkout_request import (
    OTHER_SIGNERS,
    CheckoutRequest,
    WrongPayment,
    list_respelled_payments,
    list_smaller_payments,
)
from conformance.lanes.signed_payment import SignedPayment
from conformance.outcome import Inconclusive

_TRANSFER = bytes(keccak(b"Transfer(address,address,uint256)"))
_LIFETIME = 3600
_ENOUGH_GAS = 300_000
_MOVED_TOPICS = 3


@dataclass(slots=True)
class BaseCheckout:
    """Payer of bills from the paying account of a Base payer, which signs and submits."""

    payer: BasePayer

    async def settle(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill; see `CheckoutPayer`."""
        if way == "calldata":
            return await self._transfer(bill, bill.memo.encode())
        _check_way(way)
        return await self.payer.use(await self._authorize(bill))

    async def sign(self, bill: CheckoutRequest, way: str | None = None) -> SignedPayment:
        """Sign the transaction that pays a bill; see `SignsBills`."""
        token, me = Token(self.payer.node, bill.asset), self.payer.main
        proof: Mapping[str, Any] = {}
        if way == "calldata":
            await self.payer.set_aside(token.address, bill.amount)
            data = token.transfer_call(bill.address, bill.amount) + bill.memo.encode()
        else:
            _check_way(way)
            authorization = await self._authorize(bill)
            proof, data = authorization.proof(), token.use_call(authorization)
        balance = await token.balance(me.address)
        tx_id, raw = await self.payer.node.sign(me, token.address, data)
        return SignedPayment(me.address, token.address, balance, tx_id, raw.hex(), proof)

    async def settle_again(self, bill: CheckoutRequest, way: str | None = None) -> str:
        """Pay a bill again from another account; see `CheckoutPayer`."""
        if way == "calldata":
            return await self.settle(bill, way)
        # The token's contract accepts each nonce only once for an account, and the memo fixes the nonce.
        account = await self.payer.new_account(asset=bill.asset, amount=bill.amount)
        return await self.payer.use((await self._authorize(bill, sender=account.address)).sign(account.key))

    async def settle_together(self, bills: Sequence[CheckoutRequest]) -> str:
        """Pay bills in one transaction of the payer's contract, each by the authorization of its memo."""
        return await self.payer.batch(
            [
                (to_checksum(bill.asset), Token(self.payer.node, bill.asset).use_call(await self._authorize(bill)))
                for bill in bills
            ]
        )

    async def list_other_shapes(self, way: str | None = None) -> Sequence[WrongPayment]:
        """Return payments by an authorization that a relayer or a contract submits; see `CheckoutPayer`."""
        if way not in {None, "eip3009"}:
            return []

        async def by_a_relayer(bill: CheckoutRequest) -> str:
            relayer = await self.payer.new_account(coin=True)
            return await self.payer.use(await self._authorize(bill), sender=relayer)

        async def by_a_contract(bill: CheckoutRequest) -> str:
            return await self.settle_together([bill])

        return [
            WrongPayment(
                "an authorization that a relayer submits", by_a_relayer, beyond=OTHER_SIGNERS, has_other_signer=True
            ),
            WrongPayment(
                "an authorization that a contract uses", by_a_contract, beyond=OTHER_SIGNERS, has_other_signer=True
            ),
        ]

    async def _authorize(self, bill: CheckoutRequest, **changes: Any) -> Authorization:
        """Return the paying account's authorization for a bill, its amount set aside."""
        token, me = Token(self.payer.node, bill.asset), self.payer.main
        authorization = Authorization(
            sender=me.address,
            to=to_checksum(bill.address),
            value=bill.amount,
            valid_after=0,
            valid_before=await self.payer.block_time() + _LIFETIME,
            nonce=nonce_of(bill.memo),
            domain=await self._domain(token),
            token=bill.memo,
        ).with_changes(**changes)
        # Money of other accounts was given when they were made.
        if authorization.sender == me.address:
            await self.payer.set_aside(token.address, authorization.value)
        return authorization.sign(me.key)

    async def _domain(self, token: Token) -> Domain:
        name, version = await token.names()
        return Domain(name, version, self.payer.chain_id, token.address)

    async def _transfer(self, bill: CheckoutRequest, suffix: bytes = b"") -> str:
        """Send a plain transfer whose call data ends in `suffix`."""
        token = Token(self.payer.node, bill.asset)
        await self.payer.set_aside(token.address, bill.amount)
        return await self.payer.send(token.address, token.transfer_call(bill.address, bill.amount) + suffix)

    async def read_credits(self, tx_id: str, asset: str) -> Mapping[str, int]:
        """Return the changes of a transaction by its Transfer logs; see `CheckoutPayer`."""
        changes: dict[str, int] = {}
        for log in (await self.payer.node.wait_for_block(tx_id)).get("logs", ()):
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
                changes[owner] = changes.get(owner, 0) + amount
        return {owner: amount for owner, amount in changes.items() if amount}

    async def read_holding(self, address: str, asset: str) -> int:
        """Return the balance of an address; see `CheckoutPayer`."""
        return await Token(self.payer.node, asset).balance(address)

    def list_unbound_payments(self) -> Sequence[WrongPayment]:
        """Return payments without the memo, with other nonces or texts, or with the memo's nonce used elsewhere."""

        def with_nonce(nonce: Callable[[CheckoutRequest], bytes]) -> Callable[[CheckoutRequest], Awaitable[str]]:
            async def pay(bill: CheckoutRequest) -> str:
                return await self.payer.use(await self._authorize(bill, nonce=nonce(bill)))

            return pay

        return [
            WrongPayment("a plain transfer", self._transfer),
            WrongPayment("an authorization with a nonce of its own", with_nonce(lambda _: os.urandom(32))),
            WrongPayment(
                "the memo itself as the nonce", with_nonce(lambda bill: bill.memo.encode()[:32].ljust(32, b"\0")), True
            ),
            WrongPayment("the memo's nonce cancelled, a plain transfer beside", self._cancel_nonce),
            WrongPayment(
                "the memo's nonce used at a look-alike, a plain transfer right after", self._use_nonce_elsewhere
            ),
            *list_respelled_payments(self),
            *list_respelled_payments(self, "calldata"),
            WrongPayment(
                "the memo after the call data of another contract's call",
                self._pay_behind_another_call,
                needs_pinned_binding=True,
                needs_checkout_claim=True,
            ),
        ]

    async def _pay_behind_another_call(self, bill: CheckoutRequest) -> str:
        """Let the payer's contract transfer the amount, with the memo after the contract's own arguments."""
        token = Token(self.payer.node, bill.asset)
        await self._transfer(bill.with_changes(address=await self.payer.batcher()))
        authorization = token.transfer_call(bill.address, bill.amount)
        return await self.payer.batch([(token.address, authorization)], suffix=bill.memo.encode())

    async def _cancel_nonce(self, bill: CheckoutRequest) -> str:
        """Cancel the memo's nonce and transfer the amount, in one transaction of the payer's contract."""
        token, me, nonce = Token(self.payer.node, bill.asset), self.payer.main, nonce_of(bill.memo)
        domain = await self._domain(token)
        payment = await self._authorize(bill, nonce=os.urandom(32))
        cancel = token.cancel_call(me.address, nonce, cancellation(domain, me.address, nonce, me.key))
        return await self.payer.batch([(token.address, cancel), (token.address, token.use_call(payment))])

    async def _use_nonce_elsewhere(self, bill: CheckoutRequest) -> str:
        """Let a look-alike token log that the memo's nonce was used, and transfer the amount, in one transaction."""
        token = Token(self.payer.node, bill.asset)
        # A target that trusts logs without checking the address of their contract takes this for a payment.
        fake = await self.payer.deploy("CopycatToken", *await token.names())
        contract = await self.payer.batcher()
        await self._transfer(bill.with_changes(address=contract))
        claim = encode_own_call("CopycatToken", "claim", contract, nonce_of(bill.memo))
        return await self.payer.batch([(fake, claim), (token.address, token.transfer_call(bill.address, bill.amount))])

    def list_short_payments(self) -> Sequence[WrongPayment]:
        """Return payments of less, and one unit with the memo together with the amount without it."""
        return [
            *list_smaller_payments(self),
            WrongPayment(
                "one unit with the memo, the amount without it right after",
                lambda bill: self._pay_in_order(bill, (1, 0)),
            ),
            WrongPayment(
                "the amount without the memo, one unit with it right after",
                lambda bill: self._pay_in_order(bill, (0, 1)),
            ),
        ]

    async def _pay_in_order(self, bill: CheckoutRequest, order: tuple[int, int]) -> str:
        token = Token(self.payer.node, bill.asset)
        pair = (await self._authorize(bill, nonce=os.urandom(32)), await self._authorize(bill, value=1))
        return await self.payer.batch([(token.address, token.use_call(pair[place])) for place in order])

    async def _pay_itself(self, bill: CheckoutRequest) -> str:
        token = Token(self.payer.node, bill.asset)
        mine = await self._authorize(bill, to=self.payer.address)
        payment = await self._authorize(bill, nonce=os.urandom(32))
        return await self.payer.batch([(token.address, token.use_call(one)) for one in (mine, payment)])

    def list_stray_payments(self) -> Sequence[WrongPayment]:
        """Return payments to the payer itself, alone and with the amount to the payee without the memo."""

        async def itself(bill: CheckoutRequest) -> str:
            return await self.payer.use(await self._authorize(bill, to=self.payer.address))

        name = "to the payer itself, as much to the payee without the memo"
        return [WrongPayment("to the payer itself", itself), WrongPayment(name, self._pay_itself)]

    async def list_other_assets(self, bill: CheckoutRequest) -> Sequence[WrongPayment]:
        """Return payments in native coin, and in a contract that logs transfers which never happened."""
        name, version = await Token(self.payer.node, bill.asset).names()
        fake = await self.payer.deploy("CopycatToken", name, version)

        async def coin(bill: CheckoutRequest) -> str:
            tx_id = await self.payer.node.send(
                self.payer.main, bill.address, bill.memo.encode(), value=bill.amount, gas=_ENOUGH_GAS
            )
            await self.payer.node.wait_for_success(tx_id)
            return tx_id

        async def copycat(bill: CheckoutRequest) -> str:
            authorization = await self._authorize(bill.with_changes(asset=fake), sender=_STRANGER)
            return await self.payer.use(authorization)

        async def used_beside_fake_log(bill: CheckoutRequest) -> str:
            """Use the memo's nonce for one unit and tell of the amount by the look-alike's log right after it."""
            token = Token(self.payer.node, bill.asset)
            # The event of the nonce and the log of the amount are in one transaction, but from two contracts.
            to_itself = await self._authorize(bill, to=self.payer.address, value=1)
            fake_log = encode_own_call(
                "CopycatToken", "pretend", self.payer.address, to_checksum(bill.address), bill.amount
            )
            return await self.payer.batch([(token.address, token.use_call(to_itself)), (fake, fake_log)])

        return [
            WrongPayment("native coin", coin),
            WrongPayment("a look-alike token", copycat),
            WrongPayment("the memo's authorization with a look-alike's transfer", used_beside_fake_log),
        ]

    def list_failing_payments(self) -> Sequence[WrongPayment]:
        """Return a right payment that fails in its block because its payer holds nothing."""

        async def penniless(bill: CheckoutRequest) -> str:
            poor = await self.payer.new_account()
            authorization = (await self._authorize(bill, sender=poor.address)).sign(poor.key)
            tx_id = await self.payer.use(authorization, gas=_ENOUGH_GAS, wait=False)
            # The gas limit is given, since an estimate would refuse a transaction that reverts.
            if (await self.payer.node.wait_for_block(tx_id)).get("status") != 0:
                raise Inconclusive("the chain took the payment of an account that holds nothing")
            return tx_id

        return [WrongPayment("failed in its block", penniless)]

    async def settle_with_memos(self, bill: CheckoutRequest, memos: Sequence[str]) -> str:
        """Raise, since an authorization has one nonce and moves its own amount."""
        del bill, memos
        raise Inconclusive("one transfer on Base carries one memo")

    async def submit(self, bill: CheckoutRequest) -> str:
        """Give a payment to the node, from a separate account; see `CheckoutPayer`."""
        sender = await self.payer.new_account(coin=True)
        return await self.payer.use(await self._authorize(bill), sender=sender, wait=False)

    async def wait_for_success(self, tx_id: str) -> None:
        """Wait for a transaction's block; see `CheckoutPayer`."""
        await self.payer.node.wait_for_success(tx_id)

    def list_group(self, tx_id: str) -> Sequence[str]:
        """Return the transaction alone; see `CheckoutPayer`."""
        return (tx_id,)


def _check_way(way: str | None) -> None:
    if way not in {None, "eip3009"}:
        raise Inconclusive(f"the suite knows no way {way!r} to bind a memo on Base; it knows eip3009 and calldata")


_STRANGER = "0x00000000000000000000000000000000DeaDBeef"
