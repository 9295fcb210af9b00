"""CP-ADDON-10: the federation validator answers, signs and verifies tokens as specification 8.3 says."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles.credentials.answers import differing_members, expected_members, verdict_members
from conformance.oracles.credentials.envelope import Envelope, NoEnvelope, open_envelope, unix_of
from conformance.oracles.credentials.judging import Question, judge_credential, judge_token
from conformance.oracles.ed25519_keys import KeyFault, decode_base64url, encode_base64url
from conformance.oracles.hash_recipes import jcs_bytes, sha256_hex
from conformance.outcome import Inconclusive
from conformance.processes.launching import RunningProgram
from conformance.surfaces.control_plane.access import ask_until
from conformance.surfaces.control_plane.addon_key_document import PQC_KEYS, read_published_key
from conformance.surfaces.control_plane.credential_test_cases import list_spellings, list_vector_keys, list_whole_faults
from conformance.surfaces.control_plane.forged_credentials import sign_with_other_key
from conformance.surfaces.control_plane.issued_credentials import (
    IssuedCredential,
    issue_passport,
    issue_receipt,
    issue_token,
    time_text,
)
from conformance.surfaces.control_plane.played_hub import PlayedHub, played_hub
from conformance.surfaces.control_plane.starting import bundled_names, started_addon, subjects

ROW: Final = "CP-ADDON-10"
_VALIDATOR: Final = "federation_validator"
_VALIDATE, _VERIFY = "/v1/validate", "/v1/tokens/verify"
_MOST: Final = 16
_LIFETIME_SECONDS: Final = 300
_AUDIENCE: Final = "https://rail.example"


@dataclass(frozen=True, slots=True)
class Validator:
    """The validator under test.

    Attributes:
        case: The case.
        addon: Its process.
        did: The DID of every validator of the deployment.
    """

    case: Case
    addon: RunningProgram
    did: str

    async def validate(self, body: Mapping[str, Any], *, again: bool = False) -> Answer:
        """Return the answer to a request for a token."""
        return await self.case.client.call("POST", self.addon.url + _VALIDATE, json_body=body, retry=again)

    async def verify(self, token: str, audience: str | None = None, *, again: bool = False) -> Answer:
        """Return the answer to the question what a token is worth."""
        body = {"token": token} | ({} if audience is None else {"audience": audience})
        return await self.case.client.call("POST", self.addon.url + _VERIFY, json_body=body, retry=again)

    def judge(self, name: str, answer: Answer, expected: Mapping[str, Any]) -> None:
        """Judge the members of an answer with 200."""
        faults = (
            differing_members(answer.read_object(), expected) if answer.status == 200 else [f"status {answer.status}"]
        )
        self.expect(name, faults, answer)

    def expect(self, name: str, faults: Sequence[str], answer: Answer) -> None:
        """Judge a trial by the names of its faults."""
        self.case.expect(
            ROW, not faults, "as 8.3 says", f"other: {', '.join(faults)}", exchange=answer, where={"trial": name}
        )


@check(
    ROW,
    surface="control_plane",
    self_contained=True,
    fix="Judge each credential in the order of 8.2, sign a token only if every one is active, and accept only tokens "
    "of the validators' DID, by the published key or that of the trust set.",
    quick=OWN_PROCESSES,
)
async def the_validator_answers_as_specified(case: Case) -> None:
    """The validator judges each credential, and its token says what was judged; it accepts no other issuer's token.

    Starts it with the suite as its hub. Validates the suite's vectors, sixteen at a time, and fresh passports alone,
    together, twice, next to a forged one, and with an audience. Expects each result in its place, a token only if every
    credential is active, each member of the token, and its signature under the published key. Verifies the token for
    its audience and others, changed, expired, of another validator in the trust set, and of other trusted issuers.
    """
    if _VALIDATOR not in bundled_names(case):
        case.mark_not_applicable(ROW, "the profile has no federation validator")
        return
    subject = next(one for one in subjects(case, bundled_only=True) if one.name == _VALIDATOR)
    if case.profile.service_word is None:
        raise Inconclusive("the DID of its tokens is unknown: give [target] service_word")
    did = f"did:{case.profile.service_word.lower()}:federation-validator"
    passports = [issue_passport(case, f"subject_{number}") for number in range(3)]
    same_agent = {"agent_did": passports[0].payload["agent_did"]}
    passports.append(issue_passport(case, "subject_again", same_agent))
    async with played_hub(case) as hub:
        over = issue_token(case, "over", did, {"expires_at": time_text(-300)})
        hub.trust_set = {**list_vector_keys(), **{one.did: one.key for one in passports}, did: over.key}
        async with started_addon(case, subject, hub.url, hub.token) as addon:
            validator = Validator(case, addon, did)

            async def ask(again: bool) -> Answer:
                return await validator.validate({"credentials": [passports[0].text]}, again=again)

            budget = case.profile.hub_bindings.propagation_budget
            await ask_until(ask, lambda one: one.read_object().get("valid") is True, budget)
            await _judge_results(validator, hub.trust_set)
            await _judge_tokens(validator, passports)
            await _judge_requests(validator, passports[0])
            await _judge_foreign_tokens(validator, hub, over)


async def _judge_results(validator: Validator, keys: Mapping[str, str]) -> None:
    """Judge the results of the suite's vectors, in batches of the largest size."""
    trials = list_whole_faults()
    for start in range(0, len(trials), _MOST):
        batch = trials[start : start + _MOST]
        answer = await validator.validate({"credentials": [one.text for one in batch]})
        results = _results_of(answer)
        faults = [] if len(results) == len(batch) else ["results"]
        # Without `now` the validator's clock decides, and the vectors' certificates are over.
        now = int(time.time())
        for index, (trial, result) in enumerate(zip(batch, results, strict=False)):
            judgement = judge_credential(trial.text, Question(keys, now))
            expected = {name: value for name, value in expected_members(judgement).items() if name in _RESULT}
            expected |= {"index": index}
            if judgement.envelope is not None:
                expected["alg"] = judgement.envelope.alg
            differing = differing_members(result, expected)
            faults += [f"{trial.name}: {name}" for name in differing]
        whole = {"valid": False, "token": None, "issuer": validator.did}
        faults += differing_members(answer.read_object(), whole)
        validator.expect("vectors", faults, answer)


_RESULT: Final = frozenset({"valid", "status", "reason", "type", "issuer", "kid"})


async def _judge_tokens(validator: Validator, passports: Sequence[IssuedCredential]) -> None:
    """Judge the tokens over active credentials, and that one forged credential prevents a token."""
    keys_answer = await validator.case.client.call("GET", validator.addon.url + PQC_KEYS)
    key = read_published_key(keys_answer, validator.did)
    validator.expect("the published key", [] if key else ["the key document of 7.1 with one key"], keys_answer)
    ids, token = [], ""
    for name, credentials, audience in (
        ("one", passports[:1], None),
        ("three in another order, for an audience", [passports[2], passports[0], passports[1]], _AUDIENCE),
        ("two of one agent", [passports[3], passports[1], passports[0]], None),
        ("one twice", [passports[1], passports[1]], None),
    ):
        before = int(time.time())
        body = {"credentials": [one.text for one in credentials]} | ({"audience": audience} if audience else {})
        answer = await validator.validate(body)
        read = answer.read_object()
        faults = differing_members(read, {"valid": True, "issuer": validator.did})
        token = str(read.get("token"))
        faults += _find_token_faults(validator, token, credentials, audience, before, key)
        validator.expect(f"token over {name}", faults, answer)
        payload = _payload_of(token)
        ids.append(payload.get("jti"))
        await _judge_own_token(validator, token, payload, audience)
    validator.expect("tokens", [] if len(ids) == len(set(map(str, ids))) else ["jti repeated"], keys_answer)
    forged = sign_with_other_key(validator.case, "forged", passports[1])
    answer = await validator.validate({"credentials": [passports[0].text, forged.text, passports[2].text]})
    read = answer.read_object()
    reasons = [one.get("reason") for one in _results_of(answer)]
    faults = differing_members(read, {"valid": False, "token": None})
    faults += [] if reasons == [None, "sig_invalid", None] else ["results"]
    validator.expect("a forged credential among valid ones", faults, answer)


async def _judge_own_token(validator: Validator, token: str, payload: Mapping[str, Any], audience: str | None) -> None:
    """Judge what the validator says of its token, as it is and with changes."""
    holds = {**verdict_members(None), "payload": payload}
    validator.judge("its token", await validator.verify(token), holds)
    if audience is None:
        elsewhere = {**verdict_members("wrong_audience"), "payload": payload}
        validator.judge("its token for no audience", await validator.verify(token, _AUDIENCE), elsewhere)
        return
    validator.judge("its token at its audience", await validator.verify(token, audience), holds)
    elsewhere = {**verdict_members("wrong_audience"), "payload": payload}
    for other in (audience + "/", audience.upper(), "https://other.example"):
        validator.judge(f"its token at {other}", await validator.verify(token, other), elsewhere)
    try:
        envelope = json.loads(decode_base64url(token))
    except (KeyFault, ValueError):
        return
    changes: dict[str, tuple[Mapping[str, Any], str | None, str]] = {
        "for another audience": ({"audience": "https://other.example"}, "https://other.example", "sig_invalid"),
        "for longer": ({"expires_at": time_text(86_400)}, None, "sig_invalid"),
        "for other subjects": ({"subject_dids": ["did:web:other.example"]}, None, "sig_invalid"),
        "of another issuer": ({"issuer_did": "did:web:bench.example"}, None, "wrong_issuer"),
        "without a type": ({"type": "zkp_receipt"}, None, "envelope_shape"),
        "of another version": ({"version": "2"}, None, "envelope_shape"),
        "with a version that is a number": ({"version": 1}, None, "envelope_shape"),
        "with an audience that is a number": ({"audience": 7}, None, "envelope_shape"),
        "with a jti that is no UUID": ({"jti": "1"}, None, "envelope_shape"),
        "with a hash in capitals": ({"credential_hashes": ["sha256:" + "A" * 64]}, None, "envelope_shape"),
        "with a time that is a day": ({"expires_at": "2099-01-01"}, None, "timestamp_parse"),
    }
    for name, (members, asked, reason) in changes.items():
        changed = {**envelope, "payload": {**payload, **members}}
        answer = await validator.verify(_close(changed), asked)
        validator.judge(f"its token changed: {name}", answer, {**verdict_members(reason), "payload": None})
    for name, members, reason in (
        ("another kid", {"kid": "0" * 16}, "kid_mismatch"),
        ("another alg", {"alg": "Falcon-512"}, "unsupported_alg"),
    ):
        answer = await validator.verify(_close({**envelope, **members}))
        validator.judge(f"its token with {name}", answer, {**verdict_members(reason), "payload": None})
    for name, (text, reason) in list_spellings(token).items():
        answer = await validator.verify(text)
        validator.judge(f"its token {name}", answer, {**verdict_members(reason), "payload": None})
    # The two letters may have spare bits, so that the text or the signature is at fault.
    answer = await validator.verify(_close({**envelope, "sig": envelope["sig"] + "AA"}))
    validator.judge("its token with letters after its signature", answer, {"valid": False, "payload": None})


def _find_token_faults(
    validator: Validator,
    token: str,
    credentials: Sequence[IssuedCredential],
    audience: str | None,
    before: int,
    key: str | None,
) -> list[str]:
    """Return the names of the members of a token that are not those of its credentials (8.3)."""
    try:
        envelope = open_envelope(token)
    except NoEnvelope:
        return ["token"]
    payload = envelope.payload
    expected = {
        "type": "federation_token",
        "version": "1",
        "issuer_did": validator.did,
        "subject_dids": list(dict.fromkeys(one.payload["agent_did"] for one in credentials)),
        "audience": audience,
        "credential_hashes": [f"sha256:{sha256_hex(jcs_bytes(one.payload))}" for one in credentials],
    }
    faults = [f"token: {name}" for name in differing_members(payload, expected)]
    faults += [f"token: {name}" for name in sorted({"jti", "issued_at", "expires_at"} - payload.keys())]
    if faults:
        return faults
    question = Question({} if key is None else {validator.did: key}, int(time.time()))
    reason = judge_token(token, question).reason
    faults += [] if key is None or reason is None else [f"token: {reason}"]
    return faults + _find_time_faults(envelope, before)


def _find_time_faults(envelope: Envelope, before: int) -> list[str]:
    try:
        issued, ends = (unix_of(envelope.payload[name]) for name in ("issued_at", "expires_at"))
        jti = uuid.UUID(envelope.payload["jti"])
    except (ValueError, TypeError, AttributeError):
        return ["token: times or jti"]
    faults = [] if jti.version == 4 else ["token: jti"]
    faults += [] if ends - issued == _LIFETIME_SECONDS else ["token: expires_at"]
    # The clocks of two machines differ by a minute at most (P-CV-09).
    return faults + ([] if before - 60 <= issued <= time.time() + 60 else ["token: issued_at"])


async def _judge_requests(validator: Validator, passport: IssuedCredential) -> None:
    """Judge that a malformed request is 422 with a list in detail."""
    bodies: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("no credentials", {}),
        ("an empty list", {"credentials": []}),
        ("seventeen credentials", {"credentials": [passport.text] * (_MOST + 1)}),
        ("a credential that is a number", {"credentials": [7]}),
        ("a text instead of a list", {"credentials": passport.text}),
        ("an audience that is a number", {"credentials": [passport.text], "audience": 7}),
    )
    for name, body in bodies:
        answer = await validator.validate(body)
        _judge_refusal(validator, name, answer)
    token_bodies: tuple[tuple[str, Mapping[str, Any]], ...] = (
        ("no token", {}),
        ("a token that is a number", {"token": 7}),
    )
    for name, body in token_bodies:
        answer = await validator.case.client.call("POST", validator.addon.url + _VERIFY, json_body=body)
        _judge_refusal(validator, name, answer)


def _judge_refusal(validator: Validator, name: str, answer: Answer) -> None:
    is_refused = answer.status == 422 and isinstance(answer.read_object().get("detail"), list)
    validator.expect(name, [] if is_refused else [f"status {answer.status}"], answer)


async def _judge_foreign_tokens(validator: Validator, hub: PlayedHub, over: IssuedCredential) -> None:
    """Judge tokens that others signed: of a validator in the trust set, of other issuers in it, and of none."""
    case = validator.case
    answer = await validator.verify(over.text)
    validator.judge("another validator's token that is over", answer, verdict_members("expired"))
    passport = issue_passport(case, "no_token")
    receipt = await issue_receipt(case, "no_token_either")
    other = issue_token(case, "other_validator", "did:web:other-validator.example")
    disguised = issue_token(case, "disguised", "did:web:disguised.example", {"issuer_did": validator.did})
    other_word = issue_token(case, "other_word", "did:otherword:federation-validator")
    fresh = issue_token(case, "fresh", validator.did, {"audience": _AUDIENCE})
    trusted = (passport, receipt, other, disguised, other_word, fresh)
    hub.trust_set = {one.did: one.key for one in trusted}

    async def ask(again: bool) -> Answer:
        return await validator.verify(fresh.text, again=again)

    budget = case.profile.hub_bindings.propagation_budget
    answer = await ask_until(ask, lambda one: one.read_object().get("valid") is True, budget)
    validator.judge("another validator's token", answer, {**verdict_members(None), "payload": fresh.payload})
    for name, text, reason in (
        ("a passport", passport.text, "envelope_shape"),
        ("a ZK receipt", receipt.text, "envelope_shape"),
        ("a trusted issuer's token in its own name", other.text, "wrong_issuer"),
        ("a validator's token of another deployment", other_word.text, "wrong_issuer"),
        ("a trusted issuer's token in the validators' name", disguised.text, "kid_mismatch"),
        ("a token of a replaced key", over.text, "kid_mismatch"),
    ):
        answer = await validator.verify(text)
        validator.judge(name, answer, {**verdict_members(reason), "payload": None})
    answer = await validator.validate({"credentials": [fresh.text]})
    reasons = [one.get("reason") for one in _results_of(answer)]
    faults = [] if reasons == ["envelope_shape"] and answer.read_object().get("valid") is False else ["results"]
    validator.expect("a token as a credential", faults, answer)


def _results_of(answer: Answer) -> list[Mapping[str, Any]]:
    results = answer.read_object().get("results")
    return [one if isinstance(one, dict) else {} for one in results] if isinstance(results, list) else []


def _payload_of(token: str) -> Mapping[str, Any]:
    try:
        return open_envelope(token).payload
    except NoEnvelope:
        return {}


def _close(envelope: Mapping[str, Any]) -> str:
    return encode_base64url(json.dumps(envelope).encode())
