"""Base on Anvil: finding it, starting it, and the control verbs as its cheat calls (9.1)."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eth_abi.abi import encode
from eth_utils.address import is_address, to_checksum_address
from eth_utils.crypto import keccak

from localnet import control_verbs, npm
from localnet.control_verbs import Members, Refused, Verb
from localnet.rpc import NodeFault, Rpc

# USDC of each network with the name of its EIP-712 domain (P-NW-03).
TOKENS: Mapping[int, tuple[str, str]] = {
    8453: ("0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913", "USD Coin"),
    84532: ("0x036CbD53842c5426634e7929541eC2318f3dCF7e", "USDC"),
}
_ARTEFACT = Path(__file__).parents[3] / "sim" / "base" / "contracts" / "FiatToken.json"
_DECIMALS = 6
# Anvil plays any account, so the token's minter is an address without a known key.
_MINTER = str(to_checksum_address(keccak(b"weldproof localnet minter")[12:]))
_ENOUGH_WEI = 10**24
_MOST_WEI, _MOST_UNITS = 2**128, 2**64
_MOST_BLOCKS, _MOST_SECONDS = 10_000, 10**9
_GAS = hex(1_000_000)


def executable() -> str:
    """Return the path of Anvil: $ANVIL, the PATH, else the pinned npm package.

    Raises:
        Missing: Anvil is not installed, and npm cannot install it.
    """
    return os.environ.get("ANVIL") or shutil.which("anvil") or str(_npm_path())


def _npm_path() -> Path:
    return npm.node_modules() / "@foundry-rs" / "anvil-linux-amd64" / "bin" / "anvil"


def command(port: int, chain_id: int, block_seconds: float) -> list[str]:
    """Return the words that start Anvil: blocks come by themselves, and are final one block later (P-NW-05)."""
    return [
        *(executable(), "--silent", "--host", "127.0.0.1", "--port", str(port), "--chain-id", str(chain_id)),
        *("--block-time", str(block_seconds), "--slots-in-an-epoch", "1", "--accounts", "0"),
    ]


def call_data(signature: str, *arguments: Any) -> str:
    """Return the call data of a function named as in its ABI, such as `mint(address,uint256)`, in hex."""
    types = signature[signature.index("(") + 1 : -1].split(",")
    return "0x" + (bytes(keccak(signature.encode()))[:4] + encode(types, arguments)).hex()


class AnvilVerbs:
    """Control verbs of one Anvil."""

    def __init__(self, rpc: Rpc) -> None:
        self._rpc = rpc
        self._asset = ""
        self._offset = 0
        self._turn = asyncio.Lock()
        self._snapshots: dict[int, str] = {}

    async def prepare(self) -> None:
        """Plant the token at its real address, with a minter whom Anvil plays."""
        chain_id = int(await self._rpc.ask("eth_chainId"), 16)
        if chain_id not in TOKENS:
            raise NodeFault(f"no USDC is known for chain id {chain_id}, only for {', '.join(map(str, TOKENS))}")
        self._asset, name = TOKENS[chain_id]
        await self._rpc.ask("anvil_impersonateAccount", _MINTER)
        await self._rpc.ask("anvil_setBalance", _MINTER, hex(_ENOUGH_WEI))
        if await self._rpc.ask("eth_getCode", self._asset, "latest") != "0x":
            return
        code = json.loads(_ARTEFACT.read_bytes())["deployedBytecode"]
        await self._rpc.ask("anvil_setCode", self._asset, code)
        start = "initialize(string,string,string,uint8,address)"
        await self._as_minter(self._asset, call_data(start, name, "USDC", "2", _DECIMALS, _MINTER))

    async def fund(self, members: Members) -> dict[str, Any]:
        """`address`, `amount`: wei more than before."""
        address, wei = _address(members, "address"), control_verbs.amount(members, most=_MOST_WEI)
        async with self._turn:
            have = int(await self._rpc.ask("eth_getBalance", address, "latest"), 16)
            await self._rpc.ask("anvil_setBalance", address, hex(have + wei))
        return {}

    async def mint(self, members: Members) -> dict[str, Any]:
        """`address`, `amount`, `asset`?: USDC from the token's minter, in a block of its own."""
        asset = _address(members, "asset") if "asset" in members else self._asset
        if asset != self._asset:
            raise Refused(f"member asset must be {self._asset}, the token whose minter this node plays")
        data = call_data(
            "mint(address,uint256)", _address(members, "address"), control_verbs.amount(members, most=_MOST_UNITS)
        )
        return {"tx_id": await self._as_minter(asset, data)}

    async def advance(self, members: Members) -> dict[str, Any]:
        """`blocks` or `seconds`: empty blocks, or one block that is so much later, as are those that follow."""
        if ("blocks" in members) == ("seconds" in members):
            raise Refused("give exactly one of blocks and seconds")
        async with self._turn:
            if "seconds" in members:
                await self._later(control_verbs.integer(members, "seconds", low=0, high=_MOST_SECONDS))
            else:
                blocks = control_verbs.integer(members, "blocks", low=0, high=_MOST_BLOCKS)
                await self._rpc.ask("anvil_mine", hex(blocks))
        return {"block": int(await self._rpc.ask("eth_blockNumber"), 16)}

    async def block_time_offset(self, members: Members) -> dict[str, Any]:
        """`seconds`: block times are system time and so much; it never shrinks."""
        seconds = control_verbs.integer(members, "seconds", low=0, high=_MOST_SECONDS)
        async with self._turn:
            if seconds < self._offset:
                raise Refused(f"member seconds must be at least {self._offset}: block times do not run backwards")
            await self._later(seconds - self._offset)
        return {}

    async def reorg(self, members: Members) -> dict[str, Any]:
        """`depth`: the last blocks are replaced by empty ones and their transactions are gone."""
        depth = control_verbs.integer(members, "depth", low=1, high=_MOST_BLOCKS)
        async with self._turn:
            await self._rpc.ask("anvil_reorg", depth, [])
        return {}

    async def snapshot(self, members: Members) -> dict[str, Any]:
        """Keep the whole chain as it is."""
        del members
        async with self._turn:
            number = len(self._snapshots)
            self._snapshots[number] = await self._rpc.ask("evm_snapshot")
        return {"id": number}

    async def restore(self, members: Members) -> dict[str, Any]:
        """`id`: return to a snapshot, as often as wanted; later ones are gone."""
        number = control_verbs.integer(members, "id", low=0, high=2**31)
        async with self._turn:
            if number not in self._snapshots or not await self._rpc.ask("evm_revert", self._snapshots[number]):
                raise Refused(f"there is no snapshot {number}")
            # Anvil forgets a snapshot that it returned to.
            older_snapshots = {known: name for known, name in self._snapshots.items() if known < number}
            self._snapshots = {**older_snapshots, number: await self._rpc.ask("evm_snapshot")}
        return {}

    def by_name(self) -> Mapping[str, Verb]:
        """Return every verb by its name."""
        methods = (self.fund, self.mint, self.advance, self.block_time_offset, self.reorg, self.snapshot, self.restore)
        return {verb.__name__: verb for verb in methods}

    async def _later(self, seconds: int) -> None:
        await self._rpc.ask("evm_increaseTime", seconds)
        self._offset += seconds
        await self._rpc.ask("evm_mine")

    async def _as_minter(self, to: str, data: str) -> str:
        async with self._turn:
            call = {"from": _MINTER, "to": to, "data": data, "gas": _GAS}
            tx_id = str(await self._rpc.ask("eth_sendTransaction", call))
            await self._rpc.ask("evm_mine")
        receipt = await self._rpc.ask("eth_getTransactionReceipt", tx_id)
        if not isinstance(receipt, dict) or receipt.get("status") != "0x1":
            raise NodeFault("the token's minter was refused")
        return tx_id


def _address(members: Members, name: str) -> str:
    value = control_verbs.text(members, name)
    if not is_address(value):
        raise Refused(f"member {name} must be an address")
    return str(to_checksum_address(value))
