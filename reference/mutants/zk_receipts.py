"""Mutants of the ZK receipt's proof: each leaves out one thing that a forgery cannot do without (profile 8.4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from nacl.exceptions import RuntimeError as NaclFault

from reference.mutants.seams import Mutant, replace
from reference.protocol.range_proof import group, proof, verifying
from reference.protocol.range_proof.proof import Challenges, RangeProof

SURFACE = "addons.zkp_receipt"
_Y = 2**255 - 1
_PRIME = 2**255 - 19


def _without_w() -> None:
    """Takes an argument on U itself too, so that honest proofs go on holding."""

    def made(holds: Callable[[RangeProof, Challenges], bool]) -> Callable[[RangeProof, Challenges], bool]:
        def either(shown: RangeProof, drawn: Challenges) -> bool:
            return holds(shown, drawn) or holds(shown, dataclasses.replace(drawn, w=1))

        return either

    replace(verifying, "inner_product_holds", made)


def _without(equation: str) -> Callable[[], None]:
    """Return what lets an equation hold for whatever is put into it."""

    def made(_: Callable[..., bool]) -> Callable[..., bool]:
        def holds(*_: Any) -> bool:
            return True

        return holds

    return lambda: replace(verifying, equation, made)


def _on_the_curve(point: bytes) -> bool:
    try:
        group.plus(point, group.IDENTITY)
    except NaclFault:
        return False
    return int.from_bytes(point, "little") & _Y < _PRIME


def _multiplied_anywhere() -> None:
    """What PyNaCl does not multiply is doubled and added."""

    def anywhere(times: Callable[[int, bytes], bytes]) -> Callable[[int, bytes], bytes]:
        def multiplied(scalar: int, point: bytes) -> bytes:
            try:
                return times(scalar, point)
            except NaclFault:
                return _doubled_and_added(scalar % group.ORDER, point)

        return multiplied

    replace(group, "times", anywhere)


def _without_subgroup() -> None:
    """Every point of the curve is an element."""
    replace(group, "is_element", lambda _: _on_the_curve)
    _multiplied_anywhere()


def _without_subgroup_of_points() -> None:
    """Every point of the curve may be in a proof; the commitment is an element."""

    def any_point(read: Callable[[str, bytes], bytes]) -> Callable[[str, bytes], bytes]:
        return lambda name, data: data if _on_the_curve(data) else read(name, data)

    replace(proof, "_point", any_point)
    _multiplied_anywhere()


def _doubled_and_added(scalar: int, point: bytes) -> bytes:
    found = group.IDENTITY
    for bit in f"{scalar:b}":
        found = group.plus(found, found)
        if bit == "1":
            found = group.plus(found, point)
    return found


def _mutant(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    return Mutant(f"zk-receipt-{name}", rule, apply, surface=SURFACE)


MUTANTS = (
    _mutant("no-w", "the inner-product argument runs on w*U alone (8.4)", _without_w),
    _mutant("no-polynomial", "t is the committed polynomial's value (8.4)", _without("polynomial_holds")),
    _mutant("no-inner-product", "t is the committed vectors' inner product (8.4)", _without("inner_product_holds")),
    _mutant("no-subgroup", "every point is in the prime-order subgroup (8.4)", _without_subgroup),
    _mutant("no-subgroup-of-points", "a proof's points are in the subgroup too (8.4)", _without_subgroup_of_points),
)
