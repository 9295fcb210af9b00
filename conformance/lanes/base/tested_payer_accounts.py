"""The chain side of a payer under test on an EVM chain. The rail settles, so accepting a proof moves the money."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from conformance.lanes.base.authorization import Authorization, Domain
from conformance.lanes.base.payer import BasePayer
from conformance.lanes.base.token import Token
from conformance.lanes.tested_payer_accounts import HostedAccount
from conformance.oracles.challenge_tokens import eip3009_nonce
from conformance.oracles.welds.base.weld import judge_payment, judge_stock_payment
from conformance.oracles.welds.refusal_stages import SIGNATURE, PaymentRefusal

_MEMBERS = frozenset({"from", "to", "value", "validAfter", "validBefore", "nonce"})
_GIVEN_UNITS = 100_000_000
_TX_ID = re.compile(r"0x[0-9a-fA-F]{64}")
# The selector of `transfer(address,uint256)`, and the length of such a call.
_PLAIN_TRANSFER = bytes.fromhex("a9059cbb")
_PLAIN_CALL_BYTES = 4 + 2 * 32
# The topics of AuthorizationUsed are the event, the authorizer and the nonce.
_NONCE_PLACE = 2


class BasePayerHost:
    """See `PayerHost`; the account file contains the private key, `0x` and 64 hex digits."""

    def __init__(self, payer: BasePayer) -> None:
        self._payer = payer
        self._names: dict[str, tuple[str, str]] = {}
        self._tokens: dict[str, Token] = {}

    @property
    def caip2(self) -> str:
        """CAIP-2 name of the network that the node reports."""
        return self._payer.caip2

    async def open_account(self, asset: str) -> HostedAccount:
        """See `PayerHost`."""
        account = await self._payer.new_account(coin=True, asset=asset, amount=_GIVEN_UNITS)
        digits = account.key.hex()
        return HostedAccount(account.address, f"0x{digits}", (digits,))

    async def open_payee(self, asset: str) -> str:
        """See `PayerHost`."""
        del asset
        return self._payer.node.account().address

    def misspell_address(self, address: str) -> str:
        """See `PayerHost`; the last character is no digit."""
        return address[:-1] + "g"

    async def make_lookalike(self, account: HostedAccount, payee: str) -> str:
        """See `PayerHost`; every address holds much of the token."""
        del account, payee
        return await self._payer.deploy("CopycatToken", "USD Coin", "2")

    async def read_units(self, address: str, asset: str) -> int:
        """See `PayerHost`."""
        return await self._open_token(asset).balance(address)

    def _open_token(self, asset: str) -> Token:
        # web3 takes milliseconds to make a contract, and each scene reads balances several times.
        if asset not in self._tokens:
            self._tokens[asset] = Token(self._payer.node, asset)
        return self._tokens[asset]

    async def describe_binding(self, asset: str, token: str) -> Mapping[str, Any]:
        """See `PayerHost`."""
        name, version = await self._read_names(asset)
        nonce = eip3009_nonce(token)
        return {
            "binding": "eip3009-authorization",
            "name": name,
            "version": version,
            "authorization_nonce": nonce,
        }

    async def _read_names(self, asset: str) -> tuple[str, str]:
        if asset not in self._names:
            self._names[asset] = await self._open_token(asset).names()
        return self._names[asset]

    async def carries_memo(self, asset: str, tx_id: str, memo: str) -> bool:
        """See `PayerHost`; the nonce of an authorization is the hash of the memo, or the memo follows a transfer."""
        if _TX_ID.fullmatch(tx_id) is None:
            return False
        receipt, call = await self._payer.node.receipt(tx_id), await self._payer.node.read_call(tx_id)
        if receipt is None or call is None:
            return False
        nonces = [log["topics"][_NONCE_PLACE] for log in receipt["logs"] if len(log["topics"]) > _NONCE_PLACE]
        is_authorized = bytes.fromhex(eip3009_nonce(memo).removeprefix("0x")) in map(bytes, nonces)
        is_plain = call.startswith(_PLAIN_TRANSFER) and call[_PLAIN_CALL_BYTES:] == memo.encode()
        return is_authorized or (is_plain and str(receipt["to"]).lower() == asset.lower())

    async def accept(self, challenge: Mapping[str, Any], proof: Mapping[str, Any]) -> str:
        """See `PayerHost`. An authorization that was used already returns the transaction that used it."""
        return await self._accept(challenge, proof, judge_payment)

    async def describe_stock_offer(self, asset: str) -> Mapping[str, Any]:
        """See `PayerHost`."""
        name, version = await self._read_names(asset)
        return {"name": name, "version": version}

    async def accept_stock(self, offer: Mapping[str, Any], payload: Mapping[str, Any]) -> str:
        """See `PayerHost`. An authorization that was used already returns the transaction that used it."""
        return await self._accept(offer, payload, judge_stock_payment)

    async def _accept(
        self,
        challenge: Mapping[str, Any],
        proof: Mapping[str, Any],
        judge: Callable[[Mapping[str, Any]], Mapping[str, Any]],
    ) -> str:
        terms, signature = proof.get("authorization"), proof.get("signature")
        if not isinstance(terms, Mapping) or not terms.keys() >= _MEMBERS or not isinstance(signature, str):
            raise PaymentRefusal(SIGNATURE, "invalid_payment", "the proof contains no authorization with a signature")
        name, version = await self._read_names(challenge["asset"])
        evidence = {
            "challenge": {**challenge, "name": name, "version": version},
            "authorization": terms,
            "signature": signature,
            "now": max(int(time.time()), await self._payer.block_time()),
        }
        try:
            judge(evidence)
        except (AttributeError, TypeError, ValueError) as fault:
            raise PaymentRefusal(SIGNATURE, "invalid_payment", "a member of the authorization is malformed") from fault
        token = self._open_token(challenge["asset"])
        nonce = bytes.fromhex(str(terms["nonce"]).removeprefix("0x"))
        used = await token.used_in(str(terms["from"]), nonce, 0)
        if used is not None:
            return used
        domain = Domain(name, version, self._payer.chain_id, token.address)
        authorization = Authorization(
            str(terms["from"]),
            str(terms["to"]),
            int(terms["value"]),
            int(terms["validAfter"]),
            int(terms["validBefore"]),
            nonce,
            domain,
            challenge.get("token", ""),
            bytes.fromhex(signature.removeprefix("0x")),
        )
        return await self._payer.use(authorization)
