"""What the addon answers about a receipt that is signed well and whose proof is not what it says (8.4)."""

from __future__ import annotations

import base64
import itertools
from functools import cache
from typing import Any

import httpx
import pytest

from conformance.oracles.range_proof import curve
from reference.protocol.range_proof import edwards_group
from reference.protocol.range_proof.proof import ELEMENTS, SCALARS
from reference.protocol.zk_receipts import NOTICE
from tests.reference.addons.conftest import ISSUER
from tests.reference.addons.receipts import judge_receipt, receipt_payload
from tests.reference.protocol.range_proof.receipts import element_of, place_element

ORDER_8 = bytes.fromhex("26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05")
OTHER_ORDER_8 = curve.encode(curve.negate(curve.decode(ORDER_8)))  # as a number it is not below the group's order
UNCANONICAL_IDENTITY = (curve.P + 1).to_bytes(32, "little")
UNCANONICAL_POINT = (curve.P + 3).to_bytes(32, "little")  # of y = 3, which has a point
UNCANONICAL_SCALAR = (curve.L + 2).to_bytes(32, "little")
EQUATIONS = {"polynomial", "inner_product"}


@cache
def honest() -> tuple[dict[str, Any], bytes]:
    """Return a payload and its proof."""
    payload = receipt_payload()
    return payload, base64.b64decode(payload["proof_b64"])


async def refusal(client: httpx.AsyncClient, payload: dict[str, Any]) -> tuple[str, str | None]:
    """Return stage and element of a receipt whose proof is refused, signed again by a trusted issuer."""
    verdict = await judge_receipt(client, ISSUER.issue(payload))
    assert (verdict["valid"], verdict["status"], verdict["reason"], verdict["notice"]) == (
        False,
        "invalid",
        "proof_invalid",
        NOTICE,
    )
    assert verdict["checks"] == {"envelope": True, "signature": True, "expiry": True, "proof": False}
    return verdict["stage"], verdict["element"]


def with_proof(proof: bytes) -> dict[str, Any]:
    """Return the payload with another proof."""
    return {**honest()[0], "proof_b64": base64.b64encode(proof).decode()}


@pytest.mark.parametrize("name", ELEMENTS)
async def test_nothing_else_stands_in_an_elements_place(zkp: httpx.AsyncClient, name: str) -> None:
    """Another element, the identity, a point of small order, what is not canonical as a point or as a scalar."""
    _, proof = honest()
    here = element_of(proof, name)
    if name in SCALARS:
        unreadable = [UNCANONICAL_POINT, UNCANONICAL_SCALAR, OTHER_ORDER_8]
        others = [
            edwards_group.encode_scalar(int.from_bytes(here, "little") + 1),
            edwards_group.IDENTITY,
            bytes(32),
            ORDER_8,
        ]
    else:
        unreadable = [
            edwards_group.IDENTITY,
            ORDER_8,
            OTHER_ORDER_8,
            bytes(32),
            UNCANONICAL_POINT,
            UNCANONICAL_IDENTITY,
        ]
        others = [edwards_group.plus(here, edwards_group.BASE)]
    stage = "scalar" if name in SCALARS else "point"
    for other in unreadable:
        assert await refusal(zkp, with_proof(place_element(proof, name, other))) == (stage, name), other.hex()
    for other in others:
        stage, element = await refusal(zkp, with_proof(place_element(proof, name, other)))
        assert (stage in EQUATIONS, element) == (True, None), other.hex()


@pytest.mark.parametrize(("first_name", "second_name"), [*itertools.pairwise(ELEMENTS), (ELEMENTS[-1], ELEMENTS[0])])
async def test_neighbours_are_not_swapped(zkp: httpx.AsyncClient, first_name: str, second_name: str) -> None:
    """Each with the next: points with points are refused by an equation, a point for a scalar as what it is not."""
    _, proof = honest()
    forged_proof = place_element(
        place_element(proof, first_name, element_of(proof, second_name)), second_name, element_of(proof, first_name)
    )
    stage, element = await refusal(zkp, with_proof(forged_proof))
    if (first_name in SCALARS) == (second_name in SCALARS):
        assert (stage in EQUATIONS, element) == (True, None)
    else:
        assert stage in {"point", "scalar"}
        assert element in {first_name, second_name}


async def test_nothing_else_stands_in_the_commitments_place(zkp: httpx.AsyncClient) -> None:
    """The identity, a point of small order, one beside the subgroup, and what is not canonical; or another element."""
    payload, _ = honest()
    commitment = curve.decode(base64.b64decode(payload["commitment_b64"]))
    beside = curve.encode(curve.add(commitment, curve.decode(ORDER_8)))
    for other in (edwards_group.IDENTITY, ORDER_8, bytes(32), beside, UNCANONICAL_POINT, b"\xff" * 32):
        changed_names = {**payload, "commitment_b64": base64.b64encode(other).decode()}
        assert await refusal(zkp, changed_names) == ("commitment", None), other.hex()
    other = curve.encode(curve.add(commitment, curve.BASE))
    assert await refusal(zkp, {**payload, "commitment_b64": base64.b64encode(other).decode()}) == ("polynomial", None)


@pytest.mark.parametrize("length", [0, 1, 200, 671, 673, 1344])
async def test_another_length(zkp: httpx.AsyncClient, length: int) -> None:
    """Not 672 bytes."""
    assert await refusal(zkp, with_proof((honest()[1] * 2)[:length])) == ("length", None)
