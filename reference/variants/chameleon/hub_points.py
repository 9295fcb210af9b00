"""The open points of the control plane's calls and documents."""

from __future__ import annotations

from typing import Any

from reference.variants.chameleon.hub_answer_variants import HEALTH_AT, NAME_AT, healthy_at
from reference.variants.chameleon.points import Choice, Point
from reference.variants.chameleon.variant_shape import Shape


def _posture(form: str, name: str, sets: dict[str, Any]) -> Choice:
    """Return a form of the posture, with the places that an operator may bind."""
    if form not in NAME_AT:
        return Choice(name, sets)
    places = {"hub.posture_name_at": NAME_AT[form], "hub.posture_healthy_at": _healthy_at}
    return Choice(name, sets, may_bind=places)


def _healthy_at(shape: Shape) -> str:
    return healthy_at(shape)


POINTS = (
    Point(
        # Error bodies of the control plane are open (21).
        "hub.errors",
        ("21",),
        "bodies of errors",
        (
            Choice("detail"),
            Choice("error and message", {"hub_errors": "error and message"}),
            Choice("problem details", {"hub_errors": "problem"}),
            Choice("an object in error", {"hub_errors": "object"}),
        ),
    ),
    Point(
        # RFC 9110: 401 for missing or invalid credentials, 403 for insufficient ones. Deployed servers use both for
        # a wrong token.
        "hub.credential-status",
        ("21", "CP-AUTH-01"),
        "status of an admin call that has no token, or a wrong one",
        (
            Choice("401"),
            Choice("403", {"hub_credential_status": "403"}),
            Choice("401, and 403 for a wrong token", {"hub_credential_status": "401 and 403"}),
        ),
    ),
    Point(
        # RFC 9110, 11.6.1: a challenge may have parameters, and several challenges may be in one field.
        "hub.challenge",
        ("RFC 9110", "21"),
        "the challenge that goes with a 401",
        (
            Choice("Bearer"),
            Choice("with a realm and an error", {"hub_challenge": 'Bearer realm="hub", error="invalid_token"'}),
            Choice("beside another scheme", {"hub_challenge": 'Basic realm="hub", bearer'}),
        ),
    ),
    Point(
        # Success statuses of creating calls are open (25). 200 for an existing record is what idempotent
        # registrations answer.
        "hub.create-status",
        ("25",),
        "success status of a registration",
        (
            Choice("201, and 200 for what is there"),
            Choice("200", {"hub_created": "200"}),
            Choice("201", {"hub_created": "201"}),
            Choice("202", {"hub_created": "202"}),
        ),
    ),
    Point(
        # RFC 9110, 9.3.5: a successful DELETE answers 202, 204 or 200.
        "hub.delete-answer",
        ("25", "CP-ISSUER-03"),
        "the answer to a revocation",
        (
            Choice("204"),
            Choice("200 and an object", {"hub_deleted": "200"}),
            Choice("202 and an object", {"hub_deleted": "202"}),
        ),
    ),
    Point(
        # A DELETE is idempotent (RFC 9110, 9.2.2), so a success for an unknown DID is a valid answer.
        "hub.unknown-did",
        ("21", "CP-ISSUER-08"),
        "the answer to the revocation of an issuer that is not there",
        (Choice("404"), Choice("410", {"hub_unknown": "410"}), Choice("as of one that is", {"hub_unknown": "done"})),
    ),
    Point(
        # RFC 9110, 15.5.1 and 15.5.21: 400 and 422 both refuse a body.
        "hub.bad-body-status",
        ("21", "CP-ISSUER-05"),
        "status for a body that registers nothing",
        (Choice("422"), Choice("400", {"hub_bad_body": 400})),
    ),
    Point(
        # The second registration changes nothing, so a success and a conflict are both true of it.
        "hub.known-issuer",
        ("25", "CP-ISSUER-01"),
        "registering an issuer that is there with this key",
        (Choice("a success"), Choice("409", {"hub_known_issuer": "409"})),
    ),
    Point(
        "hub.other-key",
        ("CP-ISSUER-09",),
        "registering an issuer that is there with another key",
        (Choice("the key is replaced"), Choice("409", {"hub_other_key": "409"})),
    ),
    Point(
        "hub.issuer-answer",
        ("25", "28"),
        "members of the answer to an issuer's registration",
        (
            Choice("did, kid, alg, created_at"),
            Choice("one", {"hub_issuer_answer": "few"}),
            Choice("nested", {"hub_issuer_answer": "nested"}),
        ),
    ),
    Point(
        # Members of the service record are open (3).
        "hub.service-body",
        ("3",),
        "body of a service's registration",
        (
            Choice(
                "name, type, base_url, health_path",
                may_bind={
                    "hub.service_body": {
                        "name": "{name}",
                        "type": "addon",
                        "base_url": "{base_url}",
                        "health_path": "{health_path}",
                    }
                },
            ),
            Choice(
                "name and url",
                {"hub_service_request": "url"},
                may_bind={"hub.service_body": {"name": "{name}", "url": "{base_url}"}},
            ),
            Choice(
                "service and health_url",
                {"hub_service_request": "health_url"},
                may_bind={"hub.service_body": {"service": "{name}", "health_url": "{health_url}"}},
            ),
            Choice(
                "an object in an object",
                {"hub_service_request": "nested"},
                binds={
                    "hub.service_body": {
                        "member": {"label": "{name}", "reach": {"at": "{base_url}", "probe": "{health_path}"}}
                    }
                },
            ),
        ),
    ),
    Point(
        "hub.service-answer",
        ("3",),
        "answer to a service's registration",
        (
            Choice("the record"),
            Choice("one member", {"hub_service_answer": "few"}),
            Choice("the record in an object", {"hub_service_answer": "nested"}),
        ),
    ),
    Point(
        # The interface names registration and no removal (3).
        "hub.service-removal",
        ("3",),
        "whether a service can be removed, and by which call",
        (
            Choice("DELETE /v1/services/{name}", may_bind={"hub.service_delete": "/v1/services/{name}"}),
            Choice("not at all", {"hub_service_removal": False}),
        ),
    ),
    Point(
        # The shape of health and posture is open (28). Words that say little must be bound.
        "hub.health",
        ("28",),
        "the health document, and what its counts are called",
        (
            Choice("issuers and services", may_bind={"hub.health_counts": HEALTH_AT["flat"]}),
            Choice("in an object", {"hub_health": "object"}, may_bind={"hub.health_counts": HEALTH_AT["object"]}),
            Choice(
                "beside another number of the service",
                {"hub_health": "beside"},
                may_bind={"hub.health_counts": HEALTH_AT["beside"]},
            ),
            Choice("other words", {"hub_health": "words"}, binds={"hub.health_counts": HEALTH_AT["words"]}),
        ),
    ),
    Point(
        # The form without names shows services by address only. The suite must match them by the address that it
        # registered.
        "hub.posture",
        ("28",),
        "shape of the posture",
        (
            _posture("list", "a list in services", {}),
            _posture("by name", "by name", {"hub_posture": "by name"}),
            _posture("bare", "a list", {"hub_posture": "bare"}),
            _posture("groups", "in groups", {"hub_posture": "groups"}),
            _posture("addresses", "by address, without names", {"hub_posture": "addresses"}),
        ),
    ),
    Point(
        "hub.health-word",
        ("28",),
        "how the posture says that a service is healthy",
        (
            Choice("healthy, true or false"),
            Choice("status, up or down", {"hub_health_word": "status"}),
            Choice("state, in capitals", {"hub_health_word": "state"}),
            Choice("ok, in an object", {"hub_health_word": "object"}),
        ),
    ),
    Point(
        "hub.posture-members",
        ("28",),
        "further members of the posture and its records",
        (
            Choice("some"),
            Choice("none", {"hub_posture_members": "none"}),
            Choice("more", {"hub_posture_members": "more"}),
        ),
    ),
    Point(
        "hub.posture-order",
        ("28",),
        "order of the services",
        (
            Choice("of registration"),
            Choice("newest first", {"hub_posture_order": "newest first"}),
            Choice("by name", {"hub_posture_order": "name"}),
        ),
    ),
    Point(
        # CP-SVC-03 asks that health is polled. When that happens is open.
        "hub.polls",
        ("28", "CP-SVC-03"),
        "when the health of a service is asked for",
        (Choice("when the posture is read"), Choice("beforehand, in rounds", {"hub_polls": "in rounds"})),
    ),
    Point(
        # A verifier counts only entries with status `active` (8.2), so a revoked key in the list must not be
        # trusted.
        "hub.atb-keys",
        ("CP-TRUST-05", "CP-TRUST-06"),
        "members and records of atb-keys.json beyond the keys that are trusted",
        (
            Choice("some members"),
            Choice("few members", {"hub_keys": "few"}),
            Choice("more members", {"hub_keys": "more"}),
            Choice("revoked keys, marked so", {"hub_keys": "revoked"}),
        ),
    ),
    Point(
        # RFC 9110, 8.8.3: tags are optional, and a weak one is enough for If-None-Match.
        "hub.entity-tags",
        ("31", "RFC 9110"),
        "entity tags of documents",
        (Choice("strong"), Choice("weak", {"hub_tags": "weak"}), Choice("none", {"hub_tags": "none"})),
    ),
    Point(
        # X-OAS-01 demands the document and no certain address.
        "hub.openapi-path",
        ("X-OAS-01",),
        "address of the OpenAPI document",
        (
            Choice("/openapi.json", may_bind={"hub.openapi_path": "/openapi.json"}),
            Choice("/v1/openapi.json", {"hub_openapi_path": "/v1/openapi.json"}),
            Choice(
                "/docs/hub.json",
                {"hub_openapi_path": "/docs/hub.json"},
                binds={"hub.openapi_path": "/docs/hub.json"},
            ),
        ),
    ),
    Point(
        "hub.openapi",
        ("X-OAS-01",),
        "content of the OpenAPI document in addition to its operations",
        (Choice("servers and tags"), Choice("nothing", {"hub_openapi": "bare"})),
    ),
)
