"""The hosted verifier of a target: the member that carries the receipt, the keys, and a receipt that it must accept."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from conformance.engine.check import Case
from conformance.http.client import Answer, Unreachable
from conformance.http.redaction import list_words
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import keys_of_jwks
from conformance.oracles.receipts import STEPS
from conformance.outcome import Inconclusive
from conformance.receipts.live_mutations import Material, Vector, keys
from conformance.surfaces.gateway.calls import RECEIPT_VERIFY, SCREEN, short, target_of
from conformance.target import ProfileError

# Names of the member that carries a receipt, tried only if the profile binds none.
MEMBERS = (
    "jws",
    "receipt",
    "token",
    "receipt_jws",
    "compliance_receipt_jws",
    "compliance_receipt",
    "jwt",
    "compact",
    "receipt_token",
    "envelope",
)
# The name in the specification (2.4 step 9).
_USUAL_HASH_MEMBER = "expected_payment_hash"
# Usual places of a key document, tried in this order if the profile binds none.
_KEY_PATHS = ("/.well-known/jwks.json", "/jwks.json", "/.well-known/jwks", "/v1/jwks", "/v1/jwks.json", "/v1/keys")
# Slightly below the stated limit of 120 calls per minute, because rows about limits also need calls.
_SPACING_SECONDS = 0.55
# The answers to a path, or to a method of it, that is not served.
_UNKNOWN_STATUSES = frozenset({404, 405})
_DISCOVERY_KEY = "receipt verifier"


@dataclass(slots=True)
class Verifier:
    """The hosted verifier, called at a pace that its stated limit allows.

    Attributes:
        member: Name of the member that carries the receipt.
        material: The receipts and keys from which vectors are made.
        judges_structure: Whether the profile binds the nine codes, so that its reading of structure is judged.
        hash_member: Name of the request's member for the payment hash that the caller expects; None if it is unbound.
        names_deployed: Whether the nine codes are those of deployed services, so that their reading of kinds is judged.
        is_spaced: Whether to wait between calls, because the target enforces its limit.
    """

    member: str
    material: Material
    judges_structure: bool
    is_spaced: bool
    hash_member: str | None = None
    names_deployed: bool = False
    _next: float = field(default=0.0)

    async def present(self, case: Case, vector: Vector, *, headers: Mapping[str, str] | None = None) -> Answer:
        """Present a vector and return the answer; its payment hash has the usual member's name if no name is bound."""
        await self._turn()
        hash_member_name = self.hash_member or _USUAL_HASH_MEMBER
        return await present(case, self.member, vector, headers=headers, hash_member=hash_member_name)

    def can_ask(self, vector: Vector) -> bool:
        """Return whether the target has a member for every part of a vector."""
        return vector.expected_payment_hash is None or self.hash_member is not None

    def select_vectors(self, vectors: list[Vector]) -> list[Vector]:
        """Return the vectors that judge this target."""
        return [one for one in vectors if self.can_ask(one) and self._judged_by(one)]

    def _judged_by(self, vector: Vector) -> bool:
        return self.names_deployed if vector.deployed else self.judges_structure or not vector.pinned

    async def _turn(self) -> None:
        if self.is_spaced:
            now = time.monotonic()
            # Calls of parallel checks share this schedule.
            self._next = max(now, self._next) + _SPACING_SECONDS
            await asyncio.sleep(self._next - _SPACING_SECONDS - now)


async def present(
    case: Case,
    member: str,
    vector: Vector,
    *,
    headers: Mapping[str, str] | None = None,
    hash_member: str = _USUAL_HASH_MEMBER,
) -> Answer:
    """Send one receipt to the hosted verifier; the log contains names in place of its texts."""
    body: dict[str, Any] = {member: vector.jws}
    if vector.jwks is not None:
        body["jwks"] = vector.jwks
    if vector.expected_payment_hash is not None:
        body[hash_member] = vector.expected_payment_hash
    name_texts(case, body, "RECEIPT")
    header_fields = case.session.tenants.headers() if headers is None else headers
    return await target_of(case)("POST", RECEIPT_VERIFY, json_body=body, headers=header_fields)


def name_texts(case: Case, value: Any, name: str) -> None:
    """Replace every long text of a value in the log, and also the parts of a text around an invalid character."""
    if isinstance(value, str) and len(value) > 20:
        for part in (*value.split("."), *(one for one in list_words(value) if len(one) > 20)):
            if len(set(part)) > 1:  # a signature of zeros is not specific to this target
                case.client.names.name(part, name)
    elif isinstance(value, Mapping):
        for member in value.values():
            name_texts(case, member, name)
    elif isinstance(value, list):
        for member in value:
            name_texts(case, member, name)


async def find_verifier(case: Case) -> Verifier:
    """Return the target's verifier, which is discovered once per run.

    Raises:
        Inconclusive: The member that carries the receipt is not bound, and no usual name works.
    """
    discovered_verifier: Verifier = await case.session.find_once(_DISCOVERY_KEY, lambda: _find(case))
    return discovered_verifier


async def _find(case: Case) -> Verifier:
    platform = await _platform_receipt(case)
    material = Material.of(platform, await fetch_key_document(case), random.Random(case.session.nonce))  # noqa: S311 - throwaway keys
    bindings, is_spaced = case.profile.gateway_bindings, case.profile.pace.requests_per_second > 0
    name_texts(case, [platform, *(one.jwk for one in material.third)], "RECEIPT")
    member = bindings.receipt_member or await _member(case, material)
    codes = bindings.receipt_codes
    names_deployed = codes is not None and {*codes} == {*STEPS}
    return Verifier(member, material, codes is not None, is_spaced, bindings.receipt_hash_member, names_deployed)


async def _member(case: Case, material: Material) -> str:
    """Return the first usual name under which a valid receipt passes."""
    signer = material.third[0]
    trials = [Vector("probe", "", material.by(signer), keys(signer), valid=True)]
    if material.platform is not None:
        trials.insert(0, Vector("probe", "", material.platform, valid=True))
    statuses: set[int] = set()
    for vector in trials:
        for name in MEMBERS:
            await asyncio.sleep(_SPACING_SECONDS if case.profile.pace.requests_per_second else 0)
            answer = await present(case, name, vector)
            statuses.add(answer.status)
            if answer.status == 200:
                return name
    if statuses <= _UNKNOWN_STATUSES:
        raise Inconclusive(f"POST {RECEIPT_VERIFY} was answered {min(statuses)}, so no receipt can be verified there")
    raise Inconclusive("unbound: no usual member carries the receipt; bind [gateway] receipt_member")


async def fetch_key_document(case: Case) -> Any:
    """Return the gateway's key document unchanged; None if it has none.

    Raises:
        Unreachable: The target does not answer.
    """
    bound_path = case.profile.gateway_bindings.jwks_path
    # The interface does not fix the path of the key set.
    for path in (bound_path,) if bound_path is not None else _KEY_PATHS:
        answer = await target_of(case)("GET", path)
        if answer.status == 200 and keys_of_jwks(answer.read_object()):
            return answer.read_object()
    return None


async def _platform_receipt(case: Case) -> str | None:
    """Return a receipt signed by the platform: from the operator's file, or from a screening; None without either."""
    bindings = case.profile.gateway_bindings
    if bindings.receipt_file is not None:
        try:
            return bindings.receipt_file.read_text("ascii").strip()
        except (OSError, UnicodeDecodeError) as fault:
            raise ProfileError(f"[gateway] receipt_file cannot be read: {fault}") from fault
    if bindings.screen_body is None:
        return None
    try:
        place_and_token = receipt_in(case, await screen_person(case))
    except (Inconclusive, Unreachable):
        return None
    return None if place_and_token is None else place_and_token[1]


async def screen_person(case: Case, body: Mapping[str, Any] | None = None) -> Answer:
    """Screen a person, with the given body or the profile's.

    Raises:
        Inconclusive: The profile binds no body.
    """
    screening_body = body or case.profile.gateway_bindings.screen_body
    if screening_body is None:
        raise Inconclusive("unbound: no body is known that can be screened; bind [gateway] screen_body")
    headers = case.session.tenants.headers()
    return await target_of(case)("POST", SCREEN, json_body=dict(screening_body), headers=headers)


def receipt_in(case: Case, answer: Answer) -> tuple[str, str] | None:
    """Return the receipt in a screening's answer as (place, token), or None."""
    bound_member = case.profile.gateway_bindings.screen_receipt_member
    tokens = jose.tokens_in(answer.read_object(), answer.headers)
    receipts = [one for one in tokens if bound_member is None or one[0] == f"body:{bound_member}"]
    if receipts:
        name_texts(case, receipts[0][1], "RECEIPT")
    return receipts[0] if receipts else None


def needs_platform(discovered_verifier: Verifier) -> str:
    """Return the platform's receipt.

    Raises:
        Inconclusive: The platform issued no receipt.
    """
    if discovered_verifier.material.platform is None:
        raise Inconclusive(
            "needs a receipt signed by the platform's key: bind [gateway] screen_body, or give [gateway] receipt_file"
        )
    return discovered_verifier.material.platform


def describe(answer: Answer) -> str:
    """Return an answer in a few words."""
    return f"{answer.status}: {short(answer)}"
