"""The chain side of a payer under test on Solana."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

from solders.pubkey import Pubkey
from spl.memo.constants import MEMO_PROGRAM_ID

from conformance.lanes.solana.instructions import mint_to, pubkey
from conformance.lanes.solana.payer import SolanaPayer
from conformance.lanes.tested_payer_accounts import HostedAccount
from conformance.oracles.challenge_tokens import solana_reference
from conformance.oracles.welds.refusal_stages import FINALITY, PaymentRefusal
from conformance.oracles.welds.solana.transaction import SignedTransaction
from conformance.oracles.welds.solana.weld import judge_payment

_GIVEN_UNITS = 100_000_000
_SERVICE_WORD = "Weldproof"
_MEMO_PROGRAM = str(MEMO_PROGRAM_ID)


class SolanaPayerHost:
    """See `PayerHost`; the account file contains 64 numbers as JSON, as solana-keygen writes them."""

    def __init__(self, payer: SolanaPayer) -> None:
        self._payer = payer

    @property
    def caip2(self) -> str:
        """CAIP-2 name of the network that the node reports."""
        return self._payer.caip2

    async def open_account(self, asset: str) -> HostedAccount:
        """See `PayerHost`."""
        account = await self._payer.new_account()
        await self._payer.hold(pubkey(asset, "asset"), _GIVEN_UNITS, account)
        keypair = account.keypair
        return HostedAccount(account.address, keypair.to_json(), (str(keypair), bytes(keypair.secret()).hex()))

    async def open_payee(self, asset: str) -> str:
        """See `PayerHost`."""
        owner = self._payer.node.account().key
        await self._payer.ensure_associated_account(owner, pubkey(asset, "asset"))
        return str(owner)

    def misspell_address(self, address: str) -> str:
        """See `PayerHost`; the last character is not of the alphabet."""
        return address[:-1] + "0"

    async def make_lookalike(self, account: HostedAccount, payee: str) -> str:
        """See `PayerHost`."""
        mint = await self._payer.create_mint()
        holder, receiver = Pubkey.from_string(account.address), Pubkey.from_string(payee)
        destination = await self._payer.ensure_associated_account(holder, mint)
        await self._payer.ensure_associated_account(receiver, mint)
        await self._payer.send([mint_to(mint, destination, self._payer.main.key, _GIVEN_UNITS)])
        return str(mint)

    async def read_units(self, address: str, asset: str) -> int:
        """See `PayerHost`."""
        return await self._payer.balance(Pubkey.from_string(address), Pubkey.from_string(asset))

    async def describe_binding(self, asset: str, token: str) -> Mapping[str, Any]:
        """See `PayerHost`."""
        del asset
        reference = solana_reference(token, _SERVICE_WORD)
        return {"binding": "solana-reference", "name": "USDC", "svm_reference_pubkey": reference}

    async def carries_memo(self, asset: str, tx_id: str, memo: str) -> bool:
        """See `PayerHost`; an instruction of the memo program has the memo as its data."""
        del asset
        evidence = await self._payer.node.read_evidence(tx_id)
        if evidence is None:
            return False
        loaded = evidence["loaded_addresses"]
        raw = base64.b64decode(evidence["transaction_b64"])
        transaction = SignedTransaction.read(raw, (loaded["writable"], loaded["readonly"]))
        return any(one.program == _MEMO_PROGRAM and one.data == memo.encode() for one in transaction.instructions)

    async def accept(self, challenge: Mapping[str, Any], proof: Mapping[str, Any]) -> str:
        """See `PayerHost`."""
        evidence = await self._payer.node.read_evidence(str(proof.get("tx_id")))
        if evidence is None:
            raise PaymentRefusal(FINALITY, "tx_not_found", "the node does not know the transaction")
        return str(judge_payment({"challenge": challenge, **evidence})["tx_id"])
