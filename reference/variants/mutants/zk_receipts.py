"""Mutants of the ZK receipt: each leaves out one thing that a forged or a changed receipt lives without (8.4)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from nacl.exceptions import RuntimeError as NaclFault

from reference.protocol import zk_receipts
from reference.protocol.range_proof import PROOF_BYTES, Statement, group, proof, verifying
from reference.protocol.range_proof.proof import Challenges, RangeProof
from reference.protocol.range_proof.transcript import Transcript
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace

SURFACE = "addons.zkp_receipt"
NO_POINT = (2).to_bytes(32, "little")
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


def _without_subgroup_of(*names: str) -> Callable[[], None]:
    """Return what lets any point be in a proof where a name begins so; all else is an element."""

    def made(read: Callable[[str, bytes], bytes]) -> Callable[[str, bytes], bytes]:
        return lambda name, data: data if name.startswith(names) and _on_the_curve(data) else read(name, data)

    def applied() -> None:
        replace(proof, "_point", made)
        _multiplied_anywhere()

    return applied


def _without_subgroup_of_commitment() -> None:
    """The commitment may be any point; a proof's points are elements."""
    strict = group.is_element
    replace(group, "is_element", lambda _: _on_the_curve)
    replace(proof, "_point", lambda read: lambda name, data: read(name, data if strict(data) else NO_POINT))
    _multiplied_anywhere()


def _without_subgroup_and_moved() -> None:
    """As before, the commitment on the equation's other side: what it is multiplied by is the order less that."""

    def moved(total: Callable[[Iterable[tuple[int, bytes]]], bytes]) -> Callable[[Iterable[tuple[int, bytes]]], bytes]:
        def summed(terms: Iterable[tuple[int, bytes]]) -> bytes:
            turned = [(-scalar, point) for scalar, point in terms]
            return group.minus(group.IDENTITY, total(turned))

        return summed

    _without_subgroup_of_commitment()
    replace(group, "total", moved)


def _doubled_and_added(scalar: int, point: bytes) -> bytes:
    found = group.IDENTITY
    for bit in f"{scalar:b}":
        found = group.plus(found, found)
        if bit == "1":
            found = group.plus(found, point)
    return found


def _as_libsodium_had_it() -> None:
    """An element that the point of order two was added to is one, as for libsodium before 2026 (CVE-2025-69277)."""

    def made(strict: Callable[[bytes], bool]) -> Callable[[bytes], bool]:
        def had(point: bytes) -> bool:
            return strict(point) or (_on_the_curve(point) and strict(group.plus(point, group.ORDER_TWO)))

        return had

    replace(group, "is_element", made)
    _multiplied_anywhere()


def _without_payload() -> None:
    """The transcript, the prover's too, begins with the system alone."""

    def made(add: Callable[[Transcript, str, bytes], None]) -> Callable[[Transcript, str, bytes], None]:
        return lambda self, label, value: None if label == "payload" else add(self, label, value)

    replace(Transcript, "add", made)


def _reducing() -> None:
    replace(group, "scalar_of", lambda _: group.reduced)


def _first_bytes() -> None:
    def made(check: Callable[[Statement, bytes], None]) -> Callable[[Statement, bytes], None]:
        return lambda statement, data: check(statement, data[:PROOF_BYTES])

    replace(zk_receipts, "check", made)


def _remembering() -> None:
    """A proof that held once is not looked at again, whatever it is shown for."""

    def made(check: Callable[[Statement, bytes], None]) -> Callable[[Statement, bytes], None]:
        known: set[bytes] = set()

        def remembered(statement: Statement, data: bytes) -> None:
            if data not in known:
                check(statement, data)
                known.add(data)

        return remembered

    replace(zk_receipts, "check", made)


def _unsigned() -> None:
    def made(faults: Callable[..., Iterator[str]]) -> Callable[..., Iterator[str]]:
        return lambda *given: (one for one in faults(*given) if one != "sig_invalid")

    replace(zk_receipts, "signature_faults", made)


def _mutant(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    return Mutant(f"zk-receipt-{name}", rule, apply, surface=SURFACE)


MUTANTS = (
    _mutant("no-w", "the inner-product argument runs on w*U alone (8.4)", _without_w),
    _mutant("no-polynomial", "t is the committed polynomial's value (8.4)", _without("polynomial_holds")),
    _mutant("no-inner-product", "t is the committed vectors' inner product (8.4)", _without("inner_product_holds")),
    _mutant("no-subgroup", "every point is in the prime-order subgroup (8.4)", _without_subgroup),
    _mutant("no-subgroup-of-points", "a proof's points are in the subgroup too (8.4)", _without_subgroup_of("")),
    _mutant("no-subgroup-of-commitment", "the commitment is in the subgroup (8.4)", _without_subgroup_of_commitment),
    _mutant("no-subgroup-moved", "it is, however equations are written (8.4)", _without_subgroup_and_moved),
    _mutant("no-subgroup-of-s", "S is in the subgroup (8.4)", _without_subgroup_of("S")),
    _mutant("no-subgroup-of-values", "T1 and T2 are in the subgroup (8.4)", _without_subgroup_of("T")),
    _mutant("no-subgroup-of-rounds", "each L and R is in the subgroup (8.4)", _without_subgroup_of("L_", "R_")),
    _mutant("old-libsodium", "nor is a point in it that one of order two was added to (8.4)", _as_libsodium_had_it),
    _mutant("no-payload", "the transcript begins with the payload (8.4)", _without_payload),
    _mutant("reduced-scalars", "a scalar is below the order (8.4)", _reducing),
    _mutant("any-length", "a proof is 672 bytes (8.4)", _first_bytes),
    _mutant("remembered-proofs", "a proof is of one payload (8.4)", _remembering),
    _mutant("unsigned", "a receipt is signed (8.4)", _unsigned),
)
