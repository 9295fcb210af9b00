"""Payments of the payer by lane: signed first, stored by the caller, then sent as often as necessary.

The libraries of a chain are imported where its payments are signed. A run pays on one lane, and refuses most offers, so
that importing the libraries of every chain would be most of its time.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reference.variants.payer.http_call import NoAnswer, send_request
from reference.variants.payer.settings import Refused, Settings

if TYPE_CHECKING:
    from solders.instruction import AccountMeta, Instruction
    from solders.keypair import Keypair

# A transaction with this validity is final or void while enough of the challenge's lifetime is left.
_ROUNDS = 40
_EVM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_ALGORAND_ADDRESS = re.compile(r"[A-Z2-7]{58}")
_KEY_BYTES = 32
_POLL_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Payment:
    """A signed payment.

    Attributes:
        proof: The object of `X-PAYMENT`.
        transaction: The signed transaction in base64; empty if the rail sends it.
    """

    proof: dict[str, Any]
    transaction: str = ""


def is_address(lane: str, value: object) -> bool:
    """Return whether a value is an address of a lane's chain."""
    if not isinstance(value, str):
        return False
    if lane == "base":
        return _EVM_ADDRESS.fullmatch(value) is not None
    if lane == "solana":
        from reference.protocol import solana_transfers  # noqa: PLC0415 - of one lane

        return solana_transfers.is_address(value)
    if _ALGORAND_ADDRESS.fullmatch(value) is None:
        return False
    raw = base64.b32decode(value + "=" * 6)
    return hashlib.new("sha512_256", raw[:_KEY_BYTES]).digest()[-4:] == raw[_KEY_BYTES:]


def sign_payment(settings: Settings, entry: Mapping[str, Any]) -> Payment:
    """Return the signed payment of an offer; nothing is sent.

    Raises:
        Refused: The node cannot be asked.
    """
    sign: Callable[[Settings, Mapping[str, Any], str], Payment] = {
        "algorand": sign_algorand,
        "base": _sign_base,
        "solana": _sign_solana,
    }[settings.lane]
    return sign(settings, entry, str(entry["extra"]["payment_reference"]))


def send_payment(settings: Settings, payment: Payment) -> None:
    """Give a signed transaction to the node, and wait until the chain shows it; a chain executes it at most once.

    The caller presents the proof even if the chain does not show it in time, since the rail's node may know more.
    """
    if not payment.transaction:
        return
    raw, tx_id = base64.b64decode(payment.transaction), payment.proof["tx_id"]
    ends = time.monotonic() + settings.seconds / 2
    while time.monotonic() < ends:
        # A node that refuses or does not know the transaction now may take or know it in a moment.
        with suppress(NoAnswer, Refused, LookupError, TypeError, ValueError):
            _send(settings, raw)
        with suppress(NoAnswer, Refused, LookupError, TypeError, ValueError):
            if _is_final(settings, tx_id):
                return
        time.sleep(_POLL_SECONDS)


def _send(settings: Settings, raw: bytes) -> None:
    if settings.lane == "algorand":
        _ask_algod(settings, "POST", "/v2/transactions", raw)
    elif settings.lane == "base":
        ask_rpc(settings, "eth_sendRawTransaction", ["0x" + raw.hex()])
    else:
        options = {"encoding": "base64", "preflightCommitment": "confirmed"}
        ask_rpc(settings, "sendTransaction", [base64.b64encode(raw).decode("ascii"), options])


def _is_final(settings: Settings, tx_id: str) -> bool:
    if settings.lane == "algorand":
        return bool(_ask_algod(settings, "GET", f"/v2/transactions/pending/{tx_id}").get("confirmed-round"))
    if settings.lane == "base":
        receipt = ask_rpc(settings, "eth_getTransactionReceipt", [tx_id])
        return receipt is not None and receipt["status"] == "0x1"
    options = {"searchTransactionHistory": True}
    status = ask_rpc(settings, "getSignatureStatuses", [[tx_id], options])["value"][0]
    return status is not None and status["confirmationStatus"] == "finalized"


def _ask_algod(settings: Settings, method: str, path: str, body: bytes | None = None) -> Any:
    answer = send_request(method, settings.node + path, body, {"X-Algo-API-Token": settings.node_token})
    if answer.status != 200:
        raise Refused(f"the node answered {answer.status}")
    return json.loads(answer.body)


def ask_rpc(settings: Settings, method: str, params: list[Any]) -> Any:
    """Return the result of a JSON-RPC call of the node.

    Raises:
        Refused: It answers without a result.
    """
    call = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
    answer = send_request("POST", settings.node, json.dumps(call).encode(), {"Content-Type": "application/json"})
    if "result" not in answer.members:
        raise Refused(f"the node answered {answer.status} without a result")
    return answer.members["result"]


def sign_algorand(settings: Settings, entry: Mapping[str, Any], token: str) -> Payment:
    """Sign an asset transfer whose note is the token."""
    import msgpack  # noqa: PLC0415 - of one lane
    from nacl.signing import SigningKey  # noqa: PLC0415 - of one lane

    key = SigningKey(base64.b64decode(settings.key)[:_KEY_BYTES])
    params = _ask_algod(settings, "GET", "/v2/transactions/params")
    transfer = {
        "aamt": int(entry["maxAmountRequired"]),
        "arcv": base64.b32decode(str(entry["payTo"]) + "=" * 6)[:_KEY_BYTES],
        "fee": max(int(params["min-fee"]), 1000),
        "fv": params["last-round"],
        "gen": params["genesis-id"],
        "gh": base64.b64decode(params["genesis-hash"]),
        "lv": params["last-round"] + _ROUNDS,
        "note": token.encode(),
        "snd": bytes(key.verify_key),
        "type": "axfer",
        "xaid": int(entry["asset"]),
    }
    message = b"TX" + msgpack.packb(transfer)
    tx_id = base64.b32encode(hashlib.new("sha512_256", message).digest()).decode("ascii").rstrip("=")
    signed = msgpack.packb({"sig": key.sign(message).signature, "txn": transfer})
    return Payment({"tx_id": tx_id, "payment_reference": token}, base64.b64encode(signed).decode("ascii"))


def _sign_base(settings: Settings, entry: Mapping[str, Any], token: str) -> Payment:
    """Sign an authorization whose nonce is the hash of the token; the rail sends it."""
    from coincurve import PrivateKey  # noqa: PLC0415 - of one lane

    from reference.protocol import eip3009  # noqa: PLC0415 - of one lane

    key = PrivateKey.from_hex(settings.key.removeprefix("0x"))
    newest = ask_rpc(settings, "eth_getBlockByNumber", ["latest", False])
    extra = entry["extra"]
    domain = eip3009.Domain(
        str(extra["name"]), str(extra["version"]), int(settings.network.partition(":")[2]), str(entry["asset"])
    )
    authorization = eip3009.Authorization(
        payer="0x" + eip3009.keccak(key.public_key.format(compressed=False)[1:])[12:].hex(),
        to=str(entry["payTo"]),
        value=int(entry["maxAmountRequired"]),
        valid_after=0,
        valid_before=int(newest["timestamp"], 16) + int(entry["maxTimeoutSeconds"]),
        nonce=eip3009.nonce_of(token),
        signature="",
    )
    signature = key.sign_recoverable(eip3009.digest(domain, authorization), hasher=None)
    full_signature = "0x" + (signature[:64] + bytes([signature[64] + 27])).hex()
    members = authorization.as_members()
    return Payment({"authorization": members, "signature": full_signature, "challenge_token": token})


def _sign_solana(settings: Settings, entry: Mapping[str, Any], token: str) -> Payment:
    """Sign a transfer that names the reference account which the offer derives from the token."""
    from solders.instruction import AccountMeta  # noqa: PLC0415 - of one lane
    from solders.keypair import Keypair  # noqa: PLC0415 - of one lane
    from solders.pubkey import Pubkey  # noqa: PLC0415 - of one lane

    payer = Keypair.from_bytes(bytes(json.loads(settings.key)))
    accounts = [
        *list_transfer_accounts(payer, entry),
        AccountMeta(Pubkey.from_string(entry["extra"]["svm_reference_pubkey"]), is_signer=False, is_writable=False),
    ]
    return sign_transfer(settings, payer, entry, accounts, token)


def list_transfer_accounts(payer: Keypair, entry: Mapping[str, Any]) -> list[AccountMeta]:
    """Return the accounts of a transfer on Solana; its reference account, if it has one, comes after them."""
    from solders.instruction import AccountMeta  # noqa: PLC0415 - of one lane
    from solders.pubkey import Pubkey  # noqa: PLC0415 - of one lane

    from reference.protocol import solana_transfers  # noqa: PLC0415 - of one lane

    owner, mint, payee = str(payer.pubkey()), str(entry["asset"]), str(entry["payTo"])
    source, destination = (Pubkey.from_string(solana_transfers.associated_account(one, mint)) for one in (owner, payee))
    return [
        AccountMeta(source, is_signer=False, is_writable=True),
        AccountMeta(Pubkey.from_string(mint), is_signer=False, is_writable=False),
        AccountMeta(destination, is_signer=False, is_writable=True),
        AccountMeta(payer.pubkey(), is_signer=True, is_writable=False),
    ]


def sign_transfer(
    settings: Settings,
    payer: Keypair,
    entry: Mapping[str, Any],
    accounts: list[AccountMeta],
    token: str,
    *further: Instruction,
) -> Payment:
    """Return a signed transfer on Solana, with further instructions after it."""
    from solders.hash import Hash  # noqa: PLC0415 - of one lane
    from solders.instruction import Instruction  # noqa: PLC0415 - of one lane
    from solders.message import MessageV0  # noqa: PLC0415 - of one lane
    from solders.pubkey import Pubkey  # noqa: PLC0415 - of one lane
    from solders.transaction import VersionedTransaction  # noqa: PLC0415 - of one lane

    from reference.protocol import solana_transfers  # noqa: PLC0415 - of one lane

    amount = int(entry["maxAmountRequired"]).to_bytes(8, "little")
    # 12 is TransferChecked, which also names the mint's decimals.
    data = bytes([12]) + amount + bytes([int(entry["extra"]["decimals"])])
    transfer = Instruction(Pubkey.from_string(solana_transfers.TOKEN_PROGRAM), data, accounts)
    latest = ask_rpc(settings, "getLatestBlockhash", [{"commitment": "confirmed"}])["value"]["blockhash"]
    message = MessageV0.try_compile(payer.pubkey(), [transfer, *further], [], Hash.from_string(latest))
    signed = VersionedTransaction(message, [payer])
    proof = {"tx_id": str(signed.signatures[0]), "payment_reference": token}
    return Payment(proof, base64.b64encode(bytes(signed)).decode("ascii"))
