"""The jsonParsed encoding of accounts and instructions.

Accounts: token accounts, mints and lookup tables. Instructions: the system, token, associated-token-account, memo and
lookup-table programs.

What no parser here knows is shown undecoded, as the node does.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import base58
from solders.account import Account
from solders.address_lookup_table_account import AddressLookupTable
from solders.instruction import CompiledInstruction
from solders.pubkey import Pubkey

from sim.solana.token_accounts import (
    ASSOCIATED_TOKEN_PROGRAM,
    TOKEN,
    TOKEN_PROGRAMS,
    Held,
    read_held,
    read_mint,
    ui_amount,
)
from sim.solana.transactions import MEMO_PROGRAMS, read_table
from sim.solana.vm import LOOKUP_TABLES, SYSTEM

Lookup = Callable[[Pubkey], Account | None]
_STATES = ("uninitialized", "initialized", "frozen")


def account(record: Account, lookup: Lookup) -> dict[str, Any] | None:
    """Return the parsed data of a token account, a mint or a lookup table, None for anything else."""
    table = read_table(record)
    if table is not None:
        parsed = {"type": "lookupTable", "info": _table_info(table)}
        return {"program": "address-lookup-table", "parsed": parsed, "space": len(record.data)}
    token_account, mint = read_held(record), read_mint(record)
    if token_account is not None:
        of = read_mint(lookup(token_account.mint))
        info = None if of is None else _account_info(token_account, of.decimals)
    else:
        info = None if mint is None else _mint_info(mint)
    if info is None:
        return None
    kind = "mint" if token_account is None else "account"
    program = "spl-token" if record.owner == TOKEN else "spl-token-2022"
    return {"program": program, "parsed": {"type": kind, "info": info}, "space": len(record.data)}


def _table_info(table: AddressLookupTable) -> dict[str, Any]:
    meta = table.meta
    info: dict[str, Any] = {
        "deactivationSlot": str(meta.deactivation_slot),
        "lastExtendedSlot": str(meta.last_extended_slot),
        "lastExtendedSlotStartIndex": meta.last_extended_slot_start_index,
        "addresses": [str(one) for one in table.addresses],
    }
    return info if meta.authority is None else {**info, "authority": str(meta.authority)}


def _account_info(token_account: Held, decimals: int) -> dict[str, Any]:
    state = token_account.state
    info = {
        "mint": str(token_account.mint),
        "owner": str(token_account.owner),
        "isNative": state.is_native is not None,
        "state": _STATES[int(state.state)],
        "tokenAmount": ui_amount(token_account.amount, decimals),
    }
    if state.delegate is not None:
        info["delegate"] = str(state.delegate)
        info["delegatedAmount"] = ui_amount(state.delegated_amount, decimals)
    if state.close_authority is not None:
        info["closeAuthority"] = str(state.close_authority)
    return info


def _mint_info(mint: Any) -> dict[str, Any]:
    return {
        "mintAuthority": None if mint.mint_authority is None else str(mint.mint_authority),
        "supply": str(mint.supply),
        "decimals": mint.decimals,
        "isInitialized": mint.is_initialized,
        "freezeAuthority": None if mint.freeze_authority is None else str(mint.freeze_authority),
    }


@dataclass(frozen=True, slots=True)
class _Call:
    """An instruction with its accounts as texts."""

    data: bytes
    accounts: tuple[str, ...]

    def name_accounts(self, *names: str) -> dict[str, Any]:
        """Return the first accounts by names."""
        return dict(zip(names, self.accounts, strict=False))

    def with_authority(self, name: str, *before: str) -> dict[str, Any]:
        """Return accounts by names and then the authority: a multisig as soon as any account follows it.

        That is why an appended reference account makes the node speak of a multisig that there is not.
        """
        info, signers = self.name_accounts(*before), self.accounts[len(before) :]
        if len(signers) > 1:
            return info | {f"multisig{name[0].upper()}{name[1:]}": signers[0], "signers": list(signers[1:])}
        return info | {name: signers[0]}


_Description = tuple[str, dict[str, Any]]
_Parser = Callable[[_Call], _Description]


def instruction(compiled: CompiledInstruction, keys: Sequence[Pubkey], height: int | None) -> dict[str, Any]:
    """Return an instruction, decoded where its program is known.

    Args:
        compiled: The instruction.
        keys: All accounts of its transaction.
        height: 1 for one of the transaction's own.
    """
    program = keys[compiled.program_id_index]
    data = bytes(compiled.data)
    accounts = tuple(str(keys[place]) for place in bytes(compiled.accounts))
    description = _describe(program, _Call(data, accounts))
    if description is None:
        description = {"accounts": list(accounts), "data": base58.b58encode(data).decode()}
    return {**description, "programId": str(program), "stackHeight": height}


def _describe(program: Pubkey, call: _Call) -> dict[str, Any] | None:
    if program in MEMO_PROGRAMS:
        return {"program": "spl-memo", "parsed": call.data.decode("utf-8", "replace")}
    name, parser = _parser(program, call.data)
    if parser is None:
        return None
    try:
        kind, info = parser(call)
    except (struct.error, IndexError, ValueError):
        return None
    return {"program": name, "parsed": {"type": kind, "info": info}}


def _parser(program: Pubkey, data: bytes) -> tuple[str, _Parser | None]:
    if program == SYSTEM:
        return "system", _SYSTEM_CALLS.get(int.from_bytes(data[:4], "little"))
    if program == LOOKUP_TABLES:
        return "address-lookup-table", _TABLE_CALLS.get(int.from_bytes(data[:4], "little"))
    if program in TOKEN_PROGRAMS:
        return "spl-token" if program == TOKEN else "spl-token-2022", _TOKEN_CALLS.get(data[0]) if data else None
    if program == ASSOCIATED_TOKEN_PROGRAM:
        return "spl-associated-token-account", _ASSOCIATED_CALLS.get(data[0] if data else 0)
    return "", None


def _u64(data: bytes, place: int) -> int:
    return int(struct.unpack_from("<Q", data, place)[0])


def _system_create(call: _Call) -> _Description:
    lamports, space, owner = struct.unpack_from("<QQ32s", call.data, 4)
    info = {"lamports": lamports, "space": space, "owner": str(Pubkey.from_bytes(owner))}
    return "createAccount", call.name_accounts("source", "newAccount") | info


def _system_transfer(call: _Call) -> _Description:
    return "transfer", call.name_accounts("source", "destination") | {"lamports": _u64(call.data, 4)}


_TABLE_NAMES = ("lookupTableAccount", "lookupTableAuthority")


def _table_create(call: _Call) -> _Description:
    slot, bump = struct.unpack_from("<QB", call.data, 4)
    info = call.name_accounts(*_TABLE_NAMES, "payerAccount", "systemProgram")
    return "createLookupTable", info | {"recentSlot": slot, "bumpSeed": bump}


def _table_extend(call: _Call) -> _Description:
    count = _u64(call.data, 4)
    addresses = [str(Pubkey.from_bytes(call.data[12 + 32 * place :][:32])) for place in range(count)]
    return "extendLookupTable", call.name_accounts(*_TABLE_NAMES, "payerAccount", "systemProgram") | {
        "newAddresses": addresses
    }


def _table(kind: str, *names: str) -> _Parser:
    return lambda call: (kind, call.name_accounts(*_TABLE_NAMES, *names))


def _associated_parser(kind: str) -> _Parser:
    names = ("source", "account", "wallet", "mint", "systemProgram", "tokenProgram")
    return lambda call: (kind, call.name_accounts(*names))


def _with_amount(kind: str, authority: str, *names: str) -> _Parser:
    def parse(call: _Call) -> _Description:
        return kind, call.with_authority(authority, *names) | {"amount": str(_u64(call.data, 1))}

    return parse


def _with_checked_amount(kind: str, authority: str, *names: str) -> _Parser:
    def parse(call: _Call) -> _Description:
        amount = ui_amount(_u64(call.data, 1), call.data[9])
        return kind, call.with_authority(authority, *names) | {"tokenAmount": amount}

    return parse


def _plain(kind: str, authority: str, *names: str) -> _Parser:
    return lambda call: (kind, call.with_authority(authority, *names))


def _initialize_account(kind: str) -> _Parser:
    def parse(call: _Call) -> _Description:
        owner = str(Pubkey.from_bytes(call.data[1:33])) if len(call.data) > 32 else call.accounts[2]
        return kind, call.name_accounts("account", "mint") | {"owner": owner}

    return parse


def _data_size(call: _Call) -> _Description:
    numbers = [one for (one,) in struct.iter_unpack("<H", call.data[1:])]
    extensions = [_EXTENSIONS[one] for one in numbers]
    return "getAccountDataSize", call.name_accounts("mint") | ({"extensionTypes": extensions} if extensions else {})


# Extensions of token accounts by number, as the size of an account is asked for.
_EXTENSIONS = (
    *("uninitialized", "transferFeeConfig", "transferFeeAmount", "mintCloseAuthority", "confidentialTransferMint"),
    *("confidentialTransferAccount", "defaultAccountState", "immutableOwner", "memoTransfer", "nonTransferable"),
    *("interestBearingConfig", "cpiGuard"),
)
_SYSTEM_CALLS: Mapping[int, _Parser] = {0: _system_create, 2: _system_transfer}
_TABLE_CALLS: Mapping[int, _Parser] = {
    0: _table_create,
    1: _table("freezeLookupTable"),
    2: _table_extend,
    3: _table("deactivateLookupTable"),
    4: _table("closeLookupTable", "recipient"),
}
_ASSOCIATED_CALLS: Mapping[int, _Parser] = {0: _associated_parser("create"), 1: _associated_parser("createIdempotent")}
_TOKEN_CALLS: Mapping[int, _Parser] = {
    1: _initialize_account("initializeAccount"),
    3: _with_amount("transfer", "authority", "source", "destination"),
    4: _with_amount("approve", "owner", "source", "delegate"),
    5: _plain("revoke", "owner", "source"),
    7: _with_amount("mintTo", "mintAuthority", "mint", "account"),
    8: _with_amount("burn", "authority", "account", "mint"),
    9: _plain("closeAccount", "owner", "account", "destination"),
    10: _plain("freezeAccount", "freezeAuthority", "account", "mint"),
    11: _plain("thawAccount", "freezeAuthority", "account", "mint"),
    12: _with_checked_amount("transferChecked", "authority", "source", "mint", "destination"),
    13: _with_checked_amount("approveChecked", "owner", "source", "mint", "delegate"),
    14: _with_checked_amount("mintToChecked", "mintAuthority", "mint", "account"),
    15: _with_checked_amount("burnChecked", "authority", "account", "mint"),
    16: _initialize_account("initializeAccount2"),
    18: _initialize_account("initializeAccount3"),
    21: _data_size,
    22: lambda call: ("initializeImmutableOwner", call.name_accounts("account")),
}
