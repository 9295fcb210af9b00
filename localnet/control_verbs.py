"""The control form of specification 9.1, as a real node's sidecar answers it: only verbs that the node can do."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol, TypeAlias, runtime_checkable

from localnet.rpc import NodeFault

Members: TypeAlias = Mapping[str, Any]
Verb: TypeAlias = Callable[[Members], Awaitable[dict[str, Any]]]
_MOST_DIGITS = 40
_LONGEST = 300


class Refused(Exception):
    """A verb that this node lacks, or that is badly given; the text says which."""


class Verbs(Protocol):
    """What one kind of node can be made to do."""

    async def prepare(self) -> None:
        """Give a fresh node its token and whatever the verbs need.

        Raises:
            NodeFault: The node did not take it.
        """

    def by_name(self) -> Mapping[str, Verb]:
        """Return every verb by its name."""


@runtime_checkable
class MayTrail(Protocol):
    """Verbs of a node whose clock falls behind if no block is asked for."""

    async def keep_current(self) -> None:
        """Let blocks pass until the node's newest one is of the present time; none if it is already.

        Raises:
            NodeFault: The node could not be asked, or its clock does not get there.
        """


def text(members: Members, name: str) -> str:
    """Return a text member.

    Raises:
        Refused: It is missing or no text.
    """
    value = members.get(name)
    if not isinstance(value, str) or not value:
        raise Refused(f"member {name} must be a text")
    return value


def amount(members: Members, *, most: int) -> int:
    """Return `amount`, a decimal string of atomic units of at most `most`.

    Raises:
        Refused: It is not such a string.
    """
    value = text(members, "amount")
    if not (value.isascii() and value.isdecimal() and len(value) <= _MOST_DIGITS and int(value) <= most):
        raise Refused(f"member amount must be a decimal string of atomic units, at most {most}")
    return int(value)


def integer(members: Members, name: str, *, low: int, high: int) -> int:
    """Return an integer member between two bounds.

    Raises:
        Refused: It is missing, no integer, or out of bounds.
    """
    value = members.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
        raise Refused(f"member {name} must be an integer from {low} to {high}")
    return value


async def carry_out(verbs: Verbs, request: object) -> tuple[int, dict[str, Any]]:
    """Return status and body of one control call: 200, or 400 with the reason."""
    verbs_by_name = verbs.by_name()
    try:
        if not isinstance(request, dict):
            raise Refused("send a JSON object with the member verb")
        verb = verbs_by_name.get(text(request, "verb"))
        if verb is None:
            raise Refused(f"this node has no such verb; it has: {', '.join(verbs_by_name)}")
        return 200, {"ok": True, **await verb(request)}
    except (Refused, NodeFault) as fault:
        return 400, {"ok": False, "error": str(fault)}
    except (LookupError, TypeError, ValueError, OverflowError) as fault:
        return 400, {"ok": False, "error": f"the node cannot take this, or gave a strange answer: {fault!r}"[:_LONGEST]}


def describe(verbs: Verbs) -> dict[str, Any]:
    """Return verbs with what each does; no real node can be made to lie, so there is no fault."""
    return {"verbs": {name: inspect.getdoc(verb) or "" for name, verb in verbs.by_name().items()}, "faults": []}
