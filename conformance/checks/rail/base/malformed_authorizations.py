"""RAIL-402-16 on Base: an authorization with one member missing or of a wrong type."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from conformance.assertions.rail.base.funded_challenges import FundedChallenges, get_base_payer
from conformance.assertions.rail.refusals import judge_challenged_again
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.surfaces.rail.proofs import encode_base64, encode_json

_NUMBERS = ("value", "validAfter", "validBefore")
_ADDRESSES = ("from", "to")
_DIGITS = 3000


def make_wrong_proofs(right_proof: Mapping[str, Any]) -> dict[str, Any]:
    """Return proofs with one wrong member, by description; `right_proof` is a complete proof."""
    terms = right_proof["authorization"]
    odd_values: dict[str, Any] = {
        "null": None,
        "true": True,
        "an array": [],
        "an object": {},
        "an empty text": "",
        "white space": " ",
    }
    # Each value passes a check of the type and fails in the conversion: beyond 256 bits, of odd length, or not a
    # number.
    numbers = {"negative": "-1", "a fraction": 0.5, "a word": "ten", "2**256": str(2**256), "infinite": "Infinity"}
    addresses = {"short": "0x" + "11" * 19, "long": "0x" + "11" * 21, "no hexadecimal": "0x" + "zz" * 20}
    nonces = {"31 bytes": "0x" + "11" * 31, "33 bytes": "0x" + "11" * 33, "no hexadecimal": "0x" + "zz" * 32}
    signatures = {"half a byte": "0x1", "no hexadecimal": "0x" + "zz" * 65, "long": "0x" + "11" * 2000, "nothing": "0x"}
    authorization_faults = {
        **{(name, description): value for name in terms for description, value in odd_values.items()},
        **{(name, description): value for name in _NUMBERS for description, value in numbers.items()},
        **{(name, description): value for name in _ADDRESSES for description, value in addresses.items()},
        **{("nonce", description): value for description, value in nonces.items()},
    }
    proof_faults = {
        **{
            ("signature", description): value
            for description, value in {**odd_values, **signatures, "a number": 1}.items()
        },
        **{
            ("authorization", description): value
            for description, value in {**odd_values, "a number": 1, "a text": "x"}.items()
        },
        **{("challenge_token", description): value for description, value in odd_values.items()},
    }
    return {
        **{
            f"{name}: {description}": {**right_proof, "authorization": {**terms, name: bad}}
            for (name, description), bad in authorization_faults.items()
        },
        **{f"{name}: {description}": {**right_proof, name: bad} for (name, description), bad in proof_faults.items()},
        **{f"without {name}": {**right_proof, "authorization": _drop_member(terms, name)} for name in terms},
        **{f"without {name}": _drop_member(right_proof, name) for name in right_proof},
    }


def _drop_member(members: Mapping[str, Any], name: str) -> dict[str, Any]:
    return {one: value for one, value in members.items() if one != name}


@check(
    "RAIL-402-16",
    surface="rail",
    lane="base",
    fix="Check presence, type and range of every member of an authorization before you use it. A fault is 402.",
)
async def authorization_with_wrong_members(case: Case) -> None:
    """An authorization with a missing, wrongly typed or empty member answers 402 with accepts.

    Signs one right authorization for a live token. Presents it with one member at a time wrong in every way, with a
    member twice, and with a number of thousands of digits. Expects 402 with accepts each time.
    """
    # The signature is over the right members, so a rail that fails to check one of them may still find the rest valid.
    payer = await get_base_payer(case)
    stakes, operation = FundedChallenges(case, payer), case.session.catalog.operations[0]
    stake = await stakes.open_challenge(operation, prices=0)
    # An account without money: even if a wrong proof is read as right, nothing can be settled.
    right_proof = (await stake.sign()).proof()
    values = {description: encode_json(value) for description, value in make_wrong_proofs(right_proof).items()}
    values["value twice"] = encode_base64(json.dumps(right_proof).replace('"value"', '"value":"1","value"').encode())
    values["a value of thousands of digits"] = encode_json(
        {**right_proof, "authorization": {**right_proof["authorization"], "value": "9" * _DIGITS}}
    )
    unpaid = stake.quote.answer
    await run_concurrently(
        judge_challenged_again(case, "RAIL-402-16", operation, unpaid, description, (value,))
        for description, value in values.items()
    )
