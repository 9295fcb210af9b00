"""Which chains a stack runs on: `sim`, `localnet`, or a mixture such as `localnet,LANE=sim`."""

from __future__ import annotations

from collections.abc import Mapping

from localnet.lanes import registry

LANES = tuple(registry.LANES)
KINDS = ("sim", "localnet")


def parse(text: str) -> Mapping[str, str]:
    """Return the kind of chain of each lane from `KIND` and `LANE=KIND`, separated by commas.

    Raises:
        ValueError: It is not of that form; the text says what is.
    """
    kinds: dict[str, str] = {}
    default_kind = None
    for part in text.split(","):
        lane, equals, kind = part.strip().rpartition("=")
        if (
            kind not in KINDS
            or (equals and lane not in LANES)
            or lane in kinds
            or (not equals and default_kind is not None)
        ):
            raise ValueError(f"{text!r}: give {' or '.join(KINDS)}, and LANE=KIND for a lane that differs")
        if equals:
            kinds[lane] = kind
        else:
            default_kind = kind
    if default_kind is None and len(kinds) < len(LANES):
        raise ValueError(f"{text!r}: say which chains the other lanes run on, {' or '.join(KINDS)}")
    return {lane: kinds.get(lane) or str(default_kind) for lane in LANES}


def describe_mixture(kinds: Mapping[str, str], lanes: tuple[str, ...]) -> str | None:
    """Return the sentence that says which lanes are simulated beside real nodes, None where there is no mixture."""
    simulated_lanes = [lane for lane in lanes if kinds[lane] == "sim"]
    if not simulated_lanes or len(simulated_lanes) == len(lanes):
        return None
    real = [lane for lane in lanes if lane not in simulated_lanes]
    return f"SIMULATED: {', '.join(simulated_lanes)}; on real nodes: {', '.join(real)}"
