"""The control verbs of the simulated Base (9.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from eth_utils.address import is_address, to_checksum_address

from sim import control
from sim.base.chain import Chain
from sim.base.cheats import MOST_BLOCKS, MOST_SECONDS
from sim.base.token import call_data
from sim.base.transactions import decode, sign

_GAS = 300_000


class Verbs:
    """Carries out verbs on one chain; money moves by real transactions of the chain's bank."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def fund(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`address`, `amount`: wei from the bank."""
        return self._bank(_address(members, "address"), value=control.amount(members, most=2**128))

    async def mint(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`address`, `amount`, `asset`?: USDC from the token's minter."""
        token = _address(members, "asset") if "asset" in members else self._chain.token.address
        if not self._chain.vm.code(token):
            raise control.Refused("member asset must be a token of this chain")
        arguments = (_address(members, "address"), control.amount(members))
        return self._bank(token, data=call_data("mint(address,uint256)", *arguments))

    async def advance(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`blocks` or `seconds`: empty blocks, or one block that is later; withheld transactions are let in."""
        if ("blocks" in members) == ("seconds" in members):
            raise control.Refused("give exactly one of blocks and seconds")
        blocks = control.integer(members, "blocks", high=MOST_BLOCKS, default=0)
        seconds = control.integer(members, "seconds", high=MOST_SECONDS) if "seconds" in members else None
        self._chain.pool.release()
        if seconds is not None:
            self._chain.clock.set_offset(self._chain.clock.offset + seconds)
            self._chain.seal()
        for _ in range(blocks):
            self._chain.seal()
        return {"block": self._chain.head.number}

    async def block_time_offset(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`seconds`: block times are system time and so much; it never shrinks."""
        self._chain.clock.set_offset(control.integer(members, "seconds", high=MOST_SECONDS))
        self._chain.seal()
        return {"time": self._chain.head.time}

    async def lag(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`blocks`: searches for events trail the newest block by so many; 0 ends it."""
        self._chain.lag = control.integer(members, "blocks")
        return {}

    async def reorg(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`depth`: the last blocks are replaced by empty ones and their transactions are gone."""
        hashes = self._chain.reorganise(control.integer(members, "depth", low=1))
        return {"dropped": ["0x" + one.hex() for one in hashes]}

    async def base_fee(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`amount`: what a unit of gas costs from the next block on, in wei."""
        self._chain.base_fee = control.amount(members)
        return {}

    async def fault(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`name`, `seed`, `count`: the next answers or submissions show the fault; count 0 ends it."""
        control.arm(self._chain.faults, members)
        return {}

    async def release(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Withheld transactions may be put into a block."""
        del members
        return {"released": self._chain.pool.release()}

    async def snapshot(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the whole chain as it is."""
        del members
        return {"id": self._chain.save()}

    async def restore(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`id`: return to a snapshot."""
        self._chain.restore(control.integer(members, "id"))
        return {}

    def by_name(self) -> dict[str, control.Verb]:
        """Return every verb by its name."""
        verbs = (self.fund, self.mint, self.advance, self.block_time_offset, self.lag, self.reorg, self.base_fee)
        return {verb.__name__: verb for verb in (*verbs, self.fault, self.release, self.snapshot, self.restore)}

    def _bank(self, to: str, *, value: int = 0, data: bytes = b"") -> dict[str, Any]:
        chain = self._chain
        raw = sign(
            chain.bank,
            chain_id=chain.id,
            nonce=chain.pending_nonce(chain.bank_address),
            max_fee=chain.base_fee * 2,
            max_tip=0,
            gas=_GAS,
            to=to,
            value=value,
            data=data,
        )
        transaction = decode(raw)
        chain.pool.add(transaction)
        chain.seal()
        entry = chain.index.get(transaction.hash)
        if entry is None or not entry.outcome.ok:
            raise control.Refused("the chain did not take the bank's transaction")
        return {"tx_id": "0x" + transaction.hash.hex()}


async def carry_out(chain: Chain, request: object) -> tuple[int, dict[str, Any]]:
    """Return status and body of one control call."""
    return await control.carry_out(Verbs(chain).by_name(), request)


def describe(chain: Chain) -> dict[str, Any]:
    """Return verbs and faults with what each does."""
    return control.describe(Verbs(chain).by_name(), chain.faults)


def _address(members: Mapping[str, Any], name: str) -> str:
    text = control.text(members, name)
    if not is_address(text):
        raise control.Refused(f"member {name} must be an address")
    return str(to_checksum_address(text))
