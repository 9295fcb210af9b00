"""Mutants of explain (6.2, 6.3)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reference.agent.skills import Moment
from reference.protocol.message_signatures import content_digest
from reference.variants.mutants.agent_verdicts import EXPLAIN, Run, agent_mutant, change_result, of_skill
from reference.web.errors import Unprocessable

# The base of a message that nobody sends: it was signed long ago.
_EXAMPLE = '"@method": GET\n"@path": /example\n"@signature-params": ("@method" "@path");created=1735689600'


def _explained(change: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
    return change_result(EXPLAIN, change)


def _silent(result: dict[str, Any]) -> None:
    for name in ("valid", "verdict"):
        result[name] = None


def _split(result: dict[str, Any]) -> None:
    result["verdict"] = "pass"


def _newline_at_its_end(result: dict[str, Any]) -> None:
    for name in ("signature_base", "signing_base"):
        result[name] += "\n"


def _canned_base(result: dict[str, Any]) -> None:
    result["signature_base"] = result["signing_base"] = _EXAMPLE


def _sorted_components(result: dict[str, Any]) -> None:
    result["covered_components"] = sorted(result["covered_components"])
    # The same list is nowhere else in the answer but in the base.
    result["signature_base"] = result["signing_base"]


def _without_nonce(result: dict[str, Any]) -> None:
    result["parameters"].pop("nonce", None)


def _digest_echoed(result: dict[str, Any]) -> None:
    digest = result["content_digest"]
    digest["computed"] = digest["provided"] or digest["computed"]


def _digest_of_nothing(result: dict[str, Any]) -> None:
    name = result["content_digest"]["algorithm"] or "sha-256"
    result["content_digest"]["computed"] = content_digest.compute(name, b"")


def _without_notes(result: dict[str, Any]) -> None:
    result["fix_notes"] = result["diagnosis"] = []


def _canned_notes(result: dict[str, Any]) -> None:
    if not result["valid"]:
        result["fix_notes"] = result["diagnosis"] = ["The signature could not be verified; look at the message."]


def _codes_for_notes(result: dict[str, Any]) -> None:
    result["fix_notes"] = result["diagnosis"] = list(result["error_codes"])


def _key_wanted(run: Run) -> Run:
    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        if request.key_bytes() is None:
            raise Unprocessable([{"loc": ["body"], "msg": "a key is needed", "type": "missing_key"}])
        return run(request, moment)

    return ran


def _no_base_without_key(run: Run) -> Run:
    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        result = run(request, moment)
        return {**result, "signature_base": "", "signing_base": ""} if request.key_bytes() is None else result

    return ran


def _broken_without_key_and_field(run: Run) -> Run:
    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        result = run(request, moment)
        if request.key_bytes() is None and "missing_component" in result["error_codes"]:
            raise TypeError("no key verifies")
        return result

    return ran


def _pass_without_key(run: Run) -> Run:
    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        result = run(request, moment)
        return {**result, "valid": True, "verdict": "pass"} if request.key_bytes() is None else result

    return ran


def _form_ignored(name: str) -> Callable[[Run], Run]:
    def ignoring(run: Run) -> Run:
        return lambda request, moment: run(request.model_copy(update={name: None}), moment)

    return ignoring


def _did_key_of_another(run: Run) -> Run:
    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        if request.did_key is not None and request.public_key_hex is None:
            other = request.key_bytes()[:-1] + b"\x00"
            request = request.model_copy(update={"public_key_hex": other.hex(), "did_key": None})
        return run(request, moment)

    return ran


def _body_not_looked_at(run: Run) -> Run:
    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        result = run(request, moment)
        if result["valid"] is False and set(result["error_codes"]) <= {"content_digest_mismatch"}:
            return {**result, "valid": True, "verdict": "pass"}
        return result

    return ran


def _failing_is_422(run: Run) -> Run:
    def ran(request: Any, moment: Moment) -> dict[str, Any]:
        result = run(request, moment)
        if result["valid"] is False:
            raise Unprocessable([{"loc": ["body"], "msg": "not valid", "type": "invalid_signature"}])
        return result

    return ran


MUTANTS = (
    agent_mutant("explain-silent", "explain says pass or fail (6.3)", _explained(_silent)),
    agent_mutant("explain-split", "valid and verdict agree (6.3)", _explained(_split)),
    agent_mutant(
        "base-newline", "the base has no line feed at its end (RFC 9421 2.5)", _explained(_newline_at_its_end)
    ),
    agent_mutant("base-canned", "the base is this message's (6.3)", _explained(_canned_base)),
    agent_mutant("components-sorted", "components are in signed order (6.3)", _explained(_sorted_components)),
    agent_mutant("parameters-short", "all parameters are told (6.3)", _explained(_without_nonce)),
    agent_mutant("digest-echoed", "the digest is computed (6.3)", _explained(_digest_echoed)),
    agent_mutant("digest-of-nothing", "the digest is of the body (6.3)", _explained(_digest_of_nothing)),
    agent_mutant("notes-absent", "what fails has notes (6.3)", _explained(_without_notes)),
    agent_mutant("notes-canned", "notes say what to change (6.3)", _explained(_canned_notes)),
    agent_mutant("notes-codes", "notes are sentences (6.3)", _explained(_codes_for_notes)),
    agent_mutant("explain-key-wanted", "explain needs no key (6.2)", of_skill(EXPLAIN, _key_wanted)),
    agent_mutant("explain-baseless", "without a key the base is told (6.2)", of_skill(EXPLAIN, _no_base_without_key)),
    agent_mutant(
        "explain-keyless-breaks",
        "without a key a failing message is explained with 200, too (6.3)",
        of_skill(EXPLAIN, _broken_without_key_and_field),
    ),
    agent_mutant(
        "explain-pass-keyless", "without a key there is no verdict (6.3)", of_skill(EXPLAIN, _pass_without_key)
    ),
    agent_mutant(
        "explain-hex-ignored", "hex alone is enough (6.2)", of_skill(EXPLAIN, _form_ignored("public_key_hex"))
    ),
    agent_mutant("explain-did-ignored", "did:key alone is enough (6.2)", of_skill(EXPLAIN, _form_ignored("did_key"))),
    agent_mutant("explain-did-other", "both forms are one key (6.2)", of_skill(EXPLAIN, _did_key_of_another)),
    agent_mutant("explain-apart", "one core judges both (P-AG-08)", of_skill(EXPLAIN, _body_not_looked_at)),
    agent_mutant(
        "explain-fail-422", "a failing message is explained with 200 (6.2)", of_skill(EXPLAIN, _failing_is_422)
    ),
)
