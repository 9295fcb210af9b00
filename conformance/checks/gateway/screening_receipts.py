"""GW-SCR: compliance screening, as far as the interface describes it: the answer contains a signed receipt."""

from __future__ import annotations

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles import jose
from conformance.oracles.ed25519_keys import Ed25519Key, KeyFault, keys_of_jwks
from conformance.outcome import Inconclusive
from conformance.receipts.live_mutations import Vector
from conformance.receipts.verifier import fetch_key_document, find_verifier, name_texts, receipt_in, screen_person
from conformance.surfaces.gateway.calls import SCREEN, short

_SEGMENTS = 3
_NOT_THERE = frozenset({404, 405, 501})


@check(
    "GW-SCR-01",
    "GW-SCR-02",
    "GW-SCR-03",
    "GW-SCR-04",
    "GW-SCR-05",
    surface="gateway",
    fix="Answer POST /compliance/screen with a compact JWS, signed with the published Ed25519 key, for every verdict.",
)
async def screening_emits_a_receipt(case: Case) -> None:
    """POST /compliance/screen emits a compact JWS, signed with Ed25519, that verifies hosted and offline.

    Screens by the bound body, and by each bound fixture. Expects an answer at exactly that path, with three base64url
    segments whose header says EdDSA. Expects 200 from the hosted verifier, and a signature that is valid under the
    published keys.
    """
    bindings = case.profile.gateway_bindings
    bodies = {"a screening": bindings.screen_body, **(bindings.screen_fixtures or {})}
    screen_bodies = {screening: body for screening, body in bodies.items() if body is not None}
    if not screen_bodies:
        raise Inconclusive("unbound: no body is known that can be screened; bind [gateway] screen_body")
    keys = keys_of_jwks(await fetch_key_document(case))
    for screening, body in screen_bodies.items():
        await _judge(case, await screen_person(case, body), screening, keys)


async def _judge(case: Case, answer: Answer, screening: str, keys: list[Ed25519Key]) -> None:
    where = {"screened": screening}
    # A redirect means that the endpoint is at another path, but the interface names this one.
    is_served = answer.status not in _NOT_THERE and not 300 <= answer.status < 400
    case.expect("GW-SCR-05", is_served, f"an answer of POST {SCREEN}", answer.status, exchange=answer, where=where)
    token = _find_receipt(case, answer)
    finding = f"{answer.status}: {short(answer)}"
    is_emitted = case.expect("GW-SCR-01", token is not None, "a compact JWS", finding, exchange=answer, where=where)
    # The rows below are about a receipt, so without one they are inconclusive.
    if token is None or not is_emitted:
        raise Inconclusive("the screening emitted no receipt that could be judged")
    header = _parse_header(token)
    is_ed25519 = header.get("alg") in jose.ALGORITHMS
    case.expect("GW-SCR-02", is_ed25519, "alg EdDSA", header.get("alg"), exchange=answer, where=where)
    hosted_verifier = await find_verifier(case)
    verifier_answer = await hosted_verifier.present(case, Vector(screening, "GW-SCR-03", token, valid=True))
    requirement = "200 from the hosted verifier"
    case.expect(
        "GW-SCR-03",
        verifier_answer.status == 200,
        requirement,
        verifier_answer.status,
        exchange=verifier_answer,
        where=where,
    )
    if not keys:
        case.mark_inconclusive("GW-SCR-04", "unbound: no key document at the usual paths; bind [gateway] jwks_path")
        return
    fault = jose.fault_of(token, keys)
    case.expect("GW-SCR-04", fault is None, "valid under the published keys", fault, exchange=answer, where=where)


def _find_receipt(case: Case, answer: Answer) -> str | None:
    """Return the receipt of an answer: a token that can be parsed, else the text of the bound member."""
    receipt_member = receipt_in(case, answer)
    if receipt_member is not None:
        return receipt_member[1]
    member = case.profile.gateway_bindings.screen_receipt_member
    text = answer.read_object().get(member) if member is not None else None
    if isinstance(text, str) and len(text.split(".")) == _SEGMENTS and all(text.split(".")):
        name_texts(case, text, "RECEIPT")
        return text
    return None


def _parse_header(token: str) -> dict[str, object]:
    try:
        return dict(jose.parse(token).header)
    except (jose.JwsFault, KeyFault):
        return {}
