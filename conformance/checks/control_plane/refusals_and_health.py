"""CP-DOC-01: refusals and the health document, if the target claims the specification (7.1)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.member_rules import Rules, between, equals, find_listed_faults, is_an, matches, one_of
from conformance.surfaces.control_plane.access import AUDIT, ISSUERS, PKS, POSTURE, SERVICES, hub_of
from conformance.surfaces.control_plane.services import HEALTH

ROW: Final = "CP-DOC-01"
_LARGE_BODY: Final = b"[" + b" " * 70_000 + b"]"


@check(
    ROW,
    surface="control_plane",
    fix='Refuse a call without the token with 401 {"detail":"Unauthorized"} and WWW-Authenticate: Bearer, write other '
    "errors as 7.1 says, and give health all five members.",
)
async def refusals_and_health_have_their_form(case: Case) -> None:
    """Refusals and the health document have the status, the body and the header of 7.1.

    Calls each operation of the administrator without a token and with wrong ones. Expects 401, the body and
    WWW-Authenticate: Bearer. Calls unknown paths, wrong methods, and with too large, broken and other bodies. Expects
    404, 405 and 413 with a text, and 422 with an array. Expects each member of the health document.
    """
    hub = await hub_of(case)
    if not case.profile.is_reference:
        case.mark_not_applicable(ROW, "the profile does not claim the specification")
        return
    issuer = hub.new_issuer("refused")
    operations: list[tuple[str, str, dict[str, Any]]] = [
        ("GET", AUDIT, {}),
        ("POST", ISSUERS, {"json_body": issuer.body}),
        ("DELETE", f"{ISSUERS}/did:web:refused.example", {}),
        ("POST", SERVICES, {"json_body": {"name": "refused", "base_url": "http://service.invalid:9"}}),
    ]
    for credential in (None, "not-the-token", ""):
        for method, path, options in operations:
            answer = await hub.call(method, path, credential=credential, **options)
            faults = [] if answer.status == 401 else [f"status {answer.status}"]
            faults += [] if answer.read_object() == {"detail": "Unauthorized"} else ["another body"]
            challenge = answer.headers.get("WWW-Authenticate", "")
            faults += [] if challenge.partition(" ")[0].lower() == "bearer" else [f"WWW-Authenticate {challenge!r}"]
            _expect(case, answer, faults, f"{method} {path} with {'no' if credential is None else 'a wrong'} token")
    await _judge_other_errors(case)
    word = case.profile.service_word
    rules: Rules = {
        "status": one_of(("ok", "degraded")),
        "service": matches(r"\S+-controlplane") if word is None else equals(f"{word.lower()}-controlplane"),
        "version": is_an(str),
        "issuers": between(0, 10**9),
        "services": between(0, 10**9),
    }
    answer = await hub.call("GET", HEALTH)
    faults = [] if answer.status == 200 else [f"status {answer.status}"]
    _expect(case, answer, [*faults, *find_listed_faults(answer.read_object(), rules, "health")], f"GET {HEALTH}")


def _expect(case: Case, answer: Answer, faults: Sequence[str], trial: str) -> None:
    finding = "; ".join(faults)[:1500] or "so"
    case.expect(ROW, not faults, "as 7.1 says", finding, exchange=answer, where={"call": trial})


async def _judge_other_errors(case: Case) -> None:
    hub = await hub_of(case)
    json_type = {"content-type": "application/json"}
    calls: dict[str, tuple[str, str, dict[str, Any], int]] = {
        "an unknown path": ("GET", "/v1/no-such", {}, 404),
        "an unknown issuer": ("DELETE", f"{ISSUERS}/did:web:nowhere.example", {}, 404),
        "an unknown service": ("DELETE", f"{SERVICES}/no-such-service", {}, 404),
        "a trust set by DELETE": ("DELETE", PKS, {}, 405),
        "a posture by POST": ("POST", POSTURE, {"json_body": {}}, 405),
        "a large body": ("POST", ISSUERS, {"body": _LARGE_BODY, "headers": json_type}, 413),
        "no body": ("POST", ISSUERS, {}, 422),
        "no JSON": ("POST", ISSUERS, {"body": b"{", "headers": json_type}, 422),
        "an array": ("POST", SERVICES, {"json_body": []}, 422),
        "an empty object": ("POST", SERVICES, {"json_body": {}}, 422),
    }
    for name, (method, path, options, status) in calls.items():
        answer = await hub.admin(method, path, **options)
        detail = answer.read_object().get("detail")
        faults = [] if answer.status == status else [f"status {answer.status}"]
        is_array = isinstance(detail, list) and all(isinstance(one, dict) for one in detail)
        has_form = is_array if status == 422 else isinstance(detail, str) and bool(detail.strip())
        _expect(case, answer, faults if has_form else [*faults, f"detail {detail!r}"[:200]], name)
