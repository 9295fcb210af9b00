"""The control verbs of the simulated Solana (9.1)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from solders.pubkey import Pubkey

from sim import control
from sim.json_rpc import RpcError
from sim.solana import faucet
from sim.solana.chain import Chain
from sim.solana.rpc_call import read_key

_MOST_BLOCKS, _MOST_SECONDS = 100_000, 10**10


class Verbs:
    """Carries out verbs on one chain; money moves by real transactions of the chain's bank."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def fund(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`address`, `amount`: lamports from the bank."""
        receiver, amount = _address(members, "address"), control.amount(members)
        return self._pay_from_bank(lambda: faucet.fund(self._chain, receiver, amount))

    async def mint(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`address`, `amount`, `asset`?: USDC for an owner, whose token account is made; amount 0 does only that."""
        owner, amount = _address(members, "address"), control.amount(members)
        token = _address(members, "asset") if "asset" in members else self._chain.mints[0]
        if token not in self._chain.mints:
            raise control.Refused("member asset must be a mint of this chain")
        return self._pay_from_bank(lambda: faucet.mint(self._chain, owner, token, amount))

    def _pay_from_bank(self, pay: Callable[[], str]) -> dict[str, Any]:
        try:
            signature = pay()
        except faucet.BankFailed as fault:
            raise control.Refused(str(fault)) from fault
        self._chain.seal()
        return {"tx_id": signature}

    async def advance(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`blocks` or `seconds`: empty slots, or one slot that is later; withheld transactions land before."""
        if ("blocks" in members) == ("seconds" in members):
            raise control.Refused("give exactly one of blocks and seconds")
        blocks = control.integer(members, "blocks", high=_MOST_BLOCKS, default=0)
        self._chain.release()
        if "seconds" in members:
            later = control.integer(members, "seconds", high=_MOST_SECONDS)
            self._chain.clock.set_offset(self._chain.clock.offset + later)
            self._chain.seal()
        for _ in range(blocks):
            self._chain.seal()
        return {"slot": self._chain.head.number}

    async def block_time_offset(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`seconds`: block times are system time and so much; it never shrinks."""
        self._chain.clock.set_offset(control.integer(members, "seconds", high=_MOST_SECONDS))
        self._chain.seal()
        return {"time": self._chain.head.time}

    async def lag(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`blocks`: searches by address trail the newest slot by so many; 0 ends it."""
        self._chain.lag = control.integer(members, "blocks")
        return {}

    async def reorg(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`depth`: the last slots are replaced by empty ones; their transactions and effects are gone."""
        return {"dropped": self._chain.reorganise(control.integer(members, "depth", low=1))}

    async def fault(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`name`, `seed`, `count`: the next answers or submissions show the fault; count 0 ends it."""
        control.arm(self._chain.faults, members)
        return {}

    async def release(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Withheld transactions land, unless their blockhash has expired."""
        del members
        return {"released": len(self._chain.release())}

    async def snapshot(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the whole chain as it is."""
        del members
        return {"id": self._chain.save()}

    async def restore(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`id`: return to a snapshot."""
        self._chain.restore(control.integer(members, "id"))
        return {"slot": self._chain.head.number}

    def by_name(self) -> dict[str, control.Verb]:
        """Return every verb by its name."""
        verbs = (self.fund, self.mint, self.advance, self.block_time_offset, self.lag, self.reorg)
        return {verb.__name__: verb for verb in (*verbs, self.fault, self.release, self.snapshot, self.restore)}


async def carry_out(chain: Chain, request: object) -> tuple[int, dict[str, Any]]:
    """Return status and body of one control call."""
    return await control.carry_out(Verbs(chain).by_name(), request)


def describe(chain: Chain) -> dict[str, Any]:
    """Return verbs and faults with what each does."""
    return control.describe(Verbs(chain).by_name(), chain.faults)


def _address(members: Mapping[str, Any], name: str) -> Pubkey:
    try:
        return read_key(control.text(members, name))
    except RpcError:
        raise control.Refused(f"member {name} must be an address") from None
