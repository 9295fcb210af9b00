"""GW-RCPT: the platform's own receipts and keys, stateless verification, and bodies without a receipt."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Mapping, Sequence
from typing import Any

from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles.ed25519_keys import keys_of_jwks, private_members
from conformance.outcome import Inconclusive, OpenPoint
from conformance.receipts.live_mutations import Material, Vector, vectors
from conformance.receipts.report_members import code_member, leaves
from conformance.receipts.verifier import Verifier, describe, find_verifier, needs_platform
from conformance.surfaces.gateway.calls import RECEIPT_VERIFY, envelope_fault, is_refused, target_of

# The interface leaves open whether verification needs a credential.
_NOT_WITHOUT_CREDENTIALS = frozenset({401, 403})
_FURTHER_MEMBERS = OpenPoint("the further members of a verification, and null for them", "P-GR-01")
# A few vectors of each verdict, because each is sent three times within the limit of 120 a minute.
_STATELESS = (
    "a third party's, its key set supplied",
    "a third party's, no key set",
    "the platform's",
    "the platform's, another key set supplied",
    "alg 'none', no signature",
    "two segments",
    "truly signed: an empty object",
)


@check(
    "GW-RCPT-01",
    "GW-RCPT-30",
    surface="gateway",
    fix="Verify without `jwks` under the platform's own key, and answer 200 with a pass report.",
)
async def platform_receipt(case: Case) -> None:
    """A receipt of the platform passes without a key set.

    Presents a receipt that the platform signed, and no other member. Expects 200 with a report. Then adds null as
    `jwks` and as `expected_payment_hash`, and each value of `receipt_required`. Expects the same, if the target claims
    the specification.
    """
    hosted_verifier = await find_verifier(case)
    token = needs_platform(hosted_verifier)
    answer = await hosted_verifier.present(case, Vector("the platform's", "GW-RCPT-01", token, valid=True))
    for row in case.check.rows:
        holds = answer.status == 200 and bool(answer.read_object())
        case.expect(row, holds, "200 with a report", describe(answer), exchange=answer)
    further: tuple[dict[str, Any], ...] = (
        {"jwks": None},
        {case.profile.gateway_bindings.receipt_hash_member or "expected_payment_hash": None},
        {"receipt_required": True},
        {"receipt_required": False},
    )
    headers = case.session.tenants.headers()
    for members in further:
        body = {hosted_verifier.member: token, **members}
        answer = await target_of(case)("POST", RECEIPT_VERIFY, json_body=body, headers=headers)
        holds, where = answer.status == 200, {"further": str(members)}
        case.expect("GW-RCPT-01", holds, "200", describe(answer), exchange=answer, where=where, beyond=_FURTHER_MEMBERS)


@check(
    "GW-RCPT-14",
    "GW-RCPT-15",
    surface="gateway",
    fix="Publish a JWKS document with the public signing keys, and accept it unchanged as `jwks`.",
)
async def published_keys(case: Case) -> None:
    """The gateway publishes a JWKS document that verifies its receipts, with public material only.

    Gets the key document (the bound path, else the usual ones). Expects at least one Ed25519 key and no private member,
    and that a platform receipt passes with the whole document as `jwks`.
    """
    hosted_verifier = await find_verifier(case)
    document = hosted_verifier.material.jwks
    if document is None:
        raise Inconclusive("unbound: no key document is found at the usual paths; bind [gateway] jwks_path")
    # A JWKS with the private member `d` gives the signing key to every reader.
    private_names = private_members(document)
    holds = bool(keys_of_jwks(document)) and not private_names
    case.expect("GW-RCPT-15", holds, "an Ed25519 key and public members only", private_names or "no Ed25519 key")
    token = needs_platform(hosted_verifier)
    answer = await hosted_verifier.present(case, Vector("its own key set", "GW-RCPT-14", token, document, valid=True))
    requirement = "200 with the published document as jwks"
    case.expect("GW-RCPT-14", answer.status == 200, requirement, describe(answer), exchange=answer)


@check(
    "GW-RCPT-27",
    surface="gateway",
    fix="Keep nothing from one verification to the next: no key, no verdict, no cache that a caller can fill.",
)
async def verification_is_stateless(case: Case) -> None:
    """The same request gets the same verdict and code, in any order and from any client.

    Presents a few valid and forged receipts, of third parties that are new to the target, three times: the invalid ones
    before the valid ones, in a shuffled order concurrently, and as another client. The other client has no credentials,
    or those of another tenant if verification requires some. Expects the same status and code each time.
    """
    hosted_verifier = await find_verifier(case)
    # Drawn from the run's nonce, so that the third parties are new to the target in every run: no cache knows their
    # keys.
    strangers = random.Random(f"{case.session.nonce}:strangers")  # noqa: S311 - keys that sign test receipts only
    material = Material.of(hosted_verifier.material.platform, hosted_verifier.material.jwks, strangers)
    sampled_vectors = [vector for vector in vectors(material) if vector.name in _STATELESS]
    answers: dict[str, list[Answer]] = {vector.name: [] for vector in sampled_vectors}
    # False sorts before True: the forged ones come first, so no accepted receipt can have taught the server a key.
    for vector in sorted(sampled_vectors, key=lambda vector: vector.valid):
        answers[vector.name].append(await hosted_verifier.present(case, vector))
    shuffled_vectors = case.rng.sample(sampled_vectors, len(sampled_vectors))
    for vector, answer in zip(
        shuffled_vectors,
        await run_concurrently(hosted_verifier.present(case, vector) for vector in shuffled_vectors),
        strict=True,
    ):
        answers[vector.name].append(answer)
    for vector in reversed(sampled_vectors):
        answers[vector.name].append(await _present_as_other_client(case, hosted_verifier, vector))
    member = _code_member([vector_answers[0] for vector_answers in answers.values()], case)
    for name, vector_answers in answers.items():
        verdicts = [_verdict(answer, member) for answer in vector_answers]
        finding = "; ".join(map(str, verdicts))
        is_same = len(set(verdicts)) == 1
        case.expect("GW-RCPT-27", is_same, "one verdict", finding, exchange=vector_answers[-1], where={"receipt": name})


async def _present_as_other_client(case: Case, hosted_verifier: Verifier, vector: Vector) -> Answer:
    """Present a receipt on a separate connection, without credentials if the target accepts that."""
    connection_header = {"connection": "close"}
    answer = await hosted_verifier.present(case, vector, headers=connection_header)
    if answer.status not in _NOT_WITHOUT_CREDENTIALS:
        return answer
    tenants = list(case.profile.tenants)
    return await hosted_verifier.present(
        case, vector, headers={**connection_header, **case.session.tenants.get(tenants[-1]).headers}
    )


def _code_member(answers: Sequence[Answer], case: Case) -> str | None:
    fails = [answer.read_object() for answer in answers if answer.status == 422 and answer.read_object()]
    return code_member(fails, case.profile.gateway_bindings.receipt_codes)


def _verdict(answer: Answer, member: str | None) -> tuple[int, Any]:
    members: Mapping[str, Any] = dict(leaves(answer.read_object()))
    return answer.status, None if member is None else members.get(member)


@check(
    "GW-RCPT-28",
    surface="gateway",
    fix="Answer a body without a receipt with a client error, its envelope or a report.",
)
async def body_without_a_receipt(case: Case) -> None:
    """A body without a receipt is a client error with the envelope or a structured report, never 5xx.

    Sends an empty object, null and values of other types in the receipt's place, a body that is not an object, and one
    that is not JSON. Expects a client error with a JSON object that is the envelope or a report.
    """
    hosted_verifier = await find_verifier(case)
    member = hosted_verifier.member
    bodies: dict[str, Any] = {
        "an empty object": {},
        "null": {member: None},
        "an empty text": {member: ""},
        "a number": {member: 7},
        "an array": {member: ["a.b.c"]},
        "an object": {member: {}},
        "another member": {f"x_{member}": "a.b.c"},
        "an array instead of an object": [],
        "a text instead of an object": "a.b.c",
        "a key set alone": {"jwks": {"keys": []}},
    }
    call, headers = target_of(case), case.session.tenants.headers()
    for body_name, body in bodies.items():
        # Half a second is 120 calls a minute, the rate that every gateway has to accept (P-RL-02).
        await asyncio.sleep(0.5 if hosted_verifier.is_spaced else 0)
        answer = await call("POST", RECEIPT_VERIFY, json_body=body, headers=headers)
        _judge_refusal(case, answer, body_name)
    answer = await call("POST", RECEIPT_VERIFY, body=b"{", headers={**headers, "content-type": "application/json"})
    _judge_refusal(case, answer, "not JSON")


def _judge_refusal(case: Case, answer: Answer, body_name: str) -> None:
    report = answer.read_object()
    has_structure = envelope_fault(answer) is None or (answer.status == 422 and bool(report))
    holds = is_refused(answer) and has_structure
    requirement = "a client error with the envelope or a report"
    case.expect("GW-RCPT-28", holds, requirement, describe(answer), exchange=answer, where={"body": body_name})
