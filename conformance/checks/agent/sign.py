"""AGENT-SIGN: demo signatures under keys that are used once."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from conformance.assertions.agent.verdicts import describe_verdict, find_verdict_hint, is_positive
from conformance.engine.check import Case, check
from conformance.engine.concurrent_check_steps import run_concurrently
from conformance.http.client import Answer
from conformance.http.secret_leaks import comes_back
from conformance.oracles.ed25519_keys import ed25519_jwk, encode_base64url
from conformance.oracles.message_signatures import judgement
from conformance.oracles.message_signatures.algorithms import ED25519, VerifyingKey
from conformance.oracles.message_signatures.base import signature_base
from conformance.oracles.message_signatures.digests import FIELD, HASHES_BY_NAME, digest_value
from conformance.oracles.message_signatures.keys import did_key
from conformance.oracles.message_signatures.message import Fields, Message
from conformance.oracles.message_signatures.signature_headers import LabelledSignature
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import VERIFY, Agent, Subject, agent_of, answer_reader, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import name_signature, raw_public

_FIX = (
    "Generate a key pair for every call, sign the given request, and return its header fields, the base and the public "
    "key. Forget the private key, and read no key from the request."
)
# Concurrent calls for one request: a pool of prepared keys may give one key to two of them.
_CALLS = 6
_HOUR = 3600
# The fields that signing adds to a request, or changes in it.
_SIGNING = frozenset({"signature-input", "signature", FIELD})
_EXTRAS: Mapping[str, object] = {"x-unknown": "text", "comment": None, "nested": {"a": [1]}, "public": True}


def build_requests() -> dict[str, Message]:
    """Return the requests to be signed."""
    accept = (("Accept", "application/json"),)
    content_type = (("Content-Type", "application/json"),)
    return {
        "a plain GET": Message("GET", "api.example.org", "https", "/orders", accept),
        "a GET with a query": Message("GET", "api.example.org", "https", "/orders?page=2&x=%20", accept),
        "a POST with a body": Message(
            "POST", "api.example.org", "https", "/orders", content_type, None, b'{"order":7}'
        ),
        # With a port in the authority and a body that is not JSON, because an agent may assume the usual ones.
        "a PUT of bytes": Message("PUT", "shop.example:8443", "https", "/a/b?c", content_type, None, b"text, not JSON"),
    }


def build_field_requests() -> dict[str, Message]:
    """Return requests with several header fields, some with names like those of the fields that signing adds."""
    # The names begin or end like those of signature fields, so an agent that removes fields by a pattern drops them.
    fields = (("Accept", "text/plain"), ("Content-Digest-Note", "of an order"), ("X-Signature", "by hand"))
    two_lines = (("Accept", "text/plain"), ("X-List", "a, b"), ("X-List", "c"))
    return {
        "a GET with a field of two lines": Message("GET", "api.example.org", "https", "/orders", two_lines),
        "a GET with several fields": Message("GET", "api.example.org", "https", "/orders", fields),
        "a POST with several fields": Message("POST", "api.example.org", "https", "/orders", fields, None, b"7 orders"),
    }


@dataclass(frozen=True, slots=True)
class Demo:
    """An answer of sign, and what could be read from it.

    Attributes:
        answer: The answer.
        message: The request with the header fields of the answer; None if the answer has no signed request.
        keys: The public keys that the answer has.
        labelled_signature: The signature as the suite reads it; None if it cannot be read.
    """

    answer: Answer
    message: Message | None
    keys: list[bytes]
    labelled_signature: LabelledSignature | None

    def choose_key(self) -> bytes | None:
        """Return the key that verifies the request: of the given ones the one that does, else the first."""
        for key in self.keys:
            if self.is_valid_under(key):
                return key
        return self.keys[0] if self.keys else None

    def is_valid_under(self, key: bytes) -> bool:
        """Return whether the suite's own verifier accepts the request under a key, digest included."""
        return not self.find_faults(key)

    def find_faults(self, key: bytes) -> list[str]:
        """Return the faults that the suite's own verifier finds under a key; times are not judged."""
        if self.message is None:
            return ["no signed request"]
        # A demo request without a body needs no digest; AGENT-SIGN-09 judges digests of bodies.
        policy = judgement.Policy(require_digest=False)
        # `now` is the signature's own time, so that neither clock nor age can make it invalid.
        judgement_result = judgement.judge(self.message, VerifyingKey((ED25519,), key), policy, now=self._moment())
        return [fault.text for fault in judgement_result.faults]

    def _moment(self) -> int:
        created_time = (
            None if self.labelled_signature is None else self.labelled_signature.coverage.parameter("created")
        )
        return created_time if isinstance(created_time, int) else 0


def read_demo(case: Case, agent: Agent, request: Message, answer: Answer) -> Demo:
    """Read the answer of sign for a request, and keep its live values out of the log.

    Raises:
        Inconclusive: It may contain a signed request, but at unknown places.
    """
    document = answer.read_object() if answer.status == 200 else {}
    places = agent.bindings.signed_fields
    fields = answer_reader.signed_fields(document, places)
    if fields is None and not agent.is_reference and places is None and answer_reader.may_be_signed(document):
        raise Inconclusive("unbound: the places of the signed fields in the answer of sign; give [agent] signed_fields")
    message = None
    labelled_signature = None
    if fields is not None:
        answered_names = {name.lower() for name, _ in fields}
        kept_fields = tuple(pair for pair in request.headers if pair[0].lower() not in answered_names)
        message = Message(
            request.method,
            request.authority,
            request.scheme,
            request.target,
            (*kept_fields, *fields),
            None,
            request.body,
        )
        labelled_signature = judgement.judge(message, None, judgement.Policy(), now=0).signature
    keys = answer_reader.public_keys(document, agent.bindings.demo_key_at)
    for key in keys:
        case.client.names.name(key.hex(), "DEMO_KEY")
        case.client.names.name(did_key(key), "DEMO_DID_KEY")
    if labelled_signature is not None:
        _name_live_values(case, labelled_signature)
    return Demo(answer, message, keys, labelled_signature)


def _name_live_values(case: Case, labelled_signature: LabelledSignature) -> None:
    """Keep the signature and its times out of the log, because they differ from run to run."""
    name_signature(case, labelled_signature.signature)
    for name in ("created", "expires"):
        case.client.names.name(str(labelled_signature.coverage.parameter(name) or ""), name.upper())


def compute_base(demo: Demo) -> str | None:
    """Return the base as the suite computes it, or None if it cannot."""
    if demo.message is None or demo.labelled_signature is None:
        return None
    return signature_base(demo.message, demo.labelled_signature.coverage).text


@check(
    *("AGENT-SIGN-01", "AGENT-SIGN-02", "AGENT-SIGN-03", "AGENT-SIGN-04"),
    *("AGENT-SIGN-05", "AGENT-SIGN-08", "AGENT-SIGN-09"),
    surface="agent",
    fix=_FIX,
)
async def demo_requests_are_signed(case: Case) -> None:
    """Sign returns a signed request, its base and the key, and both the agent and the suite's verifier accept it.

    Requests signatures for requests with and without query and body. Expects:

    * both signature fields,
    * the base that the suite computes and that explain gives,
    * a key under which both verifiers find the request valid,
    * a signature that has not expired when it begins,
    * for a body a matching covered digest, also if the request came with a wrong one.

    Then sends requests with an empty path: if they are signed, the path is a slash. On a target with the profile's own
    names, the signed request has every given field. A request that has signature fields already is refused, or its
    signed form is valid. A request with a `created` an hour from now expires after that.
    """
    agent = await agent_of(case)
    for request_name, request in build_requests().items():
        answer = await agent.sign(request)
        demo = read_demo(case, agent, request, answer)
        _judge_demo(case, agent, demo, {"request": request_name})
        if request.body:
            fault = _find_digest_fault(demo)
            requirement = "a covered Content-Digest of the body"
            case.expect(
                "AGENT-SIGN-09", fault is None, requirement, fault, exchange=answer, where={"request": request_name}
            )
        await _judge_elsewhere(case, agent, demo, {"request": request_name})
    await _judge_wrong_digests(case, agent)
    await _judge_empty_paths(case, agent)
    await _judge_kept_fields(case, agent)
    await _judge_signed_before(case, agent)
    await _judge_given_created(case, agent)


async def _judge_wrong_digests(case: Case, agent: Agent) -> None:
    """Judge requests with the digest of another body: an agent that signs them has to sign a matching digest."""
    for algorithm in HASHES_BY_NAME:
        given_fields = (
            ("Content-Type", "application/json"),
            ("Content-Digest", digest_value(b"another body", algorithm)),
        )
        request = Message("POST", "api.example.org", "https", "/orders", given_fields, None, b'{"order":7}')
        answer = await agent.sign(request)
        if answer.status != 200:
            continue
        demo, where = (
            read_demo(case, agent, request, answer),
            {"request": f"with a wrong Content-Digest of {algorithm}"},
        )
        fault = _find_digest_fault(demo)
        requirement = "a covered Content-Digest of the body"
        case.expect("AGENT-SIGN-09", fault is None, requirement, fault, exchange=answer, where=where)
        await _judge_elsewhere(case, agent, demo, where)


async def _judge_empty_paths(case: Case, agent: Agent) -> None:
    """Judge requests with an empty path, which is signed as a slash (RFC 9421, 2.2.6). They may be refused."""
    for request_name, target in (("no path", ""), ("a query and no path", "?page=2")):
        request = Message("GET", "api.example.org", "https", target, (("Accept", "application/json"),))
        answer = await agent.sign(request)
        if answer.status != 200:
            continue
        demo = read_demo(case, agent, request, answer)
        key = demo.choose_key()
        if key is not None and demo.message is not None:
            faults = demo.find_faults(key)
            where = {"request": request_name}
            requirement = "valid under the returned key, the path a slash"
            case.expect("AGENT-SIGN-05", not faults, requirement, "; ".join(faults), exchange=answer, where=where)


async def _judge_kept_fields(case: Case, agent: Agent) -> None:
    """Judge that the signed request has each header field of the given request (P-SG-04).

    Targets that do not claim the specification are not tested: their answer may have only the fields that signing adds.
    """
    claims = agent.is_reference or case.profile.claims.specification is not None
    if not claims or agent.bindings.signed_fields is not None:
        return
    for request_name, request in build_field_requests().items():
        answer = await agent.sign(request)
        read_demo(case, agent, request, answer)  # keeps what differs from run to run out of the log
        losses = [
            _find_lost_fields(request, fields) for fields in answer_reader.every_signed_fields(answer.read_object())
        ]
        lost_names = min(losses, key=len, default=["the signed request"])
        requirement = "200 with the signed request, which has each given header field"
        finding = f"{answer.status}, without {', '.join(lost_names)}" if lost_names else f"{answer.status}, with each"
        holds = answer.status == 200 and not lost_names
        case.expect("AGENT-SIGN-01", holds, requirement, finding, exchange=answer, where={"request": request_name})


async def _judge_signed_before(case: Case, agent: Agent) -> None:
    """Judge requests that have signature fields already: if signed, verify accepts the answer as it is (P-SG-04).

    Targets with other names than the profile's are not tested: by RFC 8941 the last of two equal members wins.
    """
    if not agent.is_reference:
        return
    plain = build_requests()["a plain GET"]
    # The agent's usual label, so that the old signature collides with the one that it will add.
    label_signature = read_demo(case, agent, plain, await agent.sign(plain)).labelled_signature
    label = "sig" if label_signature is None else label_signature.label
    signed_request = signed(case, method="GET", body=b"", label=label).message
    lone_input = (*plain.headers, ("Signature-Input", f'{label}-0=("@method")'))
    for request_name, request in (
        ("signed before, under the label of a demo", signed_request),
        ("with a Signature-Input and no Signature", replace(plain, headers=lone_input)),
    ):
        answer = await agent.sign(request)
        if answer.status == 200 and read_demo(case, agent, request, answer).message is not None:
            await _judge_as_it_stands(case, agent, answer, {"request": request_name})


async def _judge_as_it_stands(case: Case, agent: Agent, answer: Answer, where: Mapping[str, str]) -> None:
    """Judge that verify accepts an answer of sign as its body and finds it valid."""
    verify_answer = await agent.call("POST", VERIFY, json_body=answer.read_object())
    requirement, holds = "200, valid, for the unchanged answer of sign", is_positive(agent, verify_answer)
    case.expect(
        "AGENT-SIGN-04", holds, requirement, describe_verdict(agent, verify_answer), exchange=verify_answer, where=where
    )


async def _judge_given_created(case: Case, agent: Agent) -> None:
    """Judge a request to be signed as of an hour from now: its lifetime begins then, not at the call (P-SG-03).

    Targets with other names than the profile's are not tested. An agent may also refuse or replace the time.
    """
    if not agent.is_reference:
        return
    created_time = int(time.time()) + _HOUR
    case.client.names.name(str(created_time), "CREATED")
    request = build_requests()["a plain GET"]
    answer = await agent.sign(request, created=created_time)
    if answer.status != 200:
        return
    faults = _find_lifetime_faults(read_demo(case, agent, request, answer), agent)
    requirement, where = "an expires later than created", {"request": "with a created an hour from now"}
    case.expect("AGENT-SIGN-05", not faults, requirement, "; ".join(faults), exchange=answer, where=where)


def _find_lost_fields(request: Message, fields: Fields) -> list[str]:
    """Return the names of a request's fields that its signed request lacks, or has with other values."""
    signed_request = Message(headers=fields)
    names = dict.fromkeys(name.lower() for name, _ in request.headers)
    return [name for name in names if name not in _SIGNING and signed_request.field(name) != request.field(name)]


def _judge_demo(case: Case, agent: Agent, demo: Demo, where: Mapping[str, str]) -> None:
    answer, own_base = demo.answer, compute_base(demo)
    holds = answer.status == 200 and demo.labelled_signature is not None
    requirement = "200 with Signature-Input and Signature"
    case.expect("AGENT-SIGN-01", holds, requirement, answer.status, exchange=answer, where=where)
    base = agent.base(answer)
    requirement = f"the base of the signed request: {own_base!r}"
    case.expect(
        "AGENT-SIGN-02", base is not None and base == own_base, requirement, repr(base), exchange=answer, where=where
    )
    finding = f"{len(demo.keys)} keys"
    case.expect("AGENT-SIGN-03", bool(demo.keys), "a public key of Ed25519", finding, exchange=answer, where=where)
    key = demo.choose_key()
    faults = ["no key to verify with"] if key is None else [*demo.find_faults(key), *_find_lifetime_faults(demo, agent)]
    requirement = "valid under the returned key"
    case.expect("AGENT-SIGN-05", not faults, requirement, "; ".join(faults), exchange=answer, where=where)


def _find_lifetime_faults(demo: Demo, agent: Agent) -> list[str]:
    """Return the faults of a signature's lifetime, by its own parameters and no clock.

    The interface leaves the lifetime open, and whether it is stated. But a signature that ends before it begins is
    invalid for every verifier.
    """
    coverage = None if demo.labelled_signature is None else demo.labelled_signature.coverage
    created_time, expires = (None if coverage is None else coverage.parameter(name) for name in ("created", "expires"))
    if type(created_time) is not int or type(expires) is not int:
        return []
    # By P-SG-03 the default is five minutes, so the reference must not even end at the moment at which it begins.
    is_over = expires <= created_time if agent.is_reference else expires < created_time
    return ["it expires no later than it was created"] if is_over else []


def _find_digest_fault(demo: Demo) -> str | None:
    """Return the fault of the digest of a signed request with a body, or None."""
    message, labelled_signature = demo.message, demo.labelled_signature
    if message is None or labelled_signature is None or message.field(FIELD) is None:
        return "no Content-Digest"
    if FIELD not in {one.name for one in labelled_signature.coverage.components}:
        return "the digest is not covered"
    digests = [base64.b64encode(digest(message.body).digest()).decode() for digest in HASHES_BY_NAME.values()]
    field = message.field(FIELD) or ""
    return None if any(one in field for one in digests) else f"the digest is of another content: {field}"


async def _judge_elsewhere(case: Case, agent: Agent, demo: Demo, where: Mapping[str, str]) -> None:
    """Judge the agent's own verdict on its signed request."""
    if demo.message is None:
        case.expect("AGENT-SIGN-04", False, "a signed request", "none", exchange=demo.answer, where=where)
        if agent.is_reference:
            case.expect("AGENT-SIGN-08", False, "a signed request", "none", exchange=demo.answer, where=where)
        else:
            case.mark_inconclusive("AGENT-SIGN-08", "the answer has no signed request, which AGENT-SIGN-04 judges")
        return
    subject = Subject(demo.message, demo.choose_key())
    verify_answer = await agent.verify(subject)
    requirement = "200, valid"
    holds = demo.choose_key() is not None and is_positive(agent, verify_answer)
    hint = find_verdict_hint(agent, verify_answer)
    case.expect(
        "AGENT-SIGN-04",
        holds,
        requirement,
        describe_verdict(agent, verify_answer),
        exchange=verify_answer,
        where=where,
        hint=hint,
    )
    if agent.is_reference:
        await _judge_as_it_stands(case, agent, demo.answer, where)
    explanation = await agent.explain(subject)
    demo_base, explained_base = agent.base(demo.answer), agent.base(explanation)
    requirement = f"the base that explain gives: {explained_base!r}"
    if None in {demo_base, explained_base} and not agent.is_reference:
        case.mark_inconclusive(
            "AGENT-SIGN-08", "one of the two bases is missing, which other rows judge", exchange=explanation
        )
        return
    holds = demo_base is not None and demo_base == explained_base
    case.expect("AGENT-SIGN-08", holds, requirement, repr(demo_base), exchange=explanation, where=where)


@check("AGENT-SIGN-06", surface="agent", fix="Generate a new key for every call from the system's random source.")
async def every_demo_key_is_fresh(case: Case) -> None:
    """Two calls return two different keys.

    Requests signatures for one request several times, concurrently and one after the other, and for other requests.
    Expects as many keys as calls, none of them twice.
    """
    agent = await agent_of(case)
    request_list = list(build_requests().values())
    calls = [request_list[0]] * _CALLS + request_list
    answer_list = await run_concurrently(map(agent.sign, calls))
    answer_list += [await agent.sign(request_list[0]) for _ in range(2)]
    demos = [
        read_demo(case, agent, one, answer)
        for one, answer in zip([*calls, request_list[0], request_list[0]], answer_list, strict=True)
    ]
    keys = [key for demo in demos if (key := demo.choose_key()) is not None]
    finding = f"{len(set(keys))} different ones in {len(demos)} answers"
    holds = len(keys) == len(set(keys)) == len(demos)
    case.expect("AGENT-SIGN-06", holds, "a different key in each answer", finding, exchange=answer_list[-1])


def build_offered_keys(case: Case) -> tuple[dict[str, dict[str, Any]], bytes, dict[str, str]]:
    """Return members that offer a private key, its public half, and its secret texts by form."""
    key = signer(case)
    material = key.material
    assert isinstance(material, ed25519.Ed25519PrivateKey)  # noqa: S101 - the suite's own
    raw = material.private_bytes_raw()
    pem = material.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    line = pem.splitlines()[1]
    d = encode_base64url(raw)
    forms = {"hex": raw.hex(), "base64": base64.b64encode(raw).decode(), "base64url": d, "PEM": line}
    jwk = {**ed25519_jwk(raw_public(key)), "d": d}
    # NaCl's form of a secret key: seed and public key together.
    pair = raw.hex() + raw_public(key).hex()
    # Registered as secrets, so that no report contains a private key, even one made for this test.
    for text in forms.values():
        case.client.names.secret(text, "OFFERED_PRIVATE_KEY")
    # The names under which services usually take private keys.
    members: dict[str, dict[str, Any]] = {
        "private_key": {"private_key": raw.hex()},
        "private_key_hex": {"private_key_hex": raw.hex()},
        "private_key_b64": {"private_key_b64": forms["base64"]},
        "private_key_pem": {"private_key_pem": pem},
        "secret_key": {"secret_key": pair},
        "signing_key": {"signing_key": jwk},
        "private_jwk": {"private_jwk": jwk},
        "jwk": {"jwk": jwk},
        "seed": {"seed": raw.hex()},
        "key": {"key": forms["base64"]},
        "key among others": {"options": {"private_key": raw.hex()}, "keys": [jwk]},
    }
    return members, raw_public(key), forms


@check("AGENT-SIGN-07", surface="agent", fix="Refuse members that hold private keys, or ignore them; repeat none.")
async def offered_keys_are_never_used(case: Case) -> None:
    """A private key offered by the caller is never used and never echoed.

    Sends requests to be signed together with a private key, in every usual form and under many names. Expects a refusal
    or a signature under another key. Expects the private key nowhere in body and headers, in no encoding.
    """
    agent = await agent_of(case)
    request = build_requests()["a POST with a body"]
    members, public, forms = build_offered_keys(case)

    async def judge_member(member_name: str, extra_members: Mapping[str, Any]) -> None:
        answer = await agent.sign(request, **extra_members)
        echo_places = [f"{form}: {place}" for form, text in forms.items() for place in comes_back(answer, text)]
        where = {"member": member_name}
        requirement = "the private key nowhere in the answer"
        case.expect(
            "AGENT-SIGN-07", not echo_places, requirement, echo_places or "nowhere", exchange=answer, where=where
        )
        demo = read_demo(case, agent, request, answer)
        is_used = public in demo.keys or (demo.message is not None and demo.is_valid_under(public))
        # Refusing an offered key is safe as well, so both answers pass.
        is_refused = 400 <= answer.status < 500
        requirement = "a refusal, or another key"
        finding = "it was used" if is_used else f"{answer.status}, {len(demo.keys)} keys"
        holds = is_refused or (answer.status == 200 and not is_used)
        case.expect("AGENT-SIGN-07", holds, requirement, finding, exchange=answer, where=where)

    await run_concurrently(judge_member(member_name, extra_members) for member_name, extra_members in members.items())


@check("AGENT-SIGN-11", surface="agent", fix="Ignore members that you do not know.")
async def demo_requests_tolerate_extras(case: Case) -> None:
    """Unknown members in the body of sign are tolerated.

    Requests a signature with additional members of every type, alone and together. Expects 200 and a valid signature.
    """
    agent = await agent_of(case)
    request = build_requests()["a GET with a query"]
    for extra_members in [{name: value} for name, value in _EXTRAS.items()] + [dict(_EXTRAS)]:
        answer = await agent.sign(request, **extra_members)
        demo = read_demo(case, agent, request, answer)
        key = demo.choose_key()
        holds = answer.status == 200 and key is not None and demo.is_valid_under(key)
        where = {"member": next(iter(extra_members)) if len(extra_members) == 1 else "all"}
        case.expect("AGENT-SIGN-11", holds, "200, signed", answer.status, exchange=answer, where=where)
