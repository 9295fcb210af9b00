"""The chain side of a payer under test on Algorand."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from typing import Any

from conformance.lanes.algorand.node import Account
from conformance.lanes.algorand.payer import AlgorandPayer
from conformance.lanes.tested_payer_accounts import HostedAccount
from conformance.oracles.welds.algorand.transaction import SignedTransaction
from conformance.oracles.welds.algorand.weld import judge_payment
from conformance.oracles.welds.refusal_stages import FINALITY, PaymentRefusal


class AlgorandPayerHost:
    """See `PayerHost`; the account file contains the base64 of the 32-byte seed and the 32-byte public key."""

    def __init__(self, payer: AlgorandPayer) -> None:
        self._payer = payer
        self._accounts: dict[str, Account] = {}

    @property
    def caip2(self) -> str:
        """CAIP-2 name of the network that the node reports."""
        return self._payer.caip2

    async def open_account(self, asset: str) -> HostedAccount:
        """See `PayerHost`."""
        account = await self._payer.new_account()
        await self._payer.hold(int(asset), owner=account)
        self._accounts[account.address] = account
        raw = base64.b64decode(account.key)
        return HostedAccount(account.address, account.key, (raw[:32].hex(), raw.hex()))

    async def open_payee(self, asset: str) -> str:
        """See `PayerHost`."""
        account = await self._payer.new_account(assets=[int(asset)])
        self._accounts[account.address] = account
        return account.address

    def misspell_address(self, address: str) -> str:
        """See `PayerHost`; the checksum is wrong."""
        return ("B" if address[0] == "A" else "A") + address[1:]

    async def make_lookalike(self, account: HostedAccount, payee: str) -> str:
        """See `PayerHost`."""
        asset, amount = await self._payer.create_asset(), 10**9
        holders = [self._accounts[account.address], self._accounts[payee]]
        opt_ins = (
            self._payer.transfer(asset=asset, receiver=one.address, amount=0, sender=one, wait=True) for one in holders
        )
        await asyncio.gather(*opt_ins)
        await self._payer.transfer(asset=asset, receiver=account.address, amount=amount)
        return str(asset)

    async def read_units(self, address: str, asset: str) -> int:
        """See `PayerHost`."""
        return await self._payer.balance(address, int(asset))

    async def describe_binding(self, asset: str, token: str) -> Mapping[str, Any]:
        """See `PayerHost`."""
        del asset, token
        return {"binding": "note-binding", "name": "USDC"}

    async def carries_memo(self, asset: str, tx_id: str, memo: str) -> bool:
        """See `PayerHost`; the note of the transfer is the memo."""
        del asset
        evidence = await self._payer.read_evidence(tx_id)
        if evidence is None:
            return False
        raw = base64.b64decode(evidence["signed_transaction_b64"])
        return bool(SignedTransaction.read(raw).members.get("note", b"") == memo.encode())

    async def accept(self, challenge: Mapping[str, Any], proof: Mapping[str, Any]) -> str:
        """See `PayerHost`."""
        evidence = await self._payer.read_evidence(str(proof.get("tx_id")))
        if evidence is None:
            raise PaymentRefusal(FINALITY, "tx_not_found", "the node does not know the transaction")
        # A simulated chain has another genesis than the network whose name its offers carry.
        return str(judge_payment({"challenge": {**challenge, "caip2": self.caip2}, **evidence})["tx_id"])
