"""Payments of checkout links by lane: a transfer that carries the memo of the link (3.5)."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

from reference.variants.payer.lanes import (
    Payment,
    ask_rpc,
    list_transfer_accounts,
    sign_algorand,
    sign_transfer,
)
from reference.variants.payer.settings import Settings

_MEMO_PROGRAM = "MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr"
# The selector of `transfer(address,uint256)`.
_PLAIN_TRANSFER = bytes.fromhex("a9059cbb")
_WORD_BYTES = 32


def sign_link_payment(settings: Settings, bill: Mapping[str, Any]) -> Payment:
    """Return the signed transaction that pays a link; nothing is sent.

    Args:
        settings: Account, lane and node.
        bill: `payTo`, `maxAmountRequired` and `asset` as in an offer, and `memo`.

    Raises:
        Refused: The node cannot be asked.
    """
    sign = {"algorand": _sign_algorand, "base": _sign_base, "solana": _sign_solana}[settings.lane]
    return sign(settings, bill)


def _sign_algorand(settings: Settings, bill: Mapping[str, Any]) -> Payment:
    """Sign an asset transfer whose note is the memo."""
    return sign_algorand(settings, bill, str(bill["memo"]))


def _sign_base(settings: Settings, bill: Mapping[str, Any]) -> Payment:
    """Sign a plain transfer whose call data is followed by the memo."""
    from reference.lanes.base.account import EvmAccount  # noqa: PLC0415 - of one lane
    from reference.lanes.lane import Fees  # noqa: PLC0415 - of one lane

    account = EvmAccount(bytes.fromhex(settings.key.removeprefix("0x")))
    payee = bytes.fromhex(str(bill["payTo"]).removeprefix("0x")).rjust(_WORD_BYTES, b"\0")
    amount = int(bill["maxAmountRequired"]).to_bytes(_WORD_BYTES, "big")
    nonce = int(ask_rpc(settings, "eth_getTransactionCount", [account.address, "pending"]), 16)
    price = int(ask_rpc(settings, "eth_gasPrice", []), 16)
    raw, tx_id = account.sign(
        chain_id=int(settings.network.partition(":")[2]),
        nonce=nonce,
        to=str(bill["asset"]),
        data=_PLAIN_TRANSFER + payee + amount + str(bill["memo"]).encode(),
        fees=Fees(most=2 * price, tip=min(price, 10**6)),
    )
    return Payment({"tx_id": tx_id}, base64.b64encode(raw).decode("ascii"))


def _sign_solana(settings: Settings, bill: Mapping[str, Any]) -> Payment:
    """Sign a transfer with an instruction of the memo program."""
    from solders.instruction import AccountMeta, Instruction  # noqa: PLC0415 - of one lane
    from solders.keypair import Keypair  # noqa: PLC0415 - of one lane
    from solders.pubkey import Pubkey  # noqa: PLC0415 - of one lane

    payer = Keypair.from_bytes(bytes(json.loads(settings.key)))
    signer = AccountMeta(payer.pubkey(), is_signer=True, is_writable=False)
    memo = Instruction(Pubkey.from_string(_MEMO_PROGRAM), str(bill["memo"]).encode(), [signer])
    return sign_transfer(settings, payer, bill, list_transfer_accounts(payer, bill), "", memo)
