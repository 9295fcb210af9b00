"""Anvil's cheat names, so that funding and time are one code path with that real local node."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sim.base.arguments import address, at, hex_of, invalid, number, quantity_of
from sim.base.chain import Chain
from sim.json_rpc import Positional

MOST_BLOCKS, MOST_SECONDS = 100_000, 10**10


class Cheats:
    """What only a local node does when it is asked to."""

    def __init__(self, chain: Chain) -> None:
        self._chain = chain

    def by_name(self) -> Mapping[str, Positional]:
        """Return every cheat by its name."""
        return {
            "anvil_setBalance": self._set_balance,
            "anvil_setCode": self._set_code,
            "anvil_setStorageAt": self._set_storage,
            "evm_increaseTime": self._increase_time,
            "anvil_increaseTime": self._increase_time,
            "evm_mine": self._mine_at,
            "anvil_mine": self._mine_many,
        }

    def _set_balance(self, params: list[Any]) -> None:
        account, amount = address(params, 0), number(params, 1)
        self._chain.operate(lambda vm: vm.set_balance(account, amount))

    def _set_code(self, params: list[Any]) -> None:
        account, code = address(params, 0), hex_of(at(params, 1))
        self._chain.operate(lambda vm: vm.set_code(account, code))

    def _set_storage(self, params: list[Any]) -> bool:
        account, slot, value = address(params, 0), number(params, 1), number(params, 2)
        self._chain.operate(lambda vm: vm.set_storage(account, slot, value))
        return True

    def _increase_time(self, params: list[Any]) -> int:
        """Return the whole offset in seconds, as Anvil does."""
        seconds = number(params, 0)
        if seconds > MOST_SECONDS:
            raise invalid(f"at most {MOST_SECONDS} seconds")
        self._chain.clock.set_offset(self._chain.clock.offset + seconds)
        return int(self._chain.clock.offset)

    def _mine_at(self, params: list[Any]) -> str:
        """Take a time, or an object with `timestamp` and `blocks`, either of which may lack."""
        argument = at(params, 0)
        members = argument if isinstance(argument, dict) else {"timestamp": argument}
        time, blocks = members.get("timestamp"), members.get("blocks")
        if time is not None:
            later = quantity_of(time) - self._chain.clock.now()
            if later > MOST_SECONDS:
                raise invalid(f"at most {MOST_SECONDS} seconds from now")
            self._chain.clock.set_offset(self._chain.clock.offset + later)
        self._mine(1 if blocks is None else quantity_of(blocks))
        return "0x0"

    def _mine_many(self, params: list[Any]) -> None:
        """Take how many blocks, one when nothing is said."""
        self._mine(number(params, 0) if at(params, 0) is not None else 1)

    def _mine(self, blocks: int) -> None:
        if blocks > MOST_BLOCKS:
            raise invalid(f"at most {MOST_BLOCKS} blocks")
        for _ in range(blocks):
            self._chain.seal()
