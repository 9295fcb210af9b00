"""What the RPC says: accounts, transactions and errors as Solana's JSON."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

import base58
from solders.account import Account
from solders.instruction import CompiledInstruction
from solders.message import MessageV0
from solders.pubkey import Pubkey

from sim.json_rpc import INVALID_REQUEST, RpcError
from sim.solana import parsed
from sim.solana.chain import Chain
from sim.solana.ledger import Landed
from sim.solana.rpc_call import invalid
from sim.solana.slots import Level, Standing
from sim.solana.transactions import Sent
from sim.solana.vm import Outcome

UNSUPPORTED_VERSION = -32015
NO_RENT_EPOCH = 2**64 - 1
_MAX_BASE58_BYTES = 128
_TOP_LEVEL = 1
_ERROR_TEXTS = {
    "AccountNotFound": "Attempt to debit an account but found no record of a prior credit.",
    "AccountInUse": "Account in use",
    "AccountLoadedTwice": "Account loaded twice",
    "AddressLookupTableNotFound": "Transaction loads an address table account that doesn't exist",
    "AlreadyProcessed": "This transaction has already been processed",
    "BlockhashNotFound": "Blockhash not found",
    "InsufficientFundsForFee": "Insufficient funds for fee",
    "InvalidAccountForFee": "This account may not be used to pay transaction fees",
    "InvalidAddressLookupTableData": "Transaction loads an address table account with invalid data",
    "InvalidAddressLookupTableIndex": "Transaction address table lookup uses an invalid index",
    "InvalidAddressLookupTableOwner": "Transaction loads an address table account with an invalid owner",
    "InvalidProgramForExecution": "This program may not be used for executing instructions",
    "ProgramAccountNotFound": "Attempt to load a program that does not exist",
    "SanitizeFailure": "Transaction failed to sanitize accounts offsets correctly",
    "SignatureFailure": "Transaction did not pass signature verification",
    "TooManyAccountLocks": "Transaction locked too many accounts",
}


def error_text(err: Any) -> str:
    """Return a transaction error as a sentence."""
    if isinstance(err, dict) and "InstructionError" in err:
        place, reason = err["InstructionError"]
        custom = reason.get("Custom") if isinstance(reason, dict) else None
        reason_text = f"custom program error: {custom:#x}" if custom is not None else str(reason)
        return f"Error processing Instruction {place}: {reason_text}"
    if isinstance(err, dict) and "InsufficientFundsForRent" in err:
        place = err["InsufficientFundsForRent"]["account_index"]
        return f"Transaction results in an account ({place}) with insufficient funds for rent"
    return _ERROR_TEXTS.get(str(err), str(err))


def account(chain: Chain, record: Account | None, encoding: str, slot: int, cut: Any = None) -> dict[str, Any] | None:
    """Return an account, or None.

    Args:
        chain: Where a token account's mint is looked up.
        record: The account.
        encoding: binary (bare base58), base58, base64 or jsonParsed, which is base64 for what no parser knows.
        slot: The slot that the answer is about.
        cut: dataSlice of the configuration.
    """
    if record is None:
        return None
    return {
        "lamports": record.lamports,
        "owner": str(record.owner),
        "data": _data(chain, record, encoding, slot, cut),
        "executable": record.executable,
        "rentEpoch": NO_RENT_EPOCH,
        "space": len(record.data),
    }


def _data(chain: Chain, record: Account, encoding: str, slot: int, cut: Any) -> Any:
    data = bytes(record.data)
    if encoding == "jsonParsed":
        description = parsed.account(record, lambda mint: chain.account(mint, slot))
        if description is not None:
            return description
        encoding = "base64"
    if cut is not None:
        data = _slice(data, cut)
    if encoding == "base64":
        return [base64.b64encode(data).decode(), "base64"]
    if encoding in ("base58", "binary"):
        if len(data) > _MAX_BASE58_BYTES:
            message = "Encoded binary (base 58) data should be less than 128 bytes, please use Base64 encoding."
            raise RpcError(INVALID_REQUEST, message)
        text = base58.b58encode(data).decode()
        return text if encoding == "binary" else [text, "base58"]
    raise invalid(f"Invalid params: unknown encoding {encoding[:40]!r}.")


def _slice(data: bytes, cut: Any) -> bytes:
    offset, length = (cut.get("offset"), cut.get("length")) if isinstance(cut, dict) else (None, None)
    if not isinstance(offset, int) or not isinstance(length, int) or offset < 0 or length < 0:
        raise invalid("Invalid params: dataSlice needs offset and length.")
    return data[offset : offset + length]


def simulation_result(outcome: Outcome) -> dict[str, Any]:
    """Return a simulation's result: what a failed preflight carries too."""
    return {
        "err": outcome.err,
        "logs": list(outcome.logs),
        "accounts": None,
        "unitsConsumed": outcome.units,
        "returnData": _return_data(outcome),
        "innerInstructions": None,
        "replacementBlockhash": None,
        "fee": outcome.fee or None,
        "loadedAccountsDataSize": None,
        "loadedAddresses": None,
        "preBalances": None,
        "postBalances": None,
        "preTokenBalances": None,
        "postTokenBalances": None,
    }


def _return_data(outcome: Outcome) -> dict[str, Any] | None:
    if outcome.returned is None:
        return None
    program, data = outcome.returned
    return {"programId": str(program), "data": [base64.b64encode(data).decode(), "base64"]}


def inner(outcome: Outcome) -> list[dict[str, Any]]:
    """Return what instructions called, compiled."""
    return [
        {
            "index": place,
            "instructions": [_compiled_instruction(one.instruction(), one.stack_height()) for one in instructions],
        }
        for place, instructions in enumerate(outcome.inner)
        if instructions
    ]


def _inner_parsed(transaction: Sent, outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {
            "index": place,
            "instructions": [
                parsed.instruction(one.instruction(), transaction.keys, one.stack_height()) for one in instructions
            ],
        }
        for place, instructions in enumerate(outcome.inner)
        if instructions
    ]


def _compiled_instruction(instruction: CompiledInstruction, height: int | None) -> dict[str, Any]:
    return {
        "programIdIndex": instruction.program_id_index,
        "accounts": list(bytes(instruction.accounts)),
        "data": base58.b58encode(bytes(instruction.data)).decode(),
        "stackHeight": height,
    }


def status(entry: Landed, final_slots: Standing) -> dict[str, Any]:
    """Return the entry of getSignatureStatuses."""
    level = final_slots.level(entry.slot)
    return {
        "slot": entry.slot,
        "confirmations": None if level is Level.finalized else final_slots.head - entry.slot,
        "err": entry.outcome.err,
        "status": _status(entry.outcome.err),
        "confirmationStatus": level.name,
    }


def _status(err: Any) -> dict[str, Any]:
    return {"Ok": None} if err is None else {"Err": err}


def address_signature(entry: Landed, final_slots: Standing) -> dict[str, Any]:
    """Return the entry of getSignaturesForAddress."""
    return {
        "signature": entry.sent.id,
        "slot": entry.slot,
        "err": entry.outcome.err,
        "memo": entry.sent.memo(),
        "blockTime": entry.time,
        "confirmationStatus": final_slots.level(entry.slot).name,
    }


def transaction(entry: Landed, encoding: str, newest_version: Any) -> dict[str, Any]:
    """Return the answer of getTransaction.

    Args:
        entry: The transaction.
        encoding: json, jsonParsed, base64 or base58.
        newest_version: maxSupportedTransactionVersion, None when it was not given.
    """
    return {
        "slot": entry.slot,
        "blockTime": entry.time,
        **with_meta(entry, encoding, newest_version),
    }


def with_meta(entry: Landed, encoding: str, newest_version: Any) -> dict[str, Any]:
    """Return a transaction with its meta, as a block lists it."""
    if entry.sent.is_v0 and newest_version is None:
        message = (
            "Transaction version (0) is not supported by the requesting client. Please try the request again with the "
            'following configuration parameter: "maxSupportedTransactionVersion": 0'
        )
        raise RpcError(UNSUPPORTED_VERSION, message)
    view = {"transaction": _transaction(entry.sent, encoding), "meta": _meta(entry, encoding)}
    if newest_version is not None:
        view["version"] = 0 if entry.sent.is_v0 else "legacy"
    return view


def _meta(entry: Landed, encoding: str) -> dict[str, Any]:
    outcome, sent_transaction = entry.outcome, entry.sent
    meta = {
        "err": outcome.err,
        "status": _status(outcome.err),
        "fee": outcome.fee,
        "preBalances": list(entry.before.lamports),
        "postBalances": list(entry.after.lamports),
        "preTokenBalances": list(entry.before.tokens),
        "postTokenBalances": list(entry.after.tokens),
        "innerInstructions": _inner_parsed(sent_transaction, outcome) if encoding == "jsonParsed" else inner(outcome),
        "logMessages": list(outcome.logs),
        "rewards": [],
        "computeUnitsConsumed": outcome.units,
    }
    if encoding != "jsonParsed":
        meta["loadedAddresses"] = {
            "writable": _texts(sent_transaction.writable),
            "readonly": _texts(sent_transaction.readonly),
        }
    return_data = _return_data(outcome)
    return meta if return_data is None else {**meta, "returnData": return_data}


def _texts(keys: Sequence[Pubkey]) -> list[str]:
    return [str(key) for key in keys]


def _transaction(sent_transaction: Sent, encoding: str) -> Any:
    if encoding == "base64":
        return [base64.b64encode(bytes(sent_transaction.raw)).decode(), "base64"]
    if encoding in ("base58", "binary"):
        text = base58.b58encode(bytes(sent_transaction.raw)).decode()
        return text if encoding == "binary" else [text, "base58"]
    if encoding not in ("json", "jsonParsed"):
        raise invalid(f"Invalid params: unknown encoding {encoding[:40]!r}.")
    message = _message_parsed(sent_transaction) if encoding == "jsonParsed" else _message(sent_transaction)
    return {"signatures": [str(one) for one in sent_transaction.raw.signatures], "message": message}


def _message(sent_transaction: Sent) -> dict[str, Any]:
    message, header = sent_transaction.raw.message, sent_transaction.raw.message.header
    view: dict[str, Any] = {
        "accountKeys": _texts(message.account_keys),
        "header": {
            "numRequiredSignatures": header.num_required_signatures,
            "numReadonlySignedAccounts": header.num_readonly_signed_accounts,
            "numReadonlyUnsignedAccounts": header.num_readonly_unsigned_accounts,
        },
        "recentBlockhash": str(message.recent_blockhash),
        "instructions": [_compiled_instruction(one, _TOP_LEVEL) for one in sent_transaction.instructions()],
    }
    return view | _lookups(sent_transaction)


def _lookups(sent_transaction: Sent) -> dict[str, Any]:
    message = sent_transaction.raw.message
    if not isinstance(message, MessageV0):
        return {}
    return {
        "addressTableLookups": [
            {
                "accountKey": str(lookup.account_key),
                "writableIndexes": list(bytes(lookup.writable_indexes)),
                "readonlyIndexes": list(bytes(lookup.readonly_indexes)),
            }
            for lookup in message.address_table_lookups
        ]
    }


def _message_parsed(sent_transaction: Sent) -> dict[str, Any]:
    message, keys = sent_transaction.raw.message, sent_transaction.keys
    own, signers = len(message.account_keys), message.header.num_required_signatures
    view: dict[str, Any] = {
        "accountKeys": [
            {
                "pubkey": str(key),
                "signer": place < signers,
                "writable": sent_transaction.may_write(place),
                "source": "transaction" if place < own else "lookupTable",
            }
            for place, key in enumerate(keys)
        ],
        "recentBlockhash": str(message.recent_blockhash),
        "instructions": [parsed.instruction(one, keys, _TOP_LEVEL) for one in sent_transaction.instructions()],
    }
    return view | _lookups(sent_transaction)
