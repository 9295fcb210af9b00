"""What a receipt binds: its hash claims recomputed from what was sent, answered and paid, and compared. Pure.

The recipes are the profile's (P-RH-01 to P-RH-03 and section 2.3). If a claim fits none of them, every usual recipe is
tried. This distinguishes an implementation that hashes differently from a receipt about something else.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import base58

from conformance.oracles import hash_recipes
from conformance.oracles.challenge_tokens import core, request_bytes
from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.oracles.receipt_kinds import payment_member, service_word_of

_ALGORAND_TX = re.compile(r"[A-Z2-7]{51}[AQ]")
_EVM_TX = re.compile(r"0x[0-9a-fA-F]{64}")
_EVM_ADDRESS = re.compile(r"0x[0-9a-fA-F]{40}")
_SERVICE = "weldproof"
_SIGNATURE_BYTES = 64


class Outcome(StrEnum):
    """What comparing one claim gave."""

    HOLDS = "holds"
    OTHER_RECIPE = "other_recipe"
    DIFFERS = "differs"
    ABSENT = "absent"


@dataclass(frozen=True, slots=True)
class Binding:
    """One claim, compared with the value that it must have.

    Attributes:
        claim: The receipt's member.
        code: The code of the fault, if it is one.
        clause: Where the recipe stands.
        outcome: What comparing gave; only `HOLDS` is no fault.
        claimed: The member's value, None where the receipt has none.
        computed: The value by the profile's recipe; None where what was given has none.
        recipe: The recipe that fits: `profile`, the name of another usual one, or None.
    """

    claim: str
    code: str
    clause: str
    outcome: Outcome
    claimed: Any
    computed: str | None
    recipe: str | None

    @property
    def holds(self) -> bool:
        """Whether the claim is what the profile's recipe gives."""
        return self.outcome is Outcome.HOLDS


def faults(claims: Mapping[str, Any], facts: Mapping[str, Any]) -> list[Binding]:
    """Return the bindings that do not hold by the profile's recipes, in the order of `bindings`."""
    return [one for one in bindings(claims, facts) if not one.holds]


def bindings(claims: Mapping[str, Any], facts: Mapping[str, Any]) -> list[Binding]:
    """Return each claim that can be compared with the given facts.

    Args:
        claims: The receipt's payload; verified or not.
        facts: Any of these members; one that is absent or null compares nothing. No value in them is an error: what
            has no canonical form, or is no transaction id, differs.

            * `request`: `{"method", "path", "query", "service_id", "body"}`, body as JSON; without `service_id` the
              receipt's own; `raw_body`, the body's text as it was sent, is for other recipes only.
            * `response`: `{"result"}`, the member of the 200 body; `raw_body` as for the request.
            * `settlement`: `{"tx_id", "network", "service"}`; without `service` that of the receipt's kind.
            * `payment_reference`: the challenge token as text.
            * `payer`: `{"address", "network"}`.
    """
    comparisons: list[Binding] = []
    for member, compare in _COMPARISONS.items():
        value = facts.get(member)
        if value is not None:
            comparisons.append(compare(claims, value if isinstance(value, str | Mapping) else {}))
    return comparisons


def request_hash(request: Mapping[str, Any], service_id: Any) -> str | None:
    """Return `request_hash` by P-RH-01; None where the body has no canonical form."""
    full_request = {
        "body": request.get("body"),
        "method": request.get("method", "POST"),
        "path": request.get("path"),
        "query": request.get("query", ""),
    }
    return _reference(lambda: request_bytes(full_request, service_id))


def response_hash(response: Mapping[str, Any]) -> str | None:
    """Return `response_hash` by P-RH-02; None where there is no result, or one without canonical form."""
    return _reference(lambda: jcs_bytes(response["result"])) if "result" in response else None


def settled_payment_ref(tx_id: str, network: str, service: str) -> str | None:
    """Return `settled_payment_ref` by P-RH-03; None for a text that is no transaction id of that network."""
    normal = normal_tx_id(tx_id, network)
    if normal is None:
        return None
    return _reference(f"{core(service)}:{normal}:{network}".encode)


def normal_tx_id(tx_id: str, network: str) -> str | None:
    """Return a transaction id in the one form that is hashed (P-NW-04), None where it is malformed.

    EVM ids are lower-cased; Solana and Algorand ids must be canonical already; others stay as they are.
    """
    # Hexadecimal has two spellings, so the hash needs one of them. Base58 and base32 ids have
    # only one spelling, which is required.
    if network.startswith(("base_", "tempo_")):
        return tx_id.lower() if _EVM_TX.fullmatch(tx_id) else None
    if network.startswith("algorand_"):
        return tx_id if _ALGORAND_TX.fullmatch(tx_id) else None
    if network.startswith("solana_"):
        return tx_id if _is_signature(tx_id) else None
    return tx_id or None


def _is_signature(text: str) -> bool:
    try:
        raw = base58.b58decode(text)
    except ValueError:
        return False
    # Decoding ignores nothing, but a text with another encoding of the same bytes is not
    # canonical.
    return len(raw) == _SIGNATURE_BYTES and base58.b58encode(raw).decode("ascii") == text


def payment_reference_hash(token: str) -> str | None:
    """Return `payment_reference_hash`: of the token's text (2.3)."""
    return _reference(token.encode)


def payer_ref(address: str, network: str) -> str | None:
    """Return `payer_ref` by specification 2.3: an EVM address in lower case, others as they are."""
    # The case of an EVM address is only a checksum (EIP-55), so both spellings are one payer.
    normal = address.lower() if _EVM_ADDRESS.fullmatch(address) else address
    return _reference(lambda: jcs_bytes({"address": normal, "network": network}))


def _reference(encode: Callable[[], bytes]) -> str | None:
    """Return a hash reference (P-CV-06)."""
    try:
        return f"sha256:{sha256_hex(encode())}"
    except (ValueError, RecursionError):
        return None


def _compare_request(claims: Mapping[str, Any], fact: Any) -> Binding:
    request = fact if isinstance(fact, Mapping) else {}
    service = request.get("service_id", claims.get("service_id"))
    texts = {name: str(request.get(name) or "") for name in ("method", "path", "query", "raw_body")}

    def other_recipes() -> Mapping[str, set[str]]:
        return hash_recipes.request_hashes(
            texts["method"] or "POST",
            texts["path"],
            texts["query"],
            texts["raw_body"].encode("utf-8", "surrogatepass"),
            request.get("body"),
            service if isinstance(service, str) else None,
        )

    return _compare_claim(
        claims, "request_hash", "request_hash_differs", "P-RH-01", request_hash(request, service), other_recipes
    )


def _compare_response(claims: Mapping[str, Any], fact: Any) -> Binding:
    response = fact if isinstance(fact, Mapping) else {}
    raw = str(response.get("raw_body") or "").encode("utf-8", "surrogatepass")

    def other_recipes() -> Mapping[str, set[str]]:
        digests = hash_recipes.response_hashes(raw, response.get("result"), str(response.get("receipt") or ""))
        return digests if raw else {"jcs-result": digests["jcs-result"]} if "result" in response else {}

    return _compare_claim(
        claims, "response_hash", "response_hash_differs", "P-RH-02", response_hash(response), other_recipes
    )


def _compare_settlement(claims: Mapping[str, Any], fact: Any) -> Binding:
    settlement = fact if isinstance(fact, Mapping) else {}
    tx_id, network = str(settlement.get("tx_id") or ""), str(settlement.get("network") or "")
    word = str(settlement.get("service") or service_word_of(claims) or _SERVICE)

    def other_recipes() -> Mapping[str, set[str]]:
        digests = hash_recipes.settled_refs(word, tx_id, network, "") if tx_id else {}
        # A hash of the token alone does not name a settled payment.
        return {name: values for name, values in digests.items() if not name.endswith("-token")}

    computed_value = settled_payment_ref(tx_id, network, word)
    return _compare_claim(
        claims, payment_member(claims), "settled_payment_ref_differs", "P-RH-03", computed_value, other_recipes
    )


def _compare_payment_reference(claims: Mapping[str, Any], fact: Any) -> Binding:
    token = fact if isinstance(fact, str) else ""

    def other_recipes() -> Mapping[str, set[str]]:
        return {"sha256-token": hash_recipes.spellings(token.encode("utf-8", "surrogatepass"))} if token else {}

    code = "payment_reference_hash_differs"
    return _compare_claim(
        claims, "payment_reference_hash", code, "specification 2.3", payment_reference_hash(token), other_recipes
    )


def _compare_payer(claims: Mapping[str, Any], fact: Any) -> Binding:
    payer = fact if isinstance(fact, Mapping) else {}
    address, network = str(payer.get("address") or ""), str(payer.get("network") or "")

    def other_recipes() -> Mapping[str, set[str]]:
        texts = {"jcs-payer-as-given": jcs_bytes({"address": address, "network": network})}
        texts |= {"sha256-address": address.encode(), "sha256-address-lower": address.lower().encode()}
        texts |= {"sha256-network-address": f"{network}:{address}".encode()}
        return {name: hash_recipes.spellings(text) for name, text in texts.items()} if address else {}

    return _compare_claim(
        claims, "payer_ref", "payer_ref_differs", "specification 2.3", payer_ref(address, network), other_recipes
    )


def _compare_claim(
    claims: Mapping[str, Any],
    claim: str,
    code: str,
    clause: str,
    computed_value: str | None,
    other_recipes: Callable[[], Mapping[str, set[str]]],
) -> Binding:
    claim_value = claims.get(claim)
    if claim_value is None:
        return Binding(claim, code, clause, Outcome.ABSENT, None, computed_value, None)
    # The profile's recipe decides. The other recipes only explain a difference.
    if computed_value is not None and claim_value == computed_value:
        return Binding(claim, code, clause, Outcome.HOLDS, claim_value, computed_value, "profile")
    recipe = _find_recipe(claim_value, other_recipes) if isinstance(claim_value, str) else None
    outcome = Outcome.DIFFERS if recipe is None else Outcome.OTHER_RECIPE
    return Binding(claim, code, clause, outcome, claim_value, computed_value, recipe)


def _find_recipe(claim_value: str, other_recipes: Callable[[], Mapping[str, set[str]]]) -> str | None:
    try:
        return next((name for name, values in other_recipes().items() if claim_value in values), None)
    except ValueError:
        return None


_COMPARISONS: Mapping[str, Callable[[Mapping[str, Any], Any], Binding]] = {
    "request": _compare_request,
    "response": _compare_response,
    "settlement": _compare_settlement,
    "payment_reference": _compare_payment_reference,
    "payer": _compare_payer,
}
