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

from tools.vectors_builder.challenges.offering import UNIX
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
        made = self._signing
        return base64.b64encode(bytes(made) + bytes(made.verify_key)).decode("ascii")

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
    """Return parameters of a transaction that may stand in any round near `ROUND`."""
    name = "mainnet-v1.0" if genesis == GENESIS else "testnet-v1.0"
    return SuggestedParams(fee, ROUND - 100, ROUND + 900, genesis, gen=name, flat_fee=True)


def transfer(**changes: Any) -> AssetTransferTxn:
    """Return the transfer that pays the challenge, with members changed."""
    note = changes.pop("note", TOKEN.encode())
    members = {"sender": PAYER.address, "sp": params(), "receiver": PAYEE.address, "amt": PRICE, "index": ASSET}
    return AssetTransferTxn(**{**members, "note": note or None, **changes})


def signed(made: Transaction, account: Account = PAYER) -> str:
    """Return a transaction signed, in base64 as the SDK hands it to a node."""
    return str(encoding.msgpack_encode(AccountTransactionSigner(account.key).sign_transactions([made], [0])[0]))


def grouped(*made: Transaction, signers: Sequence[Account] = ()) -> list[str]:
    """Return transactions signed as one group."""
    group = transaction.assign_group_id(list(made))
    keys = signers or [PAYER] * len(group)
    return [signed(one, account) for one, account in zip(group, keys, strict=True)]


def seen(sent: str, *, outcome: str = "confirmed", time: int = MINED_AT, **members: Any) -> dict[str, Any]:
    """Return a verifier's input for a transaction that a node has reported."""
    block = {"round": ROUND, "time": time} if outcome == "confirmed" else None
    given = {
        "lane": "algorand",
        "challenge": CHALLENGE,
        "signed_transaction_b64": sent,
        "outcome": outcome,
        "block": block,
    }
    return {**given, **members}


def paid(**changes: Any) -> dict[str, Any]:
    """Return the evidence of a confirmed transfer by the payer, with members of it changed."""
    return seen(signed(transfer(**changes)))


def values(made: Transaction) -> dict[str, Any]:
    """Return what a verifier may tell of a payment, by the SDK."""
    return {"payer": made.sender, "tx_id": made.get_txid()}


def parts(sent: str) -> dict[str, Any]:
    """Return a signed transaction as the members of its encoding, to be spoilt."""
    import msgpack  # noqa: PLC0415 - only here is the encoding taken apart

    found: dict[str, Any] = msgpack.unpackb(base64.b64decode(sent), raw=False)
    return found


def repacked(members: Mapping[str, Any]) -> str:
    """Return members in the order they have, encoded."""
    import msgpack  # noqa: PLC0415

    return base64.b64encode(msgpack.packb(members, use_bin_type=True)).decode("ascii")


__all__ = ["UNIX", "Account", "grouped", "paid", "params", "parts", "repacked", "seen", "signed", "transfer", "values"]
