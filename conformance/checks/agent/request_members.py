"""AGENT-BODY-01: each member of a request to verify, explain and sign, if the target claims the specification (6.2)."""

from __future__ import annotations

import base64
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from conformance.assertions.agent.verdicts import describe_verdict
from conformance.checks.agent.sign import build_offered_keys
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.oracles.message_signatures import keys, signing
from conformance.oracles.message_signatures.base import Coverage, signature_base
from conformance.oracles.message_signatures.components import Component
from conformance.oracles.message_signatures.message import Message
from conformance.surfaces.agent import EXPLAIN, SIGN, VERIFY, Agent, Subject, agent_of, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import BODY, raw_public

ROW: Final = "AGENT-BODY-01"
_AT_ONCE: Final = 8
# A text of no other use, so that an answer which contains it repeats what was sent.
_MARK: Final = "qx7vzk"
_X25519: Final = b"\xec\x01"
# Beyond 2^53 - 1: JSON can carry it, and RFC 8785 cannot write it (P-CV-20).
_TOO_LARGE: Final = 2**60
_LONE_SURROGATE: Final = "\ud800"
_NO_NAMES: Final = "the profile binds other names than those of 6.2"
# 6.2: "An optional member that is null counts as left out, where it is one without a default of its own."
_NULLABLE: Final = ("query", "status", "did_key", "label", "expected_tag", "max_age_seconds", "now")


@dataclass(frozen=True, slots=True)
class _Trial:
    """One request and the answer that 6.2 gives it.

    Attributes:
        path: The operation.
        name: What is sent, in words.
        body: The body, as JSON text.
        status: The status.
        valid: The validity in the answer; None if any will do.
        member: The member that a 422 names; None if any will do.
        further_word: A word that a text of the 422 contains.
    """

    path: str
    name: str
    body: str
    status: int = 200
    valid: bool | None = None
    member: str | None = None
    further_word: str | None = None


@check(
    ROW,
    surface="agent",
    fix="Take each member within its rule of 6.2 and 6.5, answer 422 for the listed reasons and for nothing else, and "
    "repeat nothing in an item of `detail`.",
)
async def members_of_requests_are_taken_by_their_rules(case: Case) -> None:
    """Each member of a request is taken within its rule, and 422 is the answer to what 6.2 and 6.5 list, and only that.

    Sends valid messages with both forms of the key, with the query in its own member, with optional members that are
    null, with whole numbers as floats, and with values that no rule refuses. Expects their verdict. Sends required
    components with other parameters, and components named as signature parameters. Then leaves out each required
    member, and sends values of another type, fractions, texts that are no key and no base64, two keys, other modes,
    and numbers beyond RFC 8785, to verify, explain and sign. Expects 422 at that member, without what was sent.
    """
    agent = await agent_of(case)
    if not agent.has_specified_names:
        case.mark_not_applicable(ROW, _NO_NAMES)
        return
    trials = [*_list_accepted(case, agent), *_list_refused(case, agent), *_list_sign_trials(case)]

    async def judge(trial: _Trial) -> None:
        headers = {"content-type": "application/json"}
        answer = await agent.call("POST", trial.path, body=trial.body.encode(), headers=headers)
        fault = _find_fault(agent, trial, answer)
        where = {"operation": trial.path, "body": trial.name}
        case.expect(ROW, fault is None, _describe(trial), fault, exchange=answer, where=where)

    await run_concurrently(map(judge, trials), at_once=_AT_ONCE)


def _describe(trial: _Trial) -> str:
    if trial.status == 200:
        return f"200{'' if trial.valid is None else ', valid' if trial.valid else ', not valid'}"
    return f"422{f' at {trial.member}' if trial.member else ''}, without what was sent"


def _find_fault(agent: Agent, trial: _Trial, answer: Answer) -> str | None:
    if answer.status != trial.status:
        return f"{answer.status}"
    if trial.status == 200:
        is_right = trial.path == SIGN or trial.valid is None or agent.validity(answer) is trial.valid
        return None if is_right else describe_verdict(agent, answer)
    detail = answer.read_object().get("detail")
    items = [one for one in detail if isinstance(one, dict)] if isinstance(detail, list) else []
    if any("input" in one for one in items):
        return "an item with input"
    if _MARK in answer.body.decode("utf-8", "replace"):
        return "what was sent is repeated"
    if trial.member is not None and not any(trial.member in _list_parts(one.get("loc")) for one in items):
        return f"items at {[one.get('loc') for one in items]}"
    words = " ".join(str(one.get("msg")) for one in items).lower()
    return None if trial.further_word is None or trial.further_word in words else f"the text {words[:200]!r}"


def _list_parts(loc: Any) -> list[Any]:
    return loc if isinstance(loc, list) else []


def _dump(members: Mapping[str, Any], **texts: str) -> str:
    """Return members as JSON; `texts` are values in a spelling of their own, such as 1e3."""
    text = json.dumps({**members, **{name: f"@@{name}" for name in texts}})
    for name, value in texts.items():
        text = text.replace(json.dumps(f"@@{name}"), value)
    return text


def _list_accepted(case: Case, agent: Agent) -> Iterator[_Trial]:
    """Yield messages that verify and explain judge, with the verdict."""
    subject = signed(case)
    assert subject.key is not None  # noqa: S101 - `signed` makes the key
    members = agent.verify_body(subject)
    path, _, query = str(members["path"]).partition("?")
    did = keys.did_key(subject.key)
    now = int(time.time())
    case.client.names.name(str(now), "NOW")
    bodies: dict[str, tuple[str, bool | None]] = {
        "both forms of one key": (_dump({**members, "did_key": did}), True),
        "the query in its own member": (_dump({**members, "path": path, "query": query}), True),
        "a query in both members": (_dump({**members, "query": "other=1"}), True),
        "another query in its own member": (_dump({**members, "path": path, "query": "other=1"}), False),
        "the mode rfc9421": (_dump({**members, "mode": "rfc9421"}), True),
        "public_key_hex null with a did_key": (_dump({**members, "public_key_hex": None, "did_key": did}), True),
        **{f"{name} null": (_dump({**members, name: None}), True) for name in _NULLABLE},
        "now as a float": (_dump(members, now=f"{now}.0"), True),
        "an age in the form 1e3": (_dump(members, max_age_seconds="1e3"), True),
        "a negative age": (_dump({**members, "max_age_seconds": -1}), False),
        "no algorithm allowed": (_dump({**members, "allowed_algorithms": []}), False),
        "another algorithm allowed": (_dump({**members, "allowed_algorithms": ["rsa-pss-sha512"]}), False),
        "a label of no signature": (_dump({**members, "label": "no-such"}), False),
        "an empty expected tag": (_dump({**members, "expected_tag": ""}), False),
        "an empty method": (_dump({**members, "method": ""}), False),
        "an empty path": (_dump({**members, "path": ""}), False),
        "another scheme": (_dump({**members, "scheme": "gopher"}), None),
        "no header": (_dump({**members, "headers": {}}), False),
        "a further member with a number that RFC 8785 cannot write": (_dump({**members, "x": _TOO_LARGE}), True),
    }
    bodies |= _list_responses(case, agent)
    bodies |= _list_required_components(case, agent)
    bodies |= _list_parameter_components(case, agent)
    for name, (body, valid) in bodies.items():
        for operation in (VERIFY, EXPLAIN):
            yield _Trial(operation, name, body, valid=valid)
    keyless = {name: value for name, value in members.items() if name not in {"public_key_hex", "did_key"}}
    yield _Trial(EXPLAIN, "no key", _dump(keyless))
    yield _Trial(VERIFY, "no key", _dump(keyless), 422)


def _list_responses(case: Case, agent: Agent) -> dict[str, tuple[str, bool | None]]:
    """Return a response, whose status is a whole number in any spelling."""
    key = signer(case)
    outcome = signing.sign(
        Message("GET", "api.example.org", "https", "/", status=200), key, (Component("@status"),), {}
    )
    subject = Subject(outcome.message, raw_public(key))
    members = agent.verify_body(subject)
    return {
        "a status as a float": (_dump(members, status="200.0"), True),
        "a status in the form 2e2": (_dump(members, status="2e2"), True),
        "another status": (_dump(members, status="204"), False),
    }


def _list_required_components(case: Case, agent: Agent) -> dict[str, tuple[str, bool | None]]:
    """Return messages that cover a field by a parameter, with required components of other parameters (6.2)."""
    fields = (("X-Parts", "a=1, b=2"), ("X-Part", "c=3"))
    by_key = Component("x-parts", (("key", "a"),))

    def sign(component: Component) -> dict[str, Any]:
        return agent.verify_body(signed(case, method="GET", body=b"", fields=fields, components=("@method", component)))

    with_key, whole = sign(by_key), sign(Component("x-parts"))
    trials: dict[str, tuple[dict[str, Any], list[str], bool]] = {
        "a required component, covered by a parameter": (with_key, ["x-parts"], False),
        "a required component with its parameter": (with_key, ['"x-parts";key="a"'], True),
        "a required component with another parameter": (with_key, ['"x-parts";key="b"'], False),
        "a required component with a parameter, covered whole": (whole, ['"x-parts";key="a"'], False),
        "two required components": (whole, ["@method", "x-parts"], True),
        "two required components, one of them covered": (whole, ["@method", "@path"], False),
        "a required field that is in the message and not covered": (whole, ["x-part"], False),
        "a required field that the message lacks": (whole, ["x-absent"], False),
        "a required field that the message lacks, beside a covered one": (whole, ["x-parts", "x-absent"], False),
        "a required field whose name begins as that of the covered one": (whole, ["x-parts-2"], False),
        "a required component of a response": (whole, ["@status"], False),
        "no required component": (whole, [], True),
        "a required component twice": (whole, ["x-parts", "x-parts"], True),
    }
    return {
        name: (_dump({**body, "required_components": required}), valid)
        for name, (body, required, valid) in trials.items()
    }


def _list_parameter_components(case: Case, agent: Agent) -> dict[str, tuple[str, bool | None]]:
    """Return messages that cover `created` as a component, without and with a field of that name (P-AG-07)."""
    trials: dict[str, tuple[str, bool | None]] = {}
    for name, fields, stands_for_parameter, valid in (
        ("created as a component", (), True, True),
        ("created as a component, and a field of that name", (("Created", "in spring"),), False, True),
        ("created as a component, the parameter in place of a field", (("Created", "in spring"),), True, False),
    ):
        key = signer(case)
        message = Message("GET", "api.example.org", "https", "/orders", fields)
        created_time = int(time.time())
        case.client.names.name(str(created_time), "CREATED")
        coverage = Coverage((Component("@method"), Component("created")), (("created", created_time),))
        without_field = replace(message, headers=()) if stands_for_parameter else message
        base = signature_base(without_field, coverage, parameters_as_components=True)
        raw = key.sign(key.algorithms[0], (base.text or "").encode())
        case.client.names.name(":" + base64.b64encode(raw).decode().rstrip("="), "SIGNATURE")
        attached = signing.attach(message, "sig1", str(coverage), raw)
        trials[name] = (_dump(agent.verify_body(Subject(attached, raw_public(key)))), valid)
    return trials


def _list_refused(case: Case, agent: Agent) -> Iterator[_Trial]:
    """Yield what verify and explain refuse."""
    subject = signed(case)
    assert subject.key is not None  # noqa: S101 - `signed` makes the key
    members = agent.verify_body(subject)
    other_key = raw_public(signer(case))
    changes: dict[str, tuple[Mapping[str, Any], str | None]] = {
        "two keys that differ": ({"did_key": keys.did_key(other_key)}, None),
        **{f"the mode {word!r}": ({"mode": word}, "mode") for word in (f"rfc9421{_MARK}", "RFC9421", "")},
        "a key of 63 digits": ({"public_key_hex": subject.key.hex()[:-1]}, "public_key_hex"),
        "a key of 66 digits": ({"public_key_hex": subject.key.hex() + "00"}, "public_key_hex"),
        "a key that is no hex": ({"public_key_hex": _MARK.ljust(64, "z")}, "public_key_hex"),
        "a DID of the web": ({"did_key": f"did:web:{_MARK}.example"}, "did_key"),
        "a did:key of X25519": ({"did_key": keys.did_key(subject.key, _X25519), "public_key_hex": None}, "did_key"),
        "no base64": ({"body_b64": f"%{_MARK}%"}, "body_b64"),
        "base64 without padding": ({"body_b64": base64.b64encode(BODY[:4]).decode().rstrip("=")}, "body_b64"),
        "base64url": ({"body_b64": "_-_-"}, "body_b64"),
        "a time that RFC 8785 cannot write": ({"now": _TOO_LARGE}, None),
        "a lone surrogate": ({"label": _LONE_SURROGATE}, None),
        **{f"no {name}": ({name: None}, name) for name in ("method", "authority", "path", "headers")},
        **{f"{name} is {value!r}": ({name: value}, name) for name, values in _OTHER_TYPES.items() for value in values},
    }
    for name, (change, member) in changes.items():
        body = {**members, **change}
        # Left out, and not null: `None` stands for an absent member above.
        absent = name.removeprefix("no ") if name.startswith("no ") else ""
        body = {one: value for one, value in body.items() if one != absent}
        for operation in (VERIFY, EXPLAIN):
            yield _Trial(operation, name, _dump(body), 422, member=member)


_OTHER_TYPES: Final[Mapping[str, tuple[Any, ...]]] = {
    "method": (7, [_MARK], {"a": _MARK}),
    "authority": (7, [_MARK]),
    "path": (7, [_MARK]),
    "query": (7, [_MARK]),
    "headers": ([_MARK], _MARK, {"X-Name": 7}, {"X-Name": {"a": _MARK}}, {"X-Name": [7]}),
    "body_b64": (7, [_MARK]),
    "scheme": (7,),
    "status": ("200", 200.5, [_MARK]),
    "public_key_hex": (7, [_MARK]),
    "did_key": (7, [_MARK]),
    "require_content_digest": (_MARK, [_MARK]),
    "label": (7, [_MARK]),
    "expected_tag": (7, {"a": _MARK}),
    "allowed_algorithms": ("ed25519", [7]),
    "max_age_seconds": ("60", 60.5, [_MARK]),
    "now": (_MARK, 1.5),
    "required_components": ("@method", [7]),
    "mode": (7, [_MARK]),
}
_OTHER_SIGN_TYPES: Final[Mapping[str, tuple[Any, ...]]] = {
    "method": (7, [_MARK]),
    "authority": (7,),
    "path": (7,),
    "query": (7,),
    "headers": ([_MARK], {"X-Name": 7}),
    "body": (7, [_MARK]),
    "body_b64": (7, f"%{_MARK}%"),
    "covered_components": ("@method", [7]),
    "created": (_MARK, 1.5),
    "expires": (_MARK, 1.5),
    "nonce": (7,),
    "tag": (7, [_MARK]),
    "keyid": (7,),
    "label": (7,),
}


def _list_sign_trials(case: Case) -> Iterator[_Trial]:
    """Yield requests to be signed, taken and refused (6.5)."""
    plain = {"method": "GET", "authority": "api.example.org", "path": "/orders", "headers": {"Accept": "text/plain"}}
    accepted = {
        "query null": _dump({**plain, "query": None}),
        "no headers": _dump({name: value for name, value in plain.items() if name != "headers"}),
        "a further member with a number that RFC 8785 cannot write": _dump({**plain, "x": _TOO_LARGE}),
    }
    for name, body in accepted.items():
        yield _Trial(SIGN, name, body)
    refused: dict[str, tuple[Mapping[str, Any], str | None]] = {
        f"{name} is {value!r}": ({name: value}, name) for name, values in _OTHER_SIGN_TYPES.items() for value in values
    }
    refused |= {
        "two bodies": ({"body": "one", "body_b64": base64.b64encode(b"two").decode()}, None),
        "an absent field": ({"covered_components": ["@method", "x-absent"]}, None),
        "an unknown component": ({"covered_components": ["@method", "@verb"]}, None),
        "a component of a response": ({"covered_components": ["@method", "@status"]}, None),
        "a component twice": ({"covered_components": ["@method", "@path", "@method"]}, None),
    }
    for name, (change, member) in refused.items():
        yield _Trial(SIGN, name, _dump({**plain, **change}), 422, member=member)
    for name in ("method", "authority", "path"):
        body = _dump({one: value for one, value in plain.items() if one != name})
        yield _Trial(SIGN, f"no {name}", body, 422, member=name)
    offered = build_offered_keys(case)[0]
    for name in ("private_key", "private_key_hex", "private_key_b64", "private_key_pem", "secret_key", "signing_key"):
        # "a 422 whose text says that keys are never accepted"
        yield _Trial(SIGN, f"a private key as {name}", _dump({**plain, **offered[name]}), 422, further_word="key")
