"""Mutants of verification at the agent: each drops one rule of RFC 9421, RFC 9530 or specification 6.2 to 6.4."""

from __future__ import annotations

import dataclasses
import hashlib
import socket
from collections.abc import Callable, Iterator
from typing import Any

import base58
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from reference.agent import skills
from reference.agent.skills import Moment, Skill
from reference.protocol import keys
from reference.protocol.keys import PublicKey
from reference.protocol.message_signatures import (
    algorithms,
    parameters,
    verdict,
)
from reference.protocol.message_signatures import request as verify_request
from reference.protocol.message_signatures.algorithms import ExpectedKey
from reference.protocol.message_signatures.faults import Fault
from reference.protocol.message_signatures.fields import Fields
from reference.protocol.message_signatures.signature_input import SignatureInput
from reference.variants.mutants.mutant import Mutant
from reference.variants.seams import replace
from reference.web.errors import Refused

VERIFY, EXPLAIN, SIGN = "/verify/rfc9421", "/verify/rfc9421/explain", "/verify/rfc9421/sign"
Run = Callable[[Any, Moment], dict[str, Any]]


def of_skill(path: str, change: Callable[[Run], Run]) -> Callable[[], None]:
    """Return what changes how one skill runs, by HTTP and by A2A."""

    def apply() -> None:
        skill = skills.SKILL_PATHS[path]
        put(dataclasses.replace(skill, run=change(skill.run)))

    return apply


def put(skill: Skill) -> None:
    """Put a changed skill in the place of the one of its name."""
    for table, name in ((skills.SKILLS, skill.id), (skills.SKILL_PATHS, skill.path)):
        assert isinstance(table, dict)  # noqa: S101 - a mutant writes where the service only reads
        table[name] = skill


def change_result(path: str, change: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    """Return what changes the result of one skill in place."""

    def changed(run: Run) -> Run:
        def ran(request: Any, moment: Moment) -> dict[str, Any]:
            result = run(request, moment)
            change(result)
            return result

        return ran

    return of_skill(path, changed)


# --- what the result says


def _always(*, valid: bool) -> Callable[[dict[str, Any]], None]:
    def change(result: dict[str, Any]) -> None:
        result.update(valid=valid, errors=[] if valid else ["not valid"], error_codes=[] if valid else ["invalid"])

    return change


def _without_errors(result: dict[str, Any]) -> None:
    del result["errors"]


def _errors_on_success(result: dict[str, Any]) -> None:
    if result["valid"]:
        result["errors"].append("no fault was found")


def _no_error_on_failure(result: dict[str, Any]) -> None:
    result["errors"].clear()


def _unsigned_passes(result: dict[str, Any]) -> None:
    if not {"missing_signature", "missing_signature_input"}.isdisjoint(result["error_codes"]):
        _always(valid=True)(result)


def _failure_as_status(status: int) -> Callable[[Run], Run]:
    def refusing(run: Run) -> Run:
        def ran(request: Any, moment: Moment) -> dict[str, Any]:
            result = run(request, moment)
            if result["valid"] is False:
                raise Refused(status, "invalid_signature", "the signature is not valid")
            return result

        return ran

    return refusing


# --- memory


def _remembered(run: Run) -> Run:
    """A signature that was valid once is remembered, whatever message and key it comes with."""
    known: dict[str, dict[str, Any]] = {}

    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        place = hashlib.sha256(repr(Fields(request.headers).combined("signature")).encode()).hexdigest()
        result = known.get(place) or run(request, moment)
        if result["valid"]:
            known[place] = result
        return result

    return ran


def _once_only(run: Run) -> Run:
    """A signature that was valid is a replay when it comes again."""
    seen: set[str | None] = set()

    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        result = run(request, moment)
        signature = Fields(request.headers).combined("signature")
        if result["valid"] and signature in seen:
            return {**result, "valid": False, "errors": ["seen before"], "error_codes": ["replayed"]}
        if result["valid"]:
            seen.add(signature)
        return result

    return ran


# --- keys


def _keyid_trusted() -> None:
    def trusting(decide: Callable[..., None]) -> Callable[..., None]:
        def decided(expected: ExpectedKey, chosen: SignatureInput, built: Any, judged: Any) -> None:
            named = str(chosen.parameters.get("keyid", ""))
            if named.startswith("did:key:z6Mk"):
                expected = ExpectedKey("ed25519", keys.public_key_from_did_key(named).raw)
            decide(expected, chosen, built, judged)

        return decided

    replace(verdict, "_decide", trusting)


def _keyid_compared() -> None:
    """A signature whose keyid is not the expected key's own name is refused."""

    def strict(decide: Callable[..., None]) -> Callable[..., None]:
        def decided(expected: ExpectedKey, chosen: SignatureInput, built: Any, judged: Any) -> None:
            decide(expected, chosen, built, judged)
            named = str(chosen.parameters.get("keyid", ""))
            if named.startswith("did:key:") and named != PublicKey(expected.material).did_key:
                judged.faults.append(Fault("key_rejected", "keyid names another key"))

        return decided

    replace(verdict, "_decide", strict)


def _any_type_of_key() -> None:
    """Take the 32 bytes of a did:key of X25519 for a key of Ed25519."""

    def lenient(fault_of: Callable[[str], str | None]) -> Callable[[str], str | None]:
        def fault(text: str) -> str | None:
            return None if text.startswith("did:key:z6LS") else fault_of(text)

        return fault

    replace(verify_request, "fault_of_did_key", lenient)


def _code_anywhere() -> None:
    """Take a did:key of another type for one of Ed25519 where its bytes hold that type's code anywhere."""

    def lenient(fault_of: Callable[[str], str | None]) -> Callable[[str], str | None]:
        def fault(text: str) -> str | None:
            holds = text.startswith("did:key:z6LS") and b"\xed\x01" in base58.b58decode(text.removeprefix("did:key:z"))
            return None if holds else fault_of(text)

        return fault

    replace(verify_request, "fault_of_did_key", lenient)


def _small_keys() -> None:
    def lenient(_: Callable[..., Any]) -> Callable[..., Any]:
        def of(raw: bytes) -> _AnyKey:
            return _AnyKey(raw)

        return of

    replace(algorithms, "public_key", lenient)


@dataclasses.dataclass(frozen=True)
class _AnyKey:
    """A key whose order nobody looks at."""

    raw: bytes

    def verify(self, message: bytes, signature: bytes) -> bool:
        """Return whether the plain equation holds."""
        try:
            Ed25519PublicKey.from_public_bytes(self.raw).verify(signature, message)
        except (InvalidSignature, ValueError):
            return False
        return True


def _half_a_signature() -> None:
    """Only the first half of a signature counts: a prefix that was once seen with a valid one will do."""
    known: set[bytes] = set()

    def loose(verify: Callable[..., bool]) -> Callable[..., bool]:
        def verified(self: PublicKey, message: bytes, signature: bytes) -> bool:
            holds = verify(self, message, signature)
            place = hashlib.sha256(self.raw + message + signature[:32]).digest()
            if holds:
                known.add(place)
            return holds or place in known

        return verified

    replace(PublicKey, "verify", loose)


# --- parameters


def _without_codes(*codes: str) -> Callable[[], None]:
    def lenient(judge: Callable[..., Iterator[Fault]]) -> Callable[..., Iterator[Fault]]:
        def judged(*args: Any, **options: Any) -> Iterator[Fault]:
            return (fault for fault in judge(*args, **options) if fault.code not in codes)

        return judged

    return lambda: replace(parameters, "judge", lenient)


def _no_skew() -> None:
    def exact(judge: Callable[..., Iterator[Fault]]) -> Callable[..., Iterator[Fault]]:
        return lambda *args, **options: judge(*args, **{**options, "skew": 0})

    replace(parameters, "judge", exact)


def _keyid_looked_up(run: Run) -> Run:
    """Look the host of a keyid up before a message is judged, at a resolver of this machine."""

    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        result = run(request, moment)
        if "did:web:" in str(result["parameters"].get("keyid")):
            try:
                with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as resolver:
                    resolver.connect(("127.0.0.1", 53))
            except OSError:
                return {**result, "valid": False, "errors": ["the key cannot be resolved"]}
        return result

    return ran


def agent_mutant(name: str, rule: str, apply: Callable[[], None]) -> Mutant:
    """Return a mutant of the agent."""
    return Mutant(f"agent-{name}", rule, apply, surface="agent")


MUTANTS = (
    agent_mutant(
        "always-valid", "the result is that of the equation (6.3)", change_result(VERIFY, _always(valid=True))
    ),
    agent_mutant("always-invalid", "a message that holds is valid (6.3)", change_result(VERIFY, _always(valid=False))),
    agent_mutant("errors-absent", "the result has a list of errors (6.3)", change_result(VERIFY, _without_errors)),
    agent_mutant("errors-on-success", "errors is empty when valid (6.3)", change_result(VERIFY, _errors_on_success)),
    agent_mutant(
        "no-error-on-failure", "a negative result has an error (6.3)", change_result(VERIFY, _no_error_on_failure)
    ),
    agent_mutant(
        "unsigned-passes", "a message without a signature is not valid (6.3)", change_result(VERIFY, _unsigned_passes)
    ),
    agent_mutant("failure-is-400", "a failing signature is 200 (6.2)", of_skill(VERIFY, _failure_as_status(400))),
    agent_mutant(
        "verdict-remembered", "the result is of this message and key (P-AG-08)", of_skill(VERIFY, _remembered)
    ),
    agent_mutant("valid-once", "nothing is kept (6.1)", of_skill(VERIFY, _once_only)),
    agent_mutant("keyid-looked-up", "a keyid is never resolved (P-CV-15)", of_skill(VERIFY, _keyid_looked_up)),
    agent_mutant("key-of-any-type", "a did:key is of an Ed25519 key (6.2)", _any_type_of_key),
    agent_mutant("key-code-anywhere", "a did:key begins with the code of Ed25519 (P-KY-10)", _code_anywhere),
    agent_mutant("keyid-trusted", "keyid never overrides the expected key (P-AG-04)", _keyid_trusted),
    agent_mutant("keyid-compared", "keyid never chooses (P-AG-04)", _keyid_compared),
    agent_mutant("small-keys", "keys of small order are rejected (6.3)", _small_keys),
    agent_mutant("half-a-signature", "all 64 bytes of a signature count (RFC 8032)", _half_a_signature),
    agent_mutant("alg-ignored", "alg is the expected key's (P-AG-04)", _without_codes("alg_not_allowed")),
    agent_mutant("tag-ignored", "expected_tag must be there (6.2)", _without_codes("tag_mismatch")),
    agent_mutant("expires-ignored", "expires is enforced (P-AG-05)", _without_codes("expired")),
    agent_mutant("future-accepted", "created lies not ahead (P-AG-05)", _without_codes("created_in_future")),
    agent_mutant("age-ignored", "max_age_seconds bounds the age (P-AG-05)", _without_codes("too_old")),
    agent_mutant("no-skew", "clocks may differ by 60 s (P-AG-05)", _no_skew),
)
