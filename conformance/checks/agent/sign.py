"""AGENT-SIGN: demo signatures under keys that are used once."""

from __future__ import annotations

import base64
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ed25519
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from conformance.engine.check import Case, check
from conformance.engine.concurrency import run_concurrently
from conformance.http.client import Answer
from conformance.http.leaks import comes_back
from conformance.judging.agent.verdicts import is_positive, verdict_hint, verdict_of
from conformance.oracles.keys import ed25519_jwk, encode_base64url
from conformance.oracles.message_signatures import judgement
from conformance.oracles.message_signatures.algorithms import ED25519, VerifyingKey
from conformance.oracles.message_signatures.base import signature_base
from conformance.oracles.message_signatures.digests import FIELD, HASHES_BY_NAME, digest_value
from conformance.oracles.message_signatures.headers import LabelledSignature
from conformance.oracles.message_signatures.keys import did_key
from conformance.oracles.message_signatures.message import Fields, Message
from conformance.outcome import Inconclusive
from conformance.surfaces.agent import VERIFY, Agent, Subject, agent_of, answers, signer
from conformance.surfaces.agent import subject as signed
from conformance.surfaces.agent.subjects import name_signature, raw_public

_FIX = (
    "Generate a key pair for every call, sign the given request, and return its header fields, the base and the public "
    "key. Forget the private key, and read no key from the request."
)
_CALLS = 6
_HOUR = 3600
# The fields that signing adds to a request, or changes in it.
_SIGNING = frozenset({"signature-input", "signature", FIELD})
_EXTRAS: Mapping[str, object] = {"x-unknown": "text", "comment": None, "nested": {"a": [1]}, "public": True}


def requests() -> dict[str, Message]:
    """Return the requests to be signed."""
    accept = (("Accept", "application/json"),)
    typed = (("Content-Type", "application/json"),)
    return {
        "a plain GET": Message("GET", "api.example.org", "https", "/orders", accept),
        "a GET with a query": Message("GET", "api.example.org", "https", "/orders?page=2&x=%20", accept),
        "a POST with a body": Message("POST", "api.example.org", "https", "/orders", typed, None, b'{"order":7}'),
        "a PUT of bytes": Message("PUT", "shop.example:8443", "https", "/a/b?c", typed, None, b"text, not JSON"),
    }


def requests_with_fields() -> dict[str, Message]:
    """Return requests with several header fields, some with names like those of the fields that signing adds."""
    fields = (("Accept", "text/plain"), ("Content-Digest-Note", "of an order"), ("X-Signature", "by hand"))
    return {
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
        labelled: The signature as the suite reads it; None if it cannot be read.
    """

    answer: Answer
    message: Message | None
    keys: list[bytes]
    labelled: LabelledSignature | None

    def key(self) -> bytes | None:
        """Return the key that verifies the request: of the given ones the one that does, else the first."""
        for one in self.keys:
            if self.holds(one):
                return one
        return self.keys[0] if self.keys else None

    def holds(self, key: bytes) -> bool:
        """Return whether the suite's own verifier accepts the request under a key, digest included."""
        return not self.faults(key)

    def faults(self, key: bytes) -> list[str]:
        """Return the faults that the suite's own verifier finds under a key; times are not judged."""
        if self.message is None:
            return ["no signed request"]
        policy = judgement.Policy(require_digest=False)
        # `now` is the signature's own time, so that neither clock nor age can make it invalid.
        judged = judgement.judge(self.message, VerifyingKey((ED25519,), key), policy, now=self._moment())
        return [fault.text for fault in judged.faults]

    def _moment(self) -> int:
        created = None if self.labelled is None else self.labelled.coverage.parameter("created")
        return created if isinstance(created, int) else 0


def read(case: Case, agent: Agent, asked: Message, answer: Answer) -> Demo:
    """Read the answer of sign for a request, and keep its live values out of the log.

    Raises:
        Inconclusive: It may contain a signed request, but at unknown places.
    """
    document = answer.object() if answer.status == 200 else {}
    places = agent.bindings.signed_fields
    fields = answers.signed_fields(document, places)
    if fields is None and not agent.is_reference and places is None and answers.may_be_signed(document):
        raise Inconclusive("unbound: the places of the signed fields in the answer of sign; give [agent] signed_fields")
    message = None
    labelled = None
    if fields is not None:
        there = {name.lower() for name, _ in fields}
        kept = tuple(pair for pair in asked.headers if pair[0].lower() not in there)
        message = Message(asked.method, asked.authority, asked.scheme, asked.target, (*kept, *fields), None, asked.body)
        labelled = judgement.judge(message, None, judgement.Policy(), now=0).signature
    keys = answers.public_keys(document, agent.bindings.demo_key_at)
    for key in keys:
        case.client.names.name(key.hex(), "DEMO_KEY")
        case.client.names.name(did_key(key), "DEMO_DID_KEY")
    if labelled is not None:
        _name(case, labelled)
    return Demo(answer, message, keys, labelled)


def _name(case: Case, labelled: LabelledSignature) -> None:
    """Keep the signature and its times out of the log, because they differ from run to run."""
    name_signature(case, labelled.signature)
    for name in ("created", "expires"):
        case.client.names.name(str(labelled.coverage.parameter(name) or ""), name.upper())


def base_of(demo: Demo) -> str | None:
    """Return the base as the suite computes it, or None if it cannot."""
    if demo.message is None or demo.labelled is None:
        return None
    return signature_base(demo.message, demo.labelled.coverage).text


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
    for what, asked in requests().items():
        answer = await agent.sign(asked)
        demo = read(case, agent, asked, answer)
        _judge_demo(case, agent, demo, {"request": what})
        if asked.body:
            fault = _digest_fault(demo)
            told = "a covered Content-Digest of the body"
            case.expect("AGENT-SIGN-09", fault is None, told, fault, exchange=answer, where={"request": what})
        await _judge_elsewhere(case, agent, demo, {"request": what})
    await _judge_wrong_digests(case, agent)
    await _judge_empty_paths(case, agent)
    await _judge_kept_fields(case, agent)
    await _judge_signed_before(case, agent)
    await _judge_given_created(case, agent)


async def _judge_wrong_digests(case: Case, agent: Agent) -> None:
    """Judge requests with the digest of another body: an agent that signs them has to sign a matching digest."""
    for algorithm in HASHES_BY_NAME:
        given = (("Content-Type", "application/json"), ("Content-Digest", digest_value(b"another body", algorithm)))
        asked = Message("POST", "api.example.org", "https", "/orders", given, None, b'{"order":7}')
        answer = await agent.sign(asked)
        if answer.status != 200:
            continue
        demo, where = read(case, agent, asked, answer), {"request": f"with a wrong Content-Digest of {algorithm}"}
        fault = _digest_fault(demo)
        told = "a covered Content-Digest of the body"
        case.expect("AGENT-SIGN-09", fault is None, told, fault, exchange=answer, where=where)
        await _judge_elsewhere(case, agent, demo, where)


async def _judge_empty_paths(case: Case, agent: Agent) -> None:
    """Judge requests with an empty path, which is signed as a slash (RFC 9421, 2.2.6). They may be refused."""
    for what, target in (("no path", ""), ("a query and no path", "?page=2")):
        asked = Message("GET", "api.example.org", "https", target, (("Accept", "application/json"),))
        answer = await agent.sign(asked)
        if answer.status != 200:
            continue
        demo = read(case, agent, asked, answer)
        key = demo.key()
        if key is not None and demo.message is not None:
            faults = demo.faults(key)
            where = {"request": what}
            told = "valid under the returned key, the path a slash"
            case.expect("AGENT-SIGN-05", not faults, told, "; ".join(faults), exchange=answer, where=where)


async def _judge_kept_fields(case: Case, agent: Agent) -> None:
    """Judge that the signed request has each header field of the given request (P-SG-04).

    Targets with other names than the profile's are not tested: their answer may have only the fields that signing adds.
    """
    if not agent.is_reference or agent.bindings.signed_fields is not None:
        return
    for what, asked in requests_with_fields().items():
        answer = await agent.sign(asked)
        read(case, agent, asked, answer)  # keeps what differs from run to run out of the log
        shown = [_lost(asked, fields) for fields in answers.every_signed_fields(answer.object())]
        lost = min(shown, key=len, default=["the signed request"])
        told = "200 with the signed request, which has each given header field"
        found = f"{answer.status}, without {', '.join(lost)}" if lost else f"{answer.status}, with each"
        holds = answer.status == 200 and not lost
        case.expect("AGENT-SIGN-01", holds, told, found, exchange=answer, where={"request": what})


async def _judge_signed_before(case: Case, agent: Agent) -> None:
    """Judge requests that have signature fields already: if signed, verify accepts the answer as it is (P-SG-04).

    Targets with other names than the profile's are not tested: by RFC 8941 the last of two equal members wins.
    """
    if not agent.is_reference:
        return
    plain = requests()["a plain GET"]
    # The agent's usual label, so that the old signature collides with the one that it will add.
    labelled = read(case, agent, plain, await agent.sign(plain)).labelled
    label = "sig" if labelled is None else labelled.label
    before = signed(case, method="GET", body=b"", label=label).message
    alone = (*plain.headers, ("Signature-Input", f'{label}-0=("@method")'))
    for what, asked in (
        ("signed before, under the label of a demo", before),
        ("with a Signature-Input and no Signature", replace(plain, headers=alone)),
    ):
        answer = await agent.sign(asked)
        if answer.status == 200 and read(case, agent, asked, answer).message is not None:
            await _judge_as_it_stands(case, agent, answer, {"request": what})


async def _judge_as_it_stands(case: Case, agent: Agent, answer: Answer, where: Mapping[str, str]) -> None:
    """Judge that verify accepts an answer of sign as its body and finds it valid."""
    unchanged = await agent.call("POST", VERIFY, json_body=answer.object())
    told, holds = "200, valid, for the unchanged answer of sign", is_positive(agent, unchanged)
    case.expect("AGENT-SIGN-04", holds, told, verdict_of(agent, unchanged), exchange=unchanged, where=where)


async def _judge_given_created(case: Case, agent: Agent) -> None:
    """Judge a request to be signed as of an hour from now: its lifetime begins then, not at the call (P-SG-03).

    Targets with other names than the profile's are not tested. An agent may also refuse or replace the time.
    """
    if not agent.is_reference:
        return
    created = int(time.time()) + _HOUR
    case.client.names.name(str(created), "CREATED")
    asked = requests()["a plain GET"]
    answer = await agent.sign(asked, created=created)
    if answer.status != 200:
        return
    faults = _lifetime_faults(read(case, agent, asked, answer), agent)
    expected, where = "an expires later than created", {"request": "with a created an hour from now"}
    case.expect("AGENT-SIGN-05", not faults, expected, "; ".join(faults), exchange=answer, where=where)


def _lost(asked: Message, fields: Fields) -> list[str]:
    """Return the names of a request's fields that its signed request lacks, or has with other values."""
    answered = Message(headers=fields)
    names = dict.fromkeys(name.lower() for name, _ in asked.headers)
    return [name for name in names if name not in _SIGNING and answered.field(name) != asked.field(name)]


def _judge_demo(case: Case, agent: Agent, demo: Demo, where: Mapping[str, str]) -> None:
    answer, own = demo.answer, base_of(demo)
    holds = answer.status == 200 and demo.labelled is not None
    told = "200 with Signature-Input and Signature"
    case.expect("AGENT-SIGN-01", holds, told, answer.status, exchange=answer, where=where)
    base = agent.base(answer)
    told = f"the base of the signed request: {own!r}"
    case.expect("AGENT-SIGN-02", base is not None and base == own, told, repr(base), exchange=answer, where=where)
    found = f"{len(demo.keys)} keys"
    case.expect("AGENT-SIGN-03", bool(demo.keys), "a public key of Ed25519", found, exchange=answer, where=where)
    key = demo.key()
    faults = ["no key to verify with"] if key is None else [*demo.faults(key), *_lifetime_faults(demo, agent)]
    told = "valid under the returned key"
    case.expect("AGENT-SIGN-05", not faults, told, "; ".join(faults), exchange=answer, where=where)


def _lifetime_faults(demo: Demo, agent: Agent) -> list[str]:
    """Return the faults of a signature's lifetime, by its own parameters and no clock.

    The interface leaves the lifetime open, and whether it is stated. But a signature that ends before it begins is
    invalid for every verifier.
    """
    covered = None if demo.labelled is None else demo.labelled.coverage
    created, expires = (None if covered is None else covered.parameter(name) for name in ("created", "expires"))
    if type(created) is not int or type(expires) is not int:
        return []
    # By P-SG-03 the default is five minutes, so the reference must not even end at the moment at which it begins.
    over = expires <= created if agent.is_reference else expires < created
    return ["it expires no later than it was created"] if over else []


def _digest_fault(demo: Demo) -> str | None:
    """Return the fault of the digest of a signed request with a body, or None."""
    message, labelled = demo.message, demo.labelled
    if message is None or labelled is None or message.field(FIELD) is None:
        return "no Content-Digest"
    if FIELD not in {one.name for one in labelled.coverage.components}:
        return "the digest is not covered"
    known = [base64.b64encode(digest(message.body).digest()).decode() for digest in HASHES_BY_NAME.values()]
    field = message.field(FIELD) or ""
    return None if any(one in field for one in known) else f"the digest is of another content: {field}"


async def _judge_elsewhere(case: Case, agent: Agent, demo: Demo, where: Mapping[str, str]) -> None:
    """Judge the agent's own verdict on its signed request."""
    if demo.message is None:
        case.expect("AGENT-SIGN-04", False, "a signed request", "none", exchange=demo.answer, where=where)
        if agent.is_reference:
            case.expect("AGENT-SIGN-08", False, "a signed request", "none", exchange=demo.answer, where=where)
        else:
            case.mark_inconclusive("AGENT-SIGN-08", "the answer has no signed request, which AGENT-SIGN-04 judges")
        return
    one = Subject(demo.message, demo.key())
    verified = await agent.verify(one)
    told = "200, valid"
    holds = demo.key() is not None and is_positive(agent, verified)
    hint = verdict_hint(agent, verified)
    case.expect("AGENT-SIGN-04", holds, told, verdict_of(agent, verified), exchange=verified, where=where, hint=hint)
    if agent.is_reference:
        await _judge_as_it_stands(case, agent, demo.answer, where)
    explained = await agent.explain(one)
    mine, theirs = agent.base(demo.answer), agent.base(explained)
    told = f"the base that explain gives: {theirs!r}"
    if None in {mine, theirs} and not agent.is_reference:
        case.mark_inconclusive(
            "AGENT-SIGN-08", "one of the two bases is missing, which other rows judge", exchange=explained
        )
        return
    holds = mine is not None and mine == theirs
    case.expect("AGENT-SIGN-08", holds, told, repr(mine), exchange=explained, where=where)


@check("AGENT-SIGN-06", surface="agent", fix="Generate a new key for every call from the system's random source.")
async def every_demo_key_is_fresh(case: Case) -> None:
    """Two calls return two different keys.

    Requests signatures for one request several times, concurrently and one after the other, and for other requests.
    Expects as many keys as calls, none of them twice.
    """
    agent = await agent_of(case)
    asked = list(requests().values())
    calls = [asked[0]] * _CALLS + asked
    given = await run_concurrently(map(agent.sign, calls))
    given += [await agent.sign(asked[0]) for _ in range(2)]
    demos = [read(case, agent, one, answer) for one, answer in zip([*calls, asked[0], asked[0]], given, strict=True)]
    keys = [key for demo in demos if (key := demo.key()) is not None]
    found = f"{len(set(keys))} different ones in {len(demos)} answers"
    holds = len(keys) == len(set(keys)) == len(demos)
    case.expect("AGENT-SIGN-06", holds, "a different key in each answer", found, exchange=given[-1])


def offered(case: Case) -> tuple[dict[str, dict[str, Any]], bytes, dict[str, str]]:
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
    pair = raw.hex() + raw_public(key).hex()
    for text in forms.values():
        case.client.names.secret(text, "OFFERED_PRIVATE_KEY")
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
    asked = requests()["a POST with a body"]
    members, public, forms = offered(case)

    async def judged(what: str, more: Mapping[str, Any]) -> None:
        answer = await agent.sign(asked, **more)
        echoed = [f"{form}: {place}" for form, text in forms.items() for place in comes_back(answer, text)]
        where = {"member": what}
        told = "the private key nowhere in the answer"
        case.expect("AGENT-SIGN-07", not echoed, told, echoed or "nowhere", exchange=answer, where=where)
        demo = read(case, agent, asked, answer)
        used = public in demo.keys or (demo.message is not None and demo.holds(public))
        refused = 400 <= answer.status < 500
        told = "a refusal, or another key"
        found = "it was used" if used else f"{answer.status}, {len(demo.keys)} keys"
        holds = refused or (answer.status == 200 and not used)
        case.expect("AGENT-SIGN-07", holds, told, found, exchange=answer, where=where)

    await run_concurrently(judged(what, more) for what, more in members.items())


@check("AGENT-SIGN-11", surface="agent", fix="Ignore members that you do not know.")
async def demo_requests_tolerate_extras(case: Case) -> None:
    """Unknown members in the body of sign are tolerated.

    Requests a signature with additional members of every type, alone and together. Expects 200 and a valid signature.
    """
    agent = await agent_of(case)
    asked = requests()["a GET with a query"]
    for more in [{name: value} for name, value in _EXTRAS.items()] + [dict(_EXTRAS)]:
        answer = await agent.sign(asked, **more)
        demo = read(case, agent, asked, answer)
        key = demo.key()
        holds = answer.status == 200 and key is not None and demo.holds(key)
        where = {"member": next(iter(more)) if len(more) == 1 else "all"}
        case.expect("AGENT-SIGN-11", holds, "200, signed", answer.status, exchange=answer, where=where)
