"""Parameters of a call: read, checked, and refused with JSON-RPC's code for bad ones."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from eth_utils.address import to_checksum_address

from sim.base.vm import GAS_LIMIT, Message
from sim.json_rpc import INVALID_PARAMS, RpcError

ZERO_ADDRESS = "0x" + "0" * 40
_MOST_TOPICS = 4
_QUANTITY = re.compile("0x[0-9a-fA-F]{1,64}")
_BYTES = re.compile("0x[0-9a-fA-F]*")


@dataclass(frozen=True, slots=True)
class LogFilter:
    """Which events are meant.

    Attributes:
        addresses: Lower-case addresses of contracts; empty means any.
        topics: For each place the lower-case topics that fit there; empty means any.
    """

    addresses: frozenset[str]
    topics: tuple[frozenset[str], ...]


def invalid(reason: str) -> RpcError:
    """Return the error for a bad parameter."""
    return RpcError(INVALID_PARAMS, f"invalid argument: {reason}")


def at(params: list[Any], place: int) -> Any:
    """Return a parameter, None when it is not given."""
    return params[place] if place < len(params) else None


def mapping(params: list[Any], place: int) -> dict[str, Any]:
    """Return a parameter that is an object.

    Raises:
        RpcError: It is not an object.
    """
    value = at(params, place)
    if not isinstance(value, dict):
        raise invalid(f"{place} is no object")
    return value


def quantity_of(value: Any) -> int:
    """Return a number of 256 bits that is written as `0x…` or as a JSON integer.

    Raises:
        RpcError: It is not such a number.
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= 0:
        return value
    if isinstance(value, str) and _QUANTITY.fullmatch(value):
        return int(value, 16)
    raise invalid(f"{str(value)[:80]!r} is no quantity")


def number(params: list[Any], place: int) -> int:
    """Return a parameter that is a quantity."""
    return quantity_of(at(params, place))


def hex_of(value: Any) -> bytes:
    """Return bytes that are written as `0x…`.

    Raises:
        RpcError: They are not.
    """
    try:
        if isinstance(value, str) and _BYTES.fullmatch(value):
            return bytes.fromhex(value[2:])
    except ValueError:  # an odd number of digits
        pass
    raise invalid("not hexadecimal data with 0x")


def hash_of(value: Any) -> bytes:
    """Return 32 bytes."""
    digest = hex_of(value)
    if len(digest) != 32:
        raise invalid("a hash has 32 bytes")
    return digest


def address_of(value: Any) -> str:
    """Return an address, checksummed."""
    raw = hex_of(value)
    if len(raw) != 20:
        raise invalid("an address has 20 bytes")
    return str(to_checksum_address(raw))


def address(params: list[Any], place: int) -> str:
    """Return a parameter that is an address, checksummed."""
    return address_of(at(params, place))


def message_of(params: list[Any]) -> Message:
    """Return the call that `eth_call` and `eth_estimateGas` are asked about.

    Raises:
        RpcError: A member is malformed, or `input` and `data` differ.
    """
    call = mapping(params, 0)
    to, inputs = call.get("to"), [hex_of(call[name]) for name in ("input", "data") if call.get(name) is not None]
    if len(set(inputs)) > 1:
        raise RpcError(-32000, 'both "data" and "input" are set and not equal. Please use "input" to pass transaction')
    gas = call.get("gas")
    return Message(
        sender=address_of(call.get("from") or ZERO_ADDRESS),
        to=None if to is None else address_of(to),
        data=inputs[0] if inputs else b"",
        value=quantity_of(call.get("value") or "0x0"),
        gas=GAS_LIMIT if gas is None else min(GAS_LIMIT, quantity_of(gas)),
    )


def log_filter(members: dict[str, Any]) -> LogFilter:
    """Return the filter in the members `address` and `topics`.

    Raises:
        RpcError: One of them is malformed.
    """
    topics = members.get("topics") or []
    if not isinstance(topics, list) or len(topics) > _MOST_TOPICS:
        raise invalid(f"topics are a list of at most {_MOST_TOPICS}")
    addresses = [address_of(one).lower() for one in _choice(members.get("address"))]
    return LogFilter(frozenset(addresses), tuple(_topics(one) for one in topics))


def _topics(topic: Any) -> frozenset[str]:
    choice = _choice(topic)
    if None in choice:
        return frozenset()
    return frozenset("0x" + hash_of(one).hex() for one in choice)


def _choice(value: Any) -> list[Any]:
    if value is None:
        return []
    return value if isinstance(value, list) else [value]
