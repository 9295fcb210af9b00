"""Offline verification of a receipt: the nine steps, the issuer, and the hashes. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

from conformance.oracles.receipt_bindings import Binding, Outcome, bindings
from conformance.oracles.receipts import Examination, examine
from conformance.receipts.offline.claim_meanings import claimed_dids
from conformance.receipts.offline.key_sources import KeySet
from conformance.receipts.offline.reading import Found

ISSUER_DIFFERS: Final = "ISSUER_DIFFERS"
# The first eight steps of 2.4 in words. The ninth depends on whether a payment is expected.
_STEP_WORDS: Final = (
    "there is a receipt",
    "it is a compact JWS, and the key set has a key to try",
    "receipt and key are of Ed25519",
    "the signature holds under the key",
    "the payload is a JSON object",
    "the payload names the canonical form jcs-rfc8785-v1",
    "the payload is its own canonical form, byte for byte",
    "every member of its kind is there, each with a value of its set",
)


@dataclass(frozen=True, slots=True)
class Issuer:
    """Whether the receipt names the DID whose keys verified it, in addition to the nine steps.

    Attributes:
        result: `not_judged` if the keys belong to no DID that receipts name, or the steps failed.
        expected: The DID of the keys.
        claimed: The claims that name an issuer.
        why: The result in a sentence.
    """

    result: Literal["pass", "fail", "not_judged"]
    expected: str | None
    claimed: Mapping[str, Any]
    why: str


@dataclass(frozen=True, slots=True)
class Verification:
    """The verdict on one receipt.

    Attributes:
        found: The receipt and its place.
        keys: The keys of the verification.
        examination: The nine steps.
        issuer: The result about its issuer.
        bindings: The recomputed hashes; empty if the steps failed.
        any_recipe: Whether another usual recipe than the profile's is enough.
        expected_payment_hash: The hash that step 9 expects, or None.
    """

    found: Found
    keys: KeySet
    examination: Examination
    issuer: Issuer
    bindings: tuple[Binding, ...]
    any_recipe: bool
    expected_payment_hash: str | None = None

    @property
    def faults(self) -> list[Binding]:
        """The bindings that do not hold."""
        enough = {Outcome.HOLDS, Outcome.OTHER_RECIPE} if self.any_recipe else {Outcome.HOLDS}
        return [one for one in self.bindings if one.outcome not in enough]

    @property
    def is_verified(self) -> bool:
        """Whether every requested test passes."""
        return self.error_code is None

    @property
    def error_code(self) -> str | None:
        """The first error code: of the nine steps, the issuer or a hash; None if all tests pass."""
        if self.examination.fault is not None:
            return self.examination.fault.code
        if self.issuer.result == "fail":
            return ISSUER_DIFFERS
        return self.faults[0].code if self.faults else None

    @property
    def steps(self) -> list[tuple[str, str, str]]:
        """The nine steps as (code, result, requirement in words)."""
        last = "it is of the payment that you expect"
        if self.expected_payment_hash is None:
            last = "no payment was expected (--expected-payment-hash)"
        lines = zip(self.examination.checks, (*_STEP_WORDS, last), strict=True)
        return [(check["code"], check["result"], words) for check, words in lines]

    @property
    def hints(self) -> list[str]:
        """Hints that may explain a failure, or that name what a valid receipt does not show."""
        hints: list[str] = []
        envelope, fault = self.examination.envelope, self.examination.fault
        kid = envelope.header.get("kid") if envelope is not None else None
        if fault is not None and fault.code == "TAMPERED_SIGNATURE" and isinstance(kid, str):
            # The key is published without permission to sign. An operator that rotates keys leaves retired ones in the
            # document.
            if kid.rpartition("#")[2] in self.keys.idle:
                hints.append("the document lists the key of that kid, and does not let it sign: it may be retired")
            elif self.key_chosen_by == "first":
                hints.append("no key has the header's kid, so the first was taken: these may be another issuer's keys")
        if any(one.outcome is Outcome.OTHER_RECIPE for one in self.faults):
            hints.append("an issuer that hashes by another recipe is accepted with --any-recipe")
        if self.is_verified and not self.bindings and self.expected_payment_hash is None:
            hints.append(
                "nothing shows that it is about your call: --request, --response and --settlement compare that"
            )
        return hints

    @property
    def key_chosen_by(self) -> str | None:
        """How the key was chosen: by `kid`, or the `only` or the `first` of keys without it; None without a choice."""
        envelope, jwk = self.examination.envelope, self.examination.jwk
        if envelope is None or jwk is None:
            return None
        kid = envelope.header.get("kid")
        # With one key and without a name on one of the two sides, there is no choice that could have been wrong.
        if len(self.keys.jwks["keys"]) == 1 and (kid is None or "kid" not in jwk):
            return "only"
        return "kid" if kid is not None and jwk.get("kid") == kid else "first"

    def as_json(self) -> dict[str, Any]:
        """Return the verdict as JSON members, with those of the report in specification 2.4 first."""
        examination, fault = self.examination, self.examination.fault
        header = examination.envelope.header if examination.envelope is not None else {}
        payload = examination.envelope.payload if examination.envelope is not None and examination.claims else None
        return {
            "place": self.found.place,
            "verified": self.is_verified,
            "error_code": self.error_code,
            "error_message": self.error_message,
            "error_field": fault.field if fault is not None else None,
            "receipt_kind": examination.kind,
            "alg": header.get("alg"),
            "kid": header.get("kid"),
            "content_hash": hashlib.sha256(payload).hexdigest() if payload is not None else None,
            "hints": self.hints,
            "key": {"origin": self.keys.origin, "did": self.keys.did, "chosen_by": self.key_chosen_by},
            "checks": examination.checks,
            "issuer": asdict(self.issuer),
            "bindings": [{**asdict(one), "outcome": one.outcome.value} for one in self.bindings],
            "claims": dict(examination.claims),
        }

    @property
    def error_message(self) -> str | None:
        """The first fault in a sentence; None if all tests pass."""
        if self.examination.fault is not None:
            return str(self.examination.fault)
        if self.issuer.result == "fail":
            return self.issuer.why
        return describe_binding(self.faults[0]) if self.faults else None


def describe_binding(binding: Binding) -> str:
    """Return the result of comparing one hash, in a sentence."""
    name, claimed_value, computed_value = binding.claim, binding.claimed, binding.computed
    computed_text = computed_value if computed_value is not None else "nothing, since what was given has no such hash"
    if binding.outcome is Outcome.HOLDS:
        return f"{name} is what was recomputed ({binding.clause})"
    if binding.outcome is Outcome.ABSENT:
        return f"the receipt has no {name}; recomputed: {computed_text} ({binding.clause})"
    if binding.outcome is Outcome.OTHER_RECIPE:
        recipe = f"the recipe {binding.recipe}, not the profile's ({binding.clause})"
        return f"{name} matches by {recipe}: {claimed_value}, not {computed_text}"
    return f"{name} is {claimed_value}; recomputed: {computed_text} ({binding.clause})"


def verify_all(
    receipts: Sequence[Found],
    keys: KeySet,
    hash_inputs: Mapping[str, Any],
    *,
    expected_payment_hash: str | None = None,
    any_recipe: bool = False,
) -> list[Verification]:
    """Verify every receipt of an input.

    If there are several, a hash that one receipt contains may be absent from the others: an answer contains a payable
    receipt, which binds the request, and a compliance receipt, which binds the payer.

    Args:
        receipts: The receipts.
        keys: The keys of the verification.
        hash_inputs: The inputs of the hashes, as `receipt_bindings.bindings` takes them.
        expected_payment_hash: Step 9.
        any_recipe: Whether another usual recipe than the profile's is enough.
    """
    examinations = [_examine_receipt(one, keys, expected_payment_hash) for one in receipts]
    binding_lists = [
        _compare_hashes(examination, hash_inputs, one.token)
        for examination, one in zip(examinations, receipts, strict=True)
    ]
    # A hash that no receipt of the answer contains is a fault of each. A hash that one of them contains may be absent
    # from the others.
    present_codes = {one.code for each in binding_lists for one in each if one.outcome is not Outcome.ABSENT}
    return [
        Verification(
            found,
            keys,
            examination,
            _issuer(examination, keys),
            tuple(one for one in each if one.outcome is not Outcome.ABSENT or one.code not in present_codes),
            any_recipe,
            expected_payment_hash,
        )
        for found, examination, each in zip(receipts, examinations, binding_lists, strict=True)
    ]


def _examine_receipt(found_receipt: Found, keys: KeySet, expected_payment_hash: str | None) -> Examination:
    # The first pass only reads the header. Its kid chooses among the keys of a DID document, for the pass that counts.
    kid = examine(found_receipt.token, keys.jwks).envelope
    jwks = keys.jwks if kid is None else keys.jwks_for_kid(kid.header.get("kid"))
    return examine(found_receipt.token, jwks, expected_payment_hash=expected_payment_hash)


def _compare_hashes(examination: Examination, hash_inputs: Mapping[str, Any], token: str) -> list[Binding]:
    """Return the compared hashes of a receipt that passed the steps. An unverified payload is not compared."""
    if not examination.is_verified:
        return []
    response = hash_inputs.get("response")
    # An answer contains its own receipt, which its hash cannot cover. The token says which member to leave out.
    response_input = {} if response is None else {"response": {**response, "receipt": token}}
    return bindings(examination.claims, {**hash_inputs, **response_input})


def _issuer(examination: Examination, keys: KeySet) -> Issuer:
    claims_of_issuer = claimed_dids(examination.claims)
    if not examination.is_verified:
        return Issuer("not_judged", keys.did, claims_of_issuer, "the steps before failed")
    # A bare key belongs to no issuer: what the receipt claims about its issuer cannot be compared with anything.
    if keys.did is None:
        return Issuer("not_judged", None, claims_of_issuer, "the key was given without a DID; you say whose it is")
    other_dids = {name: value for name, value in claims_of_issuer.items() if value != keys.did}
    # Receipts name issuers by did:web. A did:key is only another spelling of the key.
    if keys.did.startswith("did:key:") and not any(
        str(value).startswith("did:key:") for value in claims_of_issuer.values()
    ):
        return Issuer("not_judged", keys.did, claims_of_issuer, "a did:key is a key and no issuer; you say whose it is")
    if other_dids:
        did_list = " and ".join(f"{name} is {value}" for name, value in other_dids.items())
        return Issuer("fail", keys.did, claims_of_issuer, f"{did_list}, and the keys are those of {keys.did}")
    if not claims_of_issuer:
        return Issuer(
            "fail", keys.did, claims_of_issuer, f"the receipt names no issuer, and the keys are those of {keys.did}"
        )
    return Issuer("pass", keys.did, claims_of_issuer, f"issued by {keys.did}, whose key verifies it")
