"""Variants of the control plane's answers: statuses, errors, health and posture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from reference.variants.chameleon.answer_rewriter import ABSENT, Answer
from reference.variants.chameleon.variant_shape import Shape

ISSUERS, SERVICES, POSTURE, HEALTH = "/v1/issuers", "/v1/services", "/v1/posture", "/health"
HEALTH_AT: Mapping[str, Mapping[str, str]] = {
    "flat": {"issuers": "issuers", "services": "services"},
    "object": {"issuers": "counts.issuers", "services": "counts.services"},
    "beside": {"issuers": "issuer_count", "services": "service_count"},
    "words": {"issuers": "trusted", "services": "bridged"},
}
# The place of a service's name in each form of the posture. The form `addresses` has none.
NAME_AT: Mapping[str, str] = {
    "list": "services.name",
    "by name": "services.*",
    "bare": "name",
    "groups": "groups.members.name",
}
_WORD_AT: Mapping[str, str] = {"healthy": "healthy", "status": "status", "state": "state", "object": "probe.ok"}
_MORE = {"tags": [], "attempts": 1, "links": {"documentation": "https://docs.invalid/"}}


def healthy_at(shape: Shape) -> str:
    """Return the place of a service's health in the posture."""
    above = NAME_AT[shape.hub_posture].removesuffix("name")
    above = above if not above or above.endswith(".") else above + "."
    return above + _WORD_AT[shape.hub_health_word]


def edit(answer: Answer, shape: Shape) -> None:
    """Change statuses, then bodies."""
    path, method = answer.request.path, answer.request.method
    if method == "POST" and path in {ISSUERS, SERVICES}:
        _change_creation(answer, shape)
    elif method == "DELETE" and path.startswith((f"{ISSUERS}/", f"{SERVICES}/")):
        _change_deletion(answer, shape)
    elif answer.status == 200 and isinstance(answer.document, dict):
        if path == HEALTH:
            answer.document = _health(answer.document, shape)
        elif path == POSTURE:
            answer.document = _posture(answer.document, shape)
    if answer.status >= 400:
        refuse(answer, shape)


def refuse(answer: Answer, shape: Shape) -> None:
    """Give a refusal its status and its body."""
    if answer.status == 401:
        # RFC 9110, 15.5.2: a 401 must carry a challenge. A 403 needs none, so it is removed there.
        answer.set_header("WWW-Authenticate", shape.hub_challenge)
        wrong = "authorization" in answer.request.headers
        if shape.hub_credential_status == "403" or (shape.hub_credential_status == "401 and 403" and wrong):
            answer.status = 403
            answer.set_header("WWW-Authenticate", None)
    elif answer.status == 422:
        answer.status = shape.hub_bad_body
    if isinstance(answer.document, dict):
        put_error(answer, shape.hub_errors)


def put_error(answer: Answer, form: str) -> None:
    """Write an error's body in another form."""
    detail = answer.document.get("detail") or answer.document.get("message")
    text = detail if isinstance(detail, str) else "; ".join(str(item.get("msg")) for item in detail or [{}])
    if form == "error and message":
        answer.document = {"error": f"http_{answer.status}", "message": text}
    elif form == "problem":
        answer.document = {"type": "about:blank", "title": text, "status": answer.status}
        answer.set_header("Content-Type", "application/problem+json")
    elif form == "object":
        answer.document = {"error": {"code": answer.status, "reason": text}}


def _change_creation(answer: Answer, shape: Shape) -> None:
    if answer.status not in {200, 201}:
        return
    if shape.hub_created != "201 and 200":
        answer.status = int(shape.hub_created)
    document, of_issuer = answer.document, answer.request.path == ISSUERS
    form = shape.hub_issuer_answer if of_issuer else shape.hub_service_answer
    if form == "few":
        answer.document = {"registered": document["did" if of_issuer else "name"]}
    elif form == "nested":
        answer.document = {"issuer" if of_issuer else "service": document, "took_ms": 1}


def _change_deletion(answer: Answer, shape: Shape) -> None:
    is_done = answer.status == 204
    if answer.status == 404 and answer.request.path.startswith(f"{ISSUERS}/"):
        is_done = shape.hub_unknown == "done"
        answer.status = 410 if shape.hub_unknown == "410" else answer.status
    if not is_done:
        return
    answer.document = ABSENT
    answer.status = int(shape.hub_deleted)
    if answer.status == 204:
        answer.body = b""
        answer.set_header("Content-Type", None)
    else:
        answer.document = {"removed": True}
        answer.set_header("Content-Type", "application/json")


# Health and posture.


def _health(health: dict[str, Any], shape: Shape) -> dict[str, Any]:
    issuers, services = health["issuers"], health["services"]
    forms: Mapping[str, dict[str, Any]] = {
        "object": {"up": True, "counts": {"issuers": issuers, "services": services}},
        "beside": {
            "service": {"name": health["service"], "uptime_s": 41},
            "issuer_count": issuers,
            "service_count": services,
        },
        "words": {"alive": "yes", "trusted": issuers, "bridged": services},
    }
    return forms.get(shape.hub_health, health)


def _posture(posture: dict[str, Any], shape: Shape) -> Any:
    services: list[dict[str, Any]] = list(posture["services"])
    if shape.hub_posture_order == "newest first":
        services.reverse()
    elif shape.hub_posture_order == "name":
        services.sort(key=lambda one: str(one["name"]))
    records = [_record(one, shape) for one in services]
    more = {name: value for name, value in posture.items() if name != "services"}
    more = {} if shape.hub_posture_members == "none" else more
    if shape.hub_posture == "by name":
        return {"services": {one.pop("name"): one for one in records}, **more}
    if shape.hub_posture == "bare":
        return records
    if shape.hub_posture == "groups":
        kinds = dict.fromkeys(one["type"] for one in services)
        pairs = list(zip(services, records, strict=True))
        return {
            "groups": [{"kind": kind, "members": [new for old, new in pairs if old["type"] == kind]} for kind in kinds],
            **more,
        }
    return {"endpoints" if shape.hub_posture == "addresses" else "services": records, **more}


def _record(service: dict[str, Any], shape: Shape) -> dict[str, Any]:
    """Return a service's record in the form of the variant."""
    healthy = service["healthy"]
    words: Mapping[str, dict[str, Any]] = {
        "healthy": {"healthy": healthy},
        "status": {"status": "up" if healthy else "down"},
        "state": {"state": "PASSING" if healthy else "CRITICAL"},
        "object": {"probe": {"ok": healthy, "kind": "http"}},
    }
    record = {name: value for name, value in service.items() if name not in {"healthy", "base_url", "health_path"}}
    if shape.hub_posture_members == "none":
        record = {"name": service["name"]}
    elif shape.hub_posture_members == "more":
        record |= _MORE
    if shape.hub_posture == "addresses":
        del record["name"]
        # `base_url` is present in every record, because the seam `_with_address` asks for it.
        record["address"] = service["base_url"] + service["health_path"]
    elif shape.hub_posture_members == "some":
        record["health_path"] = service["health_path"]
    return {**record, **words[shape.hub_health_word]}
