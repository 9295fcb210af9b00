"""Each of a proof's 21 elements, and what may not stand in its place (8.4)."""

from __future__ import annotations

import itertools
import random
from typing import Any

import pytest
from nacl import bindings
from nacl.exceptions import RuntimeError as NaclFault

from conformance.oracles.range_proof import curve
from reference.protocol.range_proof import edwards_group
from reference.protocol.range_proof.proof import ELEMENTS, SCALARS
from tests.reference.protocol.range_proof.receipts import element_of, find_refusal, place_element, proven

POINTS = [name for name in ELEMENTS if name not in SCALARS]
ORDER_8 = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
ORDER_4, ORDER_2 = bytes(32), (curve.P - 1).to_bytes(32, "little")
# What decodes to a point when y is taken modulo the prime, or when the sign of x = 0 is not looked at.
UNCANONICAL = [(curve.P + y).to_bytes(32, "little") for y in (0, 1, 3, 4, 5, 6, 9, 10)] + [
    (1 | 1 << 255).to_bytes(32, "little"),
    (curve.P - 1 | 1 << 255).to_bytes(32, "little"),
]
NO_POINT = (2).to_bytes(32, "little")


@pytest.fixture(scope="module")
def payload_and_proof() -> tuple[dict[str, Any], bytes]:
    """A payload and its proof."""
    return proven(731, 500, random.Random(1))


def test_there_are_21_elements() -> None:
    """16 points and 5 scalars, in the order of the layout."""
    assert (len(ELEMENTS), len(POINTS)) == (21, 16)
    assert ELEMENTS[:7] == ("A", "S", "T1", "T2", "tau_x", "mu", "t")
    assert ELEMENTS[7:9] + ELEMENTS[-4:] == ("L_1", "R_1", "L_6", "R_6", "a", "b")


@pytest.mark.parametrize("name", POINTS)
def test_a_point_is_an_element_of_the_subgroup(payload_and_proof: tuple[dict[str, Any], bytes], name: str) -> None:
    """Not the identity, nothing of small or mixed order, nothing not canonical, nothing off the curve."""
    payload, proof = payload_and_proof
    here = curve.decode(element_of(proof, name))
    mixed = [curve.encode(curve.add(here, curve.decode(small))) for small in (ORDER_8, ORDER_4, ORDER_2)]
    others = [edwards_group.IDENTITY, ORDER_8, ORDER_4, ORDER_2, *UNCANONICAL, NO_POINT, b"\xff" * 32, *mixed]
    for other in others:
        assert find_refusal(payload, place_element(proof, name, other)) == f"point {name}", other.hex()


@pytest.mark.parametrize("name", ["S", "T2", "R_6"])
def test_an_old_libsodium_makes_no_difference(
    payload_and_proof: tuple[dict[str, Any], bytes], monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """An element that the point of order two was added to, which that one takes (CVE-2025-69277), is refused."""
    is_valid, multiplied = bindings.crypto_core_ed25519_is_valid_point, bindings.crypto_scalarmult_ed25519_noclamp

    def without_order_two(point: bytes) -> bytes:
        return point if is_valid(point) else bindings.crypto_core_ed25519_add(point, ORDER_2)

    def old_check(point: bytes) -> bool:
        try:
            return bool(is_valid(without_order_two(point)))
        except NaclFault:
            return False

    def old_multiplication(scalar: bytes, point: bytes) -> bytes:
        found = multiplied(scalar, without_order_two(point))
        odd = not is_valid(point) and scalar[0] % 2
        return bindings.crypto_core_ed25519_add(found, ORDER_2) if odd else found

    monkeypatch.setattr(bindings, "crypto_core_ed25519_is_valid_point", old_check)
    monkeypatch.setattr(bindings, "crypto_scalarmult_ed25519_noclamp", old_multiplication)
    edwards_group._library_is_sound.cache_clear()
    try:
        payload, proof = payload_and_proof
        assert not edwards_group._library_is_sound()
        mixed = bindings.crypto_core_ed25519_add(element_of(proof, name), ORDER_2)
        assert old_check(mixed)
        assert find_refusal(payload, place_element(proof, name, mixed)) == f"point {name}"
        assert find_refusal(payload, proof) is None
    finally:
        edwards_group._library_is_sound.cache_clear()


@pytest.mark.parametrize("name", SCALARS)
def test_a_scalar_is_below_the_order(payload_and_proof: tuple[dict[str, Any], bytes], name: str) -> None:
    """The same number and a multiple of the order more is another encoding, and refused."""
    payload, proof = payload_and_proof
    here = int.from_bytes(element_of(proof, name), "little")
    for other in (here + edwards_group.ORDER, here + 7 * edwards_group.ORDER, edwards_group.ORDER, 2**255, 2**256 - 1):
        assert find_refusal(payload, place_element(proof, name, other.to_bytes(32, "little"))) == f"scalar {name}"


@pytest.mark.parametrize("name", ELEMENTS)
def test_an_element_that_was_altered_is_refused(payload_and_proof: tuple[dict[str, Any], bytes], name: str) -> None:
    """Another valid point or scalar in its place: no equation holds that held; so its negative, or zero."""
    payload, proof = payload_and_proof
    whole = element_of(proof, name)
    if name in SCALARS:
        here = int.from_bytes(whole, "little")
        others = [edwards_group.encode_scalar(here + 1), edwards_group.encode_scalar(-here), bytes(32)]
    else:
        negative = whole[:31] + bytes([whole[31] ^ 0x80])
        others = [edwards_group.plus(whole, edwards_group.BASE), negative, edwards_group.BASE]
    stages = {find_refusal(payload, place_element(proof, name, other)) for other in others}
    assert stages <= {"polynomial", "inner_product"}
    assert (name in {"mu", "a", "b"} or name[:2] in {"L_", "R_"}) == (stages == {"inner_product"})


def test_no_two_elements_can_be_swapped(payload_and_proof: tuple[dict[str, Any], bytes]) -> None:
    """Of all 210 pairs."""
    payload, proof = payload_and_proof
    for one, other in itertools.combinations(ELEMENTS, 2):
        swapped = place_element(place_element(proof, one, element_of(proof, other)), other, element_of(proof, one))
        assert find_refusal(payload, swapped) is not None, (one, other)


def test_elements_of_two_proofs_do_not_mix(payload_and_proof: tuple[dict[str, Any], bytes]) -> None:
    """Of two proofs of one statement, no element fits into the other."""
    payload, proof = payload_and_proof
    _, other = proven(731, 500, random.Random(2))
    for name in ELEMENTS:
        assert find_refusal(payload, place_element(proof, name, element_of(other, name))) is not None, name
