"""One RPC call: its parameters, checked, and the state that it asks about."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import base58
from solders.pubkey import Pubkey

from sim.json_rpc import INVALID_PARAMS, RpcError
from sim.solana.chain import Chain
from sim.solana.slots import Level, Standing

API_VERSION = "4.1.2"
MIN_CONTEXT_SLOT_NOT_REACHED = -32016
_SIGNATURE_BYTES = 64
_KEY_BYTES = 32


def invalid(message: str) -> RpcError:
    """Return the node's error for parameters that it does not take."""
    return RpcError(INVALID_PARAMS, message)


class Ask:
    """The parameters of a call with the chain it is put to."""

    def __init__(self, chain: Chain, params: list[Any], standing: Standing) -> None:
        self.chain = chain
        self.standing = standing
        self._params = params

    def at(self, place: int) -> Any:
        """Return a positional parameter, None when it is not given."""
        return self._params[place] if place < len(self._params) else None

    def text(self, place: int) -> str:
        """Return a text parameter."""
        value = self.at(place)
        if not isinstance(value, str):
            raise invalid(f"`params` should have at least {place + 1} argument(s), texts")
        return value

    def number(self, place: int) -> int:
        """Return a u64 parameter."""
        value = self.at(place)
        if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < 2**64:
            raise invalid("Invalid params: expected u64.")
        return value

    def texts(self, place: int, most: int) -> list[str]:
        """Return a list of at most so many texts."""
        value = self.at(place)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise invalid("Invalid params: expected a sequence of strings.")
        if len(value) > most:
            raise invalid(f"Too many inputs provided; max {most}")
        return value

    def key(self, place: int) -> Pubkey:
        """Return an address parameter."""
        return read_key(self.text(place))

    def signature(self, place: int) -> str:
        """Return a signature parameter."""
        return read_signature(self.text(place))

    def options(self, place: int) -> Mapping[str, Any]:
        """Return the configuration object, empty when it is not given."""
        value = self.at(place)
        if value is None:
            return {}
        if not isinstance(value, dict):
            raise invalid("Invalid params: expected a configuration object.")
        return value

    def level(self, options: Mapping[str, Any], default: Level = Level.finalized) -> Level:
        """Return the commitment of a configuration, after its minContextSlot has been looked at."""
        level = read_level(options.get("commitment"), default)
        least_slot = options.get("minContextSlot")
        newest = self.standing.slot(level)
        if isinstance(least_slot, int) and least_slot > newest:
            message = "Minimum context slot has not been reached"
            raise RpcError(MIN_CONTEXT_SLOT_NOT_REACHED, message, {"contextSlot": newest})
        return level

    def slot(self, place: int, default: Level = Level.finalized) -> int:
        """Return the newest slot of the commitment that the configuration asks for."""
        return self.standing.slot(self.level(self.options(place), default))


def in_context(slot: int, value: Any) -> dict[str, Any]:
    """Return a value with the slot that it was read at."""
    return {"context": {"apiVersion": API_VERSION, "slot": slot}, "value": value}


def read_level(value: Any, default: Level = Level.finalized) -> Level:
    """Return a commitment level.

    Raises:
        RpcError: No commitment has that name.
    """
    if value is None:
        return default
    if not isinstance(value, str) or value not in Level.__members__:
        raise invalid(f"Invalid params: unknown variant {str(value)[:40]!r}, expected a commitment level.")
    return Level[value]


def read_key(text: str) -> Pubkey:
    """Return an address.

    Raises:
        RpcError: The text is not an address.
    """
    return Pubkey.from_bytes(_read_base58(text, _KEY_BYTES))


def read_signature(text: str) -> str:
    """Return a signature's text.

    Raises:
        RpcError: The text is not a signature.
    """
    _read_base58(text, _SIGNATURE_BYTES)
    return text


def _read_base58(text: str, size: int) -> bytes:
    try:
        raw = base58.b58decode(text) if len(text) <= size * 2 else b""
    except ValueError:
        raise invalid("Invalid param: Invalid") from None
    if len(raw) != size:
        raise invalid("Invalid param: WrongSize")
    return raw


Method: TypeAlias = Callable[[Ask], Any]
