"""`POST /control`: one form for all chains (9.1)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from sim.faults import Faults


class Refused(Exception):
    """A verb that is unknown, badly given, or that the chain does not do; the text says which."""


Verb = Callable[[Mapping[str, Any]], Awaitable[dict[str, Any]]]


def text(members: Mapping[str, Any], name: str) -> str:
    """Return a text member.

    Raises:
        Refused: It is missing or no text.
    """
    value = members.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(f"member {name} must be a text")
    return value


def amount(members: Mapping[str, Any], *, most: int = 2**64) -> int:
    """Return `amount`, a decimal string of atomic units smaller than `most`.

    Raises:
        Refused: It is not such a string.
    """
    value = text(members, "amount")
    if not (value.isascii() and value.isdecimal() and len(value) <= 40 and int(value) < most):
        raise Refused("member amount must be a decimal string of atomic units")
    return int(value)


def integer(
    members: Mapping[str, Any], name: str, *, low: int = 0, high: int | None = None, default: int | None = None
) -> int:
    """Return an integer member.

    Raises:
        Refused: It is missing without a default, no integer, smaller than `low` or larger than `high`.
    """
    value = members.get(name, default)
    if not isinstance(value, int) or isinstance(value, bool) or value < low:
        raise Refused(f"member {name} must be an integer of at least {low}")
    if high is not None and value > high:
        raise Refused(f"member {name} must be at most {high}")
    return value


def arm(faults: Faults, members: Mapping[str, Any]) -> None:
    """Switch a fault on for the next answers, by the members `name`, `seed` and `count`; count 0 ends it.

    Raises:
        Refused: A member is no such value.
        ValueError: There is no such fault.
    """
    seed, count = integer(members, "seed", default=0), integer(members, "count", default=1)
    faults.arm(text(members, "name"), seed=seed, count=count)


def describe(verbs: Mapping[str, Verb], faults: Faults) -> dict[str, Any]:
    """Return verbs and faults with what each does."""
    return {"verbs": {name: (verb.__doc__ or "").strip() for name, verb in verbs.items()}, "faults": faults.names}


async def carry_out(verbs: Mapping[str, Verb], request: object) -> tuple[int, dict[str, Any]]:
    """Return status and body of one control call."""
    try:
        if not isinstance(request, dict):
            raise Refused("send a JSON object with the member verb")
        verb = verbs.get(text(request, "verb"))
        if verb is None:
            raise Refused(f"unknown verb; known: {', '.join(verbs)}")
        return 200, {"ok": True, **await verb(request)}
    except (Refused, ValueError) as fault:
        return 400, {"ok": False, "error": str(fault)}
