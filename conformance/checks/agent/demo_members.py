"""AGENT-DEMO-01: cover, parameters and members of a demo signature, if the target claims the specification (6.5)."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from conformance.checks.agent.sign import read_demo
from conformance.engine.check import Case, check
from conformance.http.client import Answer
from conformance.oracles.member_rules import equals, find_listed_faults, is_an
from conformance.oracles.message_signatures.digests import FIELD, digest_value
from conformance.oracles.message_signatures.keys import did_key
from conformance.oracles.message_signatures.verify_request_members import message_of
from conformance.surfaces.agent import SIGN, Agent, agent_of

ROW: Final = "AGENT-DEMO-01"
_LIFETIME_SECONDS: Final = 300
# Between the clocks of the suite and of the agent, as P-CV-09 has it.
_SKEW_SECONDS: Final = 60
_HOUR: Final = 3600
_DEFAULT_COVER: Final = ("@method", "@authority", "@path")
# Latin, an astral letter and an escape: the text is signed as UTF-8.
_TEXT: Final = 'Grüße, "order" 7 \U0001f9fe\n'
_SIGNING_FIELDS: Final = ("Signature-Input", "Signature")


@dataclass(frozen=True, slots=True)
class _Trial:
    """A request to be signed.

    Attributes:
        name: Its name.
        body: The body of the call.
        content: The content of the request.
        cover: The components that the signature covers, in order; `content-digest` where a content demands it.
    """

    name: str
    body: Mapping[str, Any]
    content: bytes
    cover: tuple[str, ...]


def _list_trials() -> list[_Trial]:
    get = {"method": "GET", "authority": "api.example.org", "path": "/orders"}
    post = {"method": "POST", "authority": "shop.example:8443", "path": "/orders", "headers": {"X-Name": "7"}}
    text = {"body": _TEXT, "body_b64": base64.b64encode(_TEXT.encode()).decode()}
    content = _TEXT.encode()
    now = int(time.time())
    digested = (*_DEFAULT_COVER, FIELD)
    caller = {"created": now + _HOUR, "expires": now + 2 * _HOUR, "nonce": "n0nce", "tag": "order", "keyid": "key-7"}
    listed = {"covered_components": ["x-name", "@authority"]}
    return [
        _Trial("a plain GET", get, b"", _DEFAULT_COVER),
        _Trial("an empty content", {**get, "body_b64": ""}, b"", _DEFAULT_COVER),
        _Trial("a query inside path", {**get, "path": "/orders?page=2"}, b"", (*_DEFAULT_COVER, "@query")),
        _Trial("a query of its own", {**get, "query": "page=2&x=%20"}, b"", (*_DEFAULT_COVER, "@query")),
        _Trial(
            "a query and a content", {**post, "query": "a", "body": _TEXT}, content, (*digested[:3], "@query", FIELD)
        ),
        _Trial("a content in base64", {**post, "body_b64": text["body_b64"]}, content, digested),
        _Trial("a content as text", {**post, "body": _TEXT}, content, digested),
        _Trial("one content in both forms", {**post, **text}, content, digested),
        _Trial("wanted components", {**post, **listed}, b"", ("x-name", "@authority")),
        _Trial(
            "wanted components and a content", {**post, **listed, "body": "7"}, b"7", ("x-name", "@authority", FIELD)
        ),
        _Trial(
            "a wanted digest",
            {**post, "covered_components": [FIELD, "@method"], "body": "7"},
            b"7",
            (FIELD, "@method"),
        ),
        _Trial(
            "another scheme",
            {**get, "scheme": "http", "covered_components": ["@scheme", "@target-uri"]},
            b"",
            ("@scheme", "@target-uri"),
        ),
        _Trial("every parameter", {**get, **caller, "label": "mine-2"}, b"", _DEFAULT_COVER),
        *(
            _Trial(f"{name} alone", {**get, name: value}, b"", _DEFAULT_COVER)
            for name, value in {**caller, "label": "mine"}.items()
            if name != "expires"
        ),
    ]


@check(
    ROW,
    surface="agent",
    fix="Sign what the caller names with the parameters that it gives, in the order created, expires, keyid, alg, "
    "nonce, tag, and the rest by the defaults of P-SG-02 and P-SG-03. Return each member of P-SG-04.",
)
async def members_of_demo_answers(case: Case) -> None:
    """A demo signature covers what was wanted, has the given parameters, and each member of the answer has its value.

    Requests signatures with the query and the content in each form, with components that the caller names, with every
    parameter and with each alone. Expects the cover of P-SG-02, the parameters and defaults of P-SG-03 in their order,
    and each member of P-SG-04, by the suite's own reading of the signed request.
    """
    agent = await agent_of(case)
    if not agent.has_specified_names:
        case.mark_not_applicable(ROW, "the profile binds other names than those of 6.5")
        return
    for trial in _list_trials():
        for name in ("created", "expires"):
            if name in trial.body:
                case.client.names.name(str(trial.body[name]), name.upper())
        earliest_time = int(time.time()) - _SKEW_SECONDS
        answer = await agent.call("POST", SIGN, json_body=dict(trial.body))
        faults = find_demo_faults(case, agent, trial.body, trial.content, trial.cover, answer, earliest_time)
        case.expect(
            ROW, not faults, "as 6.5 says", "; ".join(faults)[:1500], exchange=answer, where={"request": trial.name}
        )


def find_demo_faults(
    case: Case,
    agent: Agent,
    body: Mapping[str, Any],
    content: bytes,
    cover: tuple[str, ...],
    answer: Answer,
    earliest_time: int,
) -> list[str]:
    """Return what of an answer of sign is not as 6.5 says, in words.

    Args:
        case: The case.
        agent: The agent.
        body: The body of the call.
        content: The content of the request that is signed.
        cover: The components that it covers, in order.
        answer: The answer.
        earliest_time: The earliest `created` if the caller gave none, in Unix seconds.
    """
    if answer.status != 200:
        return [f"status {answer.status}"]
    document = answer.read_object()
    target = str(body["path"])
    if "?" not in target and body.get("query") is not None:
        target = f"{target}?{body['query']}"
    request = message_of({"headers": {}, **body, "body_b64": base64.b64encode(content).decode()})
    demo = read_demo(case, agent, request, answer)
    if demo.labelled_signature is None or len(demo.keys) != 1:
        return ["no signed request, or not one key"]
    key = demo.keys[0]
    expected_parameters, faults = _find_parameter_faults(body, key, document, earliest_time)
    coverage = demo.labelled_signature.coverage
    if list(coverage.parameters) != list(expected_parameters.items()):
        faults.append(f"the signature has the parameters {coverage.parameters}, not {expected_parameters}")
    if tuple(one.plain for one in coverage.components) != cover:
        faults.append(f"the signature covers {[one.plain for one in coverage.components]}, not {list(cover)}")
    label = body.get("label", "sig")
    if demo.labelled_signature.label != label:
        faults.append(f"the signature has the label {demo.labelled_signature.label}")
    base = document.get("signature_base")
    rules = {
        **{name: equals(body[name]) for name in ("method", "authority")},
        "path": equals(target),
        "scheme": equals(body.get("scheme", "https")),
        "headers": is_an(dict),
        "body_b64": equals(base64.b64encode(content).decode()),
        "signature_base": is_an(str),
        "signing_base": equals(base),
        "covered_components": equals(list(cover)),
        "parameters": equals(expected_parameters),
        "label": equals(label),
        "created": equals(expected_parameters["created"]),
        "keyid": equals(expected_parameters["keyid"]),
        "algorithm": equals("ed25519"),
        "public_key_hex": equals(key.hex()),
        "did_key": equals(did_key(key)),
        "ephemeral": equals(True),
        "note": is_an(str),
    }
    faults += find_listed_faults(document, rules, "the answer")
    parameters = document.get("parameters")
    if isinstance(parameters, Mapping) and list(parameters) != list(expected_parameters):
        faults.append(f"parameters are in the order {list(parameters)}")
    return [*faults, *_find_header_faults(body, content, document), *demo.find_faults(key)]


def _find_parameter_faults(
    body: Mapping[str, Any], key: bytes, document: Mapping[str, Any], earliest_time: int
) -> tuple[dict[str, Any], list[str]]:
    """Return the parameters that P-SG-03 gives a request, and what is wrong with a `created` that the agent chose."""
    created_time = body.get("created", document.get("created"))
    faults = []
    if "created" not in body:
        latest_time = int(time.time()) + _SKEW_SECONDS
        if not isinstance(created_time, int) or not earliest_time <= created_time <= latest_time:
            faults.append(f"created is {created_time!r}, not the present time")
            created_time = latest_time
    parameters: dict[str, Any] = {
        "created": created_time,
        "expires": body.get("expires", int(created_time) + _LIFETIME_SECONDS),
        "keyid": body.get("keyid", did_key(key)),
        "alg": "ed25519",
        **{name: body[name] for name in ("nonce", "tag") if name in body},
    }
    return parameters, faults


def _find_header_faults(body: Mapping[str, Any], content: bytes, document: Mapping[str, Any]) -> list[str]:
    """Return what is wrong with the header fields: those given, the two of the signature, and a digest of a content."""
    headers = document.get("headers")
    shown = {str(name).lower(): value for name, value in headers.items()} if isinstance(headers, Mapping) else {}
    expected = {str(name).lower(): value for name, value in (body.get("headers") or {}).items()}
    if content:
        expected[FIELD] = digest_value(content)
    faults = [
        f"the header {name} is {shown.get(name)!r}" for name, value in expected.items() if shown.get(name) != value
    ]
    allowed_names = {*expected, *(name.lower() for name in _SIGNING_FIELDS)}
    return faults + [f"the further header {name}" for name in shown if name not in allowed_names]
