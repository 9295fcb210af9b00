"""Accounts and complete signed transactions of Algorand, made with py-algorand-sdk."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from algosdk import encoding, transaction
from algosdk.atomic_transaction_composer import AccountTransactionSigner
from algosdk.transaction import AssetTransferTxn, LogicSigAccount, SuggestedParams, Transaction
from nacl.signing import SigningKey

from tools.vectors_builder.challenges.drafting import UNIX
from tools.vectors_builder.welds.drafting import MINED_AT, PRICE, challenge, draw

ASSET: Final = 31_566_704
GENESIS: Final = "wGHE2Pwdvd7S12BL5FaOP20EGYesN73ktiC1qzkkit8="
TEST_GENESIS: Final = "SGO1GKSzyE7IEPItTxCByw9x8FmnrCDexi9/cOUJOiI="
TEST_ASSET: Final = 10_458_941
ROUND: Final = 57_000_100


@dataclass(frozen=True, slots=True)
class Account:
    """An account drawn by name."""

    name: str

    @property
    def _signing(self) -> SigningKey:
        return SigningKey(draw(f"algorand {self.name}"))

    @property
    def key(self) -> str:
        """Its private key as the SDK writes it."""
        signing_key = self._signing
        return base64.b64encode(bytes(signing_key) + bytes(signing_key.verify_key)).decode("ascii")

    @property
    def address(self) -> str:
        """Its address."""
        return str(encoding.encode_address(bytes(self._signing.verify_key)))

    def delegate(self, program: LogicSigAccount) -> None:
        """Let a program sign for the account."""
        signature = self._signing.sign(b"Program" + program.lsig.logic).signature
        program.lsig.sig = base64.b64encode(signature).decode("ascii")
        program.sigkey = bytes(self._signing.verify_key)


PAYER, PAYEE, STRANGER, SPONSOR = (Account(name) for name in ("payer", "payee", "stranger", "sponsor"))
TERMS: Final = {
    "caip2": "algorand:wGHE2Pwdvd7S12BL5FaOP20EGYesN73k",
    "asset": str(ASSET),
    "amount": str(PRICE),
    "pay_to": PAYEE.address,
}
CHALLENGE: Final = challenge(TERMS)
TOKEN: Final[str] = CHALLENGE["token"]


def params(genesis: str = GENESIS, fee: int = 1000) -> SuggestedParams:
    """Return parameters of a transaction that is valid in any round near `ROUND`."""
    name = "mainnet-v1.0" if genesis == GENESIS else "testnet-v1.0"
    return SuggestedParams(fee, ROUND - 100, ROUND + 900, genesis, gen=name, flat_fee=True)


def transfer(**changes: Any) -> AssetTransferTxn:
    """Return the transfer that pays the challenge, with members changed."""
    note = changes.pop("note", TOKEN.encode())
    members = {"sender": PAYER.address, "sp": params(), "receiver": PAYEE.address, "amt": PRICE, "index": ASSET}
    return AssetTransferTxn(**{**members, "note": note or None, **changes})


def sign(transaction_object: Transaction, account: Account = PAYER) -> str:
    """Return a transaction signed, in base64 as the SDK hands it to a node."""
    return str(
        encoding.msgpack_encode(AccountTransactionSigner(account.key).sign_transactions([transaction_object], [0])[0])
    )


def sign_group(*transactions: Transaction, signers: Sequence[Account] = ()) -> list[str]:
    """Sign transactions as a group and return them."""
    group = transaction.assign_group_id(list(transactions))
    keys = signers or [PAYER] * len(group)
    return [sign(one, account) for one, account in zip(group, keys, strict=True)]


def build_evidence(
    signed_text: str, *, outcome: str = "confirmed", time: int = MINED_AT, **members: Any
) -> dict[str, Any]:
    """Return a verifier's input for a transaction that a node has reported."""
    block = {"round": ROUND, "time": time} if outcome == "confirmed" else None
    evidence = {
        "lane": "algorand",
        "challenge": CHALLENGE,
        "signed_transaction_b64": signed_text,
        "outcome": outcome,
        "block": block,
    }
    return {**evidence, **members}


def build_payment(**changes: Any) -> dict[str, Any]:
    """Return the evidence of a confirmed transfer by the payer, with members of it changed."""
    return build_evidence(sign(transfer(**changes)))


def values(transaction_object: Transaction) -> dict[str, Any]:
    """Return what a verifier may tell of a payment, by the SDK."""
    return {"payer": transaction_object.sender, "tx_id": transaction_object.get_txid()}


def parts(signed_text: str) -> dict[str, Any]:
    """Return a signed transaction as the members of its encoding, to be spoilt."""
    import msgpack  # noqa: PLC0415 - only here is the encoding taken apart

    members: dict[str, Any] = msgpack.unpackb(base64.b64decode(signed_text), raw=False)
    return members


def repack(members: Mapping[str, Any]) -> str:
    """Return members in the order they have, encoded."""
    import msgpack  # noqa: PLC0415

    return base64.b64encode(msgpack.packb(members, use_bin_type=True)).decode("ascii")


__all__ = [
    "UNIX",
    "Account",
    "build_evidence",
    "build_payment",
    "params",
    "parts",
    "repack",
    "sign",
    "sign_group",
    "transfer",
    "values",
]
