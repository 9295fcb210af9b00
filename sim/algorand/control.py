"""The control verbs of the simulated Algorand (9.1)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim import control
from sim.algorand.chain import Chain
from sim.algorand.encoding import Malformed, decode_address, pack, transaction_id
from sim.algorand.mode import Mode
from sim.algorand.stateless_checks import Rejected, Signed

_LIFE = 100


class Verbs:
    """Carries out verbs on one chain; money moves by real transactions of the chain's bank."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    async def fund(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`address`, `amount`: Algos from the bank."""
        receiver, amount = _address(members), control.amount(members)
        return {"tx_id": await self._bank({"type": "pay", "rcv": receiver, "amt": amount})}

    async def mint(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`address`, `amount`, `asset`?: USDC to an account that has opted in, by a transfer from the bank."""
        receiver, amount = _address(members), control.amount(members)
        transfer = {"type": "axfer", "xaid": self._asset(members), "arcv": receiver, "aamt": amount}
        return {"tx_id": await self._bank(transfer)}

    async def opt_in(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`address`, `asset`?: opts an account in without its key, which no real chain can do."""
        self._chain.opt_in(_address(members), self._asset(members))
        return {}

    async def clawback(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`address`, `receiver`, `amount`, `asset`?, `note`?: the issuer moves USDC of another account."""
        transfer = {
            "type": "axfer",
            "xaid": self._asset(members),
            "asnd": _address(members),
            "arcv": _address(members, "receiver"),
            "aamt": control.amount(members),
        }
        note = str(members.get("note", "")).encode()
        return {"tx_id": await self._bank(transfer, note=note)}

    async def advance(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`blocks` or `seconds`: empty blocks, or one block that is later; withheld transactions are let in."""
        if ("blocks" in members) == ("seconds" in members):
            raise control.Refused("give exactly one of blocks and seconds")
        if "seconds" in members and self._chain.mode is Mode.DEV:
            raise control.Refused("block times of DevMode cannot be moved on; the verb idle moves the node's clock")
        self._chain.release()
        if "seconds" in members:
            self._chain.clock.set_offset(self._chain.clock.offset + control.integer(members, "seconds"))
            self._chain.seal()
        for _ in range(control.integer(members, "blocks", default=0)):
            self._chain.seal()
        return {"round": self._chain.round}

    async def block_time_offset(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`seconds`: block times are system time plus this; never less than before."""
        self._chain.clock.set_offset(control.integer(members, "seconds"))
        self._chain.seal()
        return {"round": self._chain.round}

    async def idle(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`seconds`: so much time passes for the node without a block; only DevMode's block times fall behind."""
        self._chain.clock.set_offset(self._chain.clock.offset + control.integer(members, "seconds"))
        return {"round": self._chain.round}

    async def lag(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`blocks`: the indexer trails by so many; 0 ends it."""
        self._chain.lag = control.integer(members, "blocks")
        return {}

    async def reorg(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Refused: a block of this chain is final."""
        del members
        raise control.Refused("this chain's blocks are final; it does not reorganise")

    async def fault(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`name`, `seed`, `count`: the next answers (or submissions) show the fault; 0 ends it."""
        control.arm(self._chain.faults, members)
        return {}

    async def release(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Let withheld transactions into the pool."""
        del members
        return {"released": self._chain.release()}

    async def snapshot(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """Keep the chain as it is and answer its id."""
        del members
        return {"id": self._chain.save()}

    async def restore(self, members: Mapping[str, Any]) -> dict[str, Any]:
        """`id`: return the whole chain to a snapshot."""
        self._chain.restore(control.integer(members, "id"))
        return {"round": self._chain.round}

    def by_name(self) -> dict[str, control.Verb]:
        """Return every verb by its name."""
        money = (self.fund, self.mint, self.opt_in, self.clawback)
        clock = self.idle if self._chain.mode is Mode.DEV else self.block_time_offset
        chain_verbs = (self.advance, clock, self.lag, self.reorg, self.fault, self.release, self.snapshot, self.restore)
        return {verb.__name__: verb for verb in (*money, *chain_verbs)}

    def _asset(self, members: Mapping[str, Any]) -> int:
        text = str(members.get("asset", self._chain.genesis.assets[0]))
        if not (text.isascii() and text.isdecimal() and len(text) <= 20):
            raise control.Refused("member asset must be an asset id")
        return int(text)

    async def _bank(self, fields: Mapping[str, Any], note: bytes = b"") -> str:
        """Send a signed transaction of the bank, and return its id once it is in a block."""
        chain = self._chain
        transaction = {
            **fields,
            "snd": bytes(chain.bank.verify_key),
            "fee": chain.protocol.min_fee,
            "fv": chain.round + 1,
            "lv": chain.round + _LIFE,
            "gen": chain.genesis.id,
            "gh": chain.genesis.hash,
            "note": note or f"bank {next(chain.bank_notes)}".encode(),
        }
        members = {name: value for name, value in transaction.items() if value != 0}
        signature = chain.bank.sign(b"TX" + pack(members)).signature
        try:
            chain.submit([Signed.of({"sig": signature, "txn": members})])
        except Rejected as reason:
            raise control.Refused(str(reason)) from reason
        tx_id = transaction_id(members)
        if chain.mode is Mode.ROUNDS:
            while chain.find_pending(tx_id) is not None:
                await chain.wait_after(chain.round, _LIFE)
        elif chain.mode is Mode.STEADY:
            chain.seal()
        return tx_id


async def carry_out(chain: Chain, request: object) -> tuple[int, dict[str, Any]]:
    """Return status and body of one control call."""
    return await control.carry_out(Verbs(chain).by_name(), request)


def describe(chain: Chain) -> dict[str, Any]:
    """Return verbs and faults with what each does."""
    return control.describe(Verbs(chain).by_name(), chain.faults)


def _address(members: Mapping[str, Any], name: str = "address") -> bytes:
    try:
        return decode_address(control.text(members, name))
    except Malformed as fault:
        raise control.Refused(str(fault)) from fault
