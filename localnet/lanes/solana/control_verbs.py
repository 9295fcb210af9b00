"""Solana's control verbs: money moves by transactions of a bank that the faucet filled (9.1)."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from solders.compute_budget import set_compute_unit_limit
from solders.hash import Hash
from solders.instruction import Instruction
from solders.keypair import Keypair
from solders.message import MessageV0
from solders.pubkey import Pubkey
from solders.system_program import TransferParams, transfer
from solders.transaction import VersionedTransaction
from spl.token.constants import TOKEN_PROGRAM_ID
from spl.token.instructions import (
    create_idempotent_associated_token_account,
    get_associated_token_address,
    mint_to_checked,
)
from spl.token.models import MintToCheckedParams

from localnet import control_verbs
from localnet.control_verbs import Members, Refused, Verb
from localnet.rpc import NodeFault, Rpc

# USDC of the main network and of the development network (P-NW-05).
MINTS = ("EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v", "4zMMC9srt5Ri5X14GAgXhaHii3GnPAEERYPJgZJDncDU")
DECIMALS = 6
_SUPPLY, _MINT_LAMPORTS = 10**15, 10**9
_BANK_LAMPORTS = 9 * 10**14
# So many units that a mint's whole supply is not given away in one call.
_MOST_LAMPORTS, _MOST_UNITS = 2**63, 10**15
_UNITS, _SPREAD = 200_000, 100_000
# How often a transaction is signed at most. On a busy machine a blockhash may be too old before the node gets it.
_SIGNATURES = 5
_UNKNOWN_BLOCKHASH = "Blockhash not found"
_CONFIRM_SECONDS, _PAUSE = 20.0, 0.02


def mint_data(authority: Pubkey) -> bytes:
    """Return what a mint account holds whose authority can make more (82 bytes, SPL Token's layout)."""
    may_mint, nobody_freezes = (1).to_bytes(4, "little") + bytes(authority), bytes(4 + 32)
    return may_mint + _SUPPLY.to_bytes(8, "little") + bytes((DECIMALS, 1)) + nobody_freezes


def mint_account(mint: str, authority: str) -> dict[str, Any]:
    """Return a mint account in the form that `solana-test-validator --account` reads."""
    data = base64.b64encode(mint_data(Pubkey.from_string(authority))).decode()
    content = {
        "lamports": _MINT_LAMPORTS,
        "data": [data, "base64"],
        "owner": str(TOKEN_PROGRAM_ID),
        "executable": False,
        "rentEpoch": 0,
    }
    return {"pubkey": mint, "account": content}


def read_bank(path: Path) -> Keypair:
    """Return the bank's key pair from a file that holds a JSON array of 64 numbers."""
    return Keypair.from_bytes(bytes(json.loads(path.read_text("ascii"))))


class SolanaVerbs:
    """Control verbs of one Solana node; what takes cheat calls beyond funding, it lacks."""

    def __init__(self, rpc: Rpc, bank: Keypair) -> None:
        self._rpc = rpc
        self._bank = bank
        self._numbers = itertools.count()

    async def prepare(self) -> None:
        """Fill the bank from the faucet, and plant the mints where the node does not have them yet."""
        for mint in MINTS:
            answer = await self._rpc.ask("getAccountInfo", mint, {"encoding": "base64", "commitment": "confirmed"})
            if not isinstance(answer, dict) or answer.get("value") is None:
                account = {
                    "lamports": _MINT_LAMPORTS,
                    "owner": str(TOKEN_PROGRAM_ID),
                    "data": mint_data(self._bank.pubkey()).hex(),
                    "executable": False,
                }
                await self._rpc.ask("surfnet_setAccount", mint, account)
        await self._wait_until_settled(await self._rpc.ask("requestAirdrop", str(self._bank.pubkey()), _BANK_LAMPORTS))

    async def fund(self, members: Members) -> dict[str, Any]:
        """`address`, `amount`: lamports from the bank."""
        receiver, lamports = _address(members, "address"), control_verbs.amount(members, most=_MOST_LAMPORTS)
        params = TransferParams(from_pubkey=self._bank.pubkey(), to_pubkey=receiver, lamports=lamports)
        return {"tx_id": await self._carried_out([transfer(params)])}

    async def mint(self, members: Members) -> dict[str, Any]:
        """`address`, `amount`, `asset`?: USDC for an owner, whose token account is made; amount 0 does only that."""
        owner, units = _address(members, "address"), control_verbs.amount(members, most=_MOST_UNITS)
        asset = _address(members, "asset") if "asset" in members else Pubkey.from_string(MINTS[0])
        if str(asset) not in MINTS:
            raise Refused(f"member asset must be one of {', '.join(MINTS)}, the tokens that this node's bank makes")
        bank = self._bank.pubkey()
        place = get_associated_token_address(owner, asset)
        creation = create_idempotent_associated_token_account(bank, owner, asset)
        params = MintToCheckedParams(
            program_id=TOKEN_PROGRAM_ID, mint=asset, dest=place, mint_authority=bank, amount=units, decimals=DECIMALS
        )
        return {"tx_id": await self._carried_out([creation, *([mint_to_checked(params)] if units else [])])}

    def by_name(self) -> Mapping[str, Verb]:
        """Return every verb by its name."""
        return {verb.__name__: verb for verb in (self.fund, self.mint)}

    async def _carried_out(self, instructions: Sequence[Instruction]) -> str:
        """Send the bank's transaction and return its id once it is confirmed."""
        # Two equal transactions on one blockhash would be one: their compute limits tell them apart.
        apart = set_compute_unit_limit(_UNITS + next(self._numbers) % _SPREAD)
        options = {"encoding": "base64", "preflightCommitment": "confirmed"}
        tries_left = _SIGNATURES
        while True:
            recent = await self._rpc.ask("getLatestBlockhash", {"commitment": "confirmed"})
            blockhash = Hash.from_string(recent["value"]["blockhash"])
            message = MessageV0.try_compile(self._bank.pubkey(), [apart, *instructions], [], blockhash)
            raw = base64.b64encode(bytes(VersionedTransaction(message, [self._bank]))).decode()
            tries_left -= 1
            try:
                return await self._wait_until_settled(await self._rpc.ask("sendTransaction", raw, options))
            except NodeFault as fault:
                # The node says so before it forwards a transaction, and no other node has this one: it never lands.
                if _UNKNOWN_BLOCKHASH not in str(fault) or not tries_left:
                    raise

    async def _wait_until_settled(self, tx_id: object) -> str:
        loop = asyncio.get_running_loop()
        ends = loop.time() + _CONFIRM_SECONDS
        while loop.time() < ends:
            answer = await self._rpc.ask("getSignatureStatuses", [tx_id])
            status = answer["value"][0]
            if status is not None and status.get("err") is not None:
                raise NodeFault(f"the bank's transaction failed: {status['err']}")
            if status is not None and status.get("confirmationStatus") in {"confirmed", "finalized"}:
                return str(tx_id)
            await asyncio.sleep(_PAUSE)
        raise NodeFault(f"the bank's transaction was not confirmed within {_CONFIRM_SECONDS:g} s")


def _address(members: Members, name: str) -> Pubkey:
    try:
        return Pubkey.from_string(control_verbs.text(members, name))
    except ValueError:
        raise Refused(f"member {name} must be an address") from None
