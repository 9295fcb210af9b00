"""CP-ADDON-11: the ZK receipt service issues and verifies receipts as specification 8.4 says."""

from __future__ import annotations

import base64
import json
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from conformance.engine.check import Case, check
from conformance.engine.quick_policy import OWN_PROCESSES
from conformance.http.client import Answer
from conformance.oracles.credentials.answers import differing_members, expected_members
from conformance.oracles.credentials.envelope import NoEnvelope, open_envelope, unix_of
from conformance.oracles.credentials.judging import PROOF_INVALID, Question, judge_receipt, kid_of
from conformance.oracles.credentials.payload_kinds import MEMBERS, Kind, decode_base64
from conformance.oracles.ed25519_keys import decode_base64url, encode_base64url
from conformance.oracles.range_proof.curve import L
from conformance.oracles.range_proof.system import LAYOUT, NAME, PROOF_BYTES
from conformance.processes.launching import RunningProgram
from conformance.surfaces.control_plane.access import ask_until
from conformance.surfaces.control_plane.addon_key_document import PQC_KEYS, read_published_key
from conformance.surfaces.control_plane.credential_test_cases import (
    VECTOR_TIME,
    list_spellings,
    list_vector_keys,
    list_whole_faults,
)
from conformance.surfaces.control_plane.issued_credentials import (
    IssuedCredential,
    issue_passport,
    issue_receipt,
    issue_token,
    sign_receipt_again,
    time_text,
)
from conformance.surfaces.control_plane.played_hub import played_hub
from conformance.surfaces.control_plane.services import HEALTH
from conformance.surfaces.control_plane.starting import bundled_names, data_folder, started_addon, subjects
from conformance.vocabulary.networks import EXAMPLE

ROW: Final = "CP-ADDON-11"
_SERVICE: Final = "zkp_receipt"
_ISSUE, _VERIFY = "/v1/receipts", "/v1/receipts/verify"
_TOKEN_FILE: Final = "issue_token"  # noqa: S105 - a file's name
_TOKEN: Final = re.compile(r"[A-Za-z0-9_-]{43}")
_LONGEST_SECONDS: Final = 2_592_000
_WRONG_VALUES: Final[tuple[Any, ...]] = (None, True, -1, 0.5, 1001, "", "text", [], {})
# Checks of an answer by its reason, as far as 8.4 decides them.
_CHECKS: Final[Mapping[str | None, Mapping[str, bool | None]]] = {
    None: {"envelope": True, "signature": True, "expiry": True, "proof": True},
    "envelope_decode": {"envelope": False, "signature": None, "expiry": None, "proof": None},
    "envelope_shape": {"envelope": False, "signature": None, "expiry": None, "proof": None},
    "sig_invalid": {"envelope": True, "signature": False, "expiry": None, "proof": None},
    "expired": {"envelope": True, "signature": True, "expiry": False, "proof": None},
    "unknown_proof_system": {"envelope": True, "signature": True, "expiry": True, "proof": None},
    PROOF_INVALID: {"envelope": True, "signature": True, "expiry": True, "proof": False},
}
_UNDECIDED_CHECKS: Final = {"envelope": True, "proof": None}
_REQUEST: Final[Mapping[str, Any]] = MappingProxyType(
    {
        "payment_id": "pay_1",
        "chain": EXAMPLE.key,
        "amount_microusd": 50_000,
        "recipient": "7777777777777777777777777777777777777777777777777774MSJUVU",
        "tx_id": "A" * 52,
        "settled_at": VECTOR_TIME,
        "bench_issuer": "did:web:measured-elsewhere.example",
        "score_milliunits": 912,
        "threshold_milliunits": 700,
    }
)


@dataclass(frozen=True, slots=True)
class Service:
    """The service under test.

    Attributes:
        case: The case.
        addon: Its process.
        keys: The trust set of its hub.
    """

    case: Case
    addon: RunningProgram
    keys: Mapping[str, str] = field(repr=False)

    async def verify(self, text: Any, *, again: bool = False) -> Answer:
        """Return the answer to the question what a receipt is worth."""
        body = {"receipt": text}
        return await self.case.client.call("POST", self.addon.url + _VERIFY, json_body=body, retry=again)

    async def issue(self, token: str | None, **changes: Any) -> Answer:
        """Return the answer to a request for a receipt; members with the value None are left out."""
        body = {name: value for name, value in {**_REQUEST, **changes}.items() if value is not None}
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        return await self.case.client.call("POST", self.addon.url + _ISSUE, json_body=body, headers=headers)

    def expect(self, name: str, faults: Sequence[str], answer: Answer) -> None:
        """Judge a trial by the names of its faults."""
        finding = f"other: {', '.join(faults)}"
        self.case.expect(ROW, not faults, "as 8.4 says", finding, exchange=answer, where={"trial": name})


@check(
    ROW,
    surface="control_plane",
    self_contained=True,
    fix="Judge a receipt in the order of 8.4 with all its members, and issue one to the issue token alone, with "
    "a fresh commitment and without the score.",
    quick=OWN_PROCESSES,
)
async def the_receipt_service_answers_as_specified(case: Case) -> None:
    """The service judges each receipt with every member of 8.4, and what it issues holds and hides the score.

    Only if the profile claims the proof system `bulletproofs-ed25519/1`. Starts it with the suite as its hub. Verifies
    an honest receipt, the same without or with another member, with two faults and more, expired, of another proof
    system, and with a fault in each place of its proof. Expects the members of the answer as the suite's own verifier
    computes them. Issues receipts with the token of its file, without it and with the hub's, at each limit and beyond.
    """
    questions = [one.addon.question for one in subjects(case, bundled_only=True) if one.name == _SERVICE]
    if _SERVICE not in bundled_names(case) or not any(one and one.proof_system == NAME for one in questions):
        case.mark_not_applicable(ROW, f"the profile claims no service that verifies {NAME}")
        return
    subject = next(one for one in subjects(case, bundled_only=True) if one.name == _SERVICE)
    honest = await issue_receipt(case, "honest")
    variants = await _sign_variants(case, honest)
    strangers = (issue_passport(case, "passport"), issue_token(case, "token", "did:web:validator.example"))
    async with played_hub(case) as hub:
        # The key is chosen by `kid` alone, whichever issuer holds it.
        holder = {"did:web:holder.example": honest.key}
        hub.trust_set = {**holder, **list_vector_keys()} | {
            one.did: one.key for one in (*strangers, *variants.values())
        }
        with data_folder() as folder:
            async with started_addon(case, subject, hub.url, hub.token, folder) as addon:
                service = Service(case, addon, dict(hub.trust_set))

                async def ask(again: bool) -> Answer:
                    return await service.verify(honest.text, again=again)

                budget = case.profile.hub_bindings.propagation_budget
                await ask_until(ask, lambda one: one.read_object().get("valid") is True, budget)
                await _judge_receipts(service, honest, variants, strangers)
                await _judge_issuing(service, folder, hub.token, strangers[0])


async def _sign_variants(case: Case, honest: IssuedCredential) -> dict[str, IssuedCredential]:
    """Return receipts whose signature holds, each with one fault behind it, by the words for its fault."""
    payload = dict(honest.payload)
    proof = base64.b64decode(payload["proof_b64"])
    changes: dict[str, Mapping[str, Any]] = {
        "expired": {"expires_at": time_text(-300)},
        "of the deployed proof system": {"proof_system": None},
        "of another proof system": {"proof_system": "bulletproofs-ed25519/2"},
        "of another proof system, expired": {"proof_system": "groth16", "expires_at": time_text(-300)},
        "of another payment": {"tx_id": "B" * 52},
        "of another threshold": {"threshold_milliunits": payload["threshold_milliunits"] - 1},
        "length": {"proof_b64": base64.b64encode(proof[:-1]).decode()},
        "commitment": {"commitment_b64": base64.b64encode(b"\xff" * 32).decode()},
    }
    for name in ("A", "T2", "L_1", "R_6"):
        changes[f"point {name}"] = {"proof_b64": _replace(proof, name, b"\xff" * 32)}
    for name in ("tau_x", "t", "b"):
        changes[f"scalar {name}"] = {"proof_b64": _replace(proof, name, L.to_bytes(32, "little"))}
    changes["point S and scalar mu"] = {
        "proof_b64": _replace(base64.b64decode(_replace(proof, "S", b"\xff" * 32)), "mu", b"\xff" * 32)
    }
    return {
        name: await sign_receipt_again(
            case,
            f"variant_{number}",
            {member: value for member, value in {**payload, **members}.items() if value is not None},
        )
        for number, (name, members) in enumerate(changes.items())
    }


def _replace(proof: bytes, element: str, data: bytes) -> str:
    place = 32 * LAYOUT.index(element)
    return base64.b64encode(proof[:place] + data + proof[place + 32 :]).decode()


async def _judge_receipts(
    service: Service,
    honest: IssuedCredential,
    variants: Mapping[str, IssuedCredential],
    strangers: Sequence[IssuedCredential],
) -> None:
    envelope = json.loads(decode_base64url(honest.text))
    trials = {"honest": honest.text, "a further member": _close({**envelope, "note": "not signed"})}
    trials |= {name: one.text for name, one in variants.items()}
    trials |= {f"another kind, {number}": one.text for number, one in enumerate(strangers)}
    trials["a certificate"] = next(one.text for one in list_whole_faults() if "certificate/plain" in one.name)
    for member, rule in MEMBERS[Kind.RECEIPT].items():
        payload = {name: value for name, value in envelope["payload"].items() if name != member}
        trials[f"without {member}"] = _close({**envelope, "payload": payload})
        for value in _WRONG_VALUES:
            if not rule(value):
                changed = {**envelope, "payload": {**payload, member: value}}
                trials[f"with {member} {json.dumps(value)}"] = _close(changed)
    trials["with a type in capitals"] = _close({**envelope, "payload": {**envelope["payload"], "type": "ZKP_RECEIPT"}})
    faults: dict[str, Mapping[str, Any]] = {
        "unsupported_alg": {"alg": "ML-DSA-65"},
        "no_public_key": {"kid": "0" * 16},
        "timestamp_parse": {"payload": {"expires_at": "2099-01-01"}},
        "sig_invalid": {"payload": {"tx_id": "C" * 52}},
    }
    names = [*faults]
    for place, name in enumerate(names):
        later = {"payload": {"tx_id": "C" * 52}}
        for other in names[place:]:
            changed = {**envelope, **{member: value for member, value in faults[name].items() if member != "payload"}}
            changed |= {member: value for member, value in faults[other].items() if member != "payload"}
            parts = (one.get("payload", {}) for one in (faults[name], faults[other], later if name != other else {}))
            members = {key: value for part in parts for key, value in part.items()}
            trials[f"{name} and {other}"] = _close({**changed, "payload": {**envelope["payload"], **members}})
    trials |= {f"honest, {name}": text for name, (text, _) in list_spellings(honest.text).items()}
    for text in ("A", "{}", encode_base64url(b"[]")):
        trials[f"no envelope: {text}"] = text
    for name, text in trials.items():
        _judge_verdict(service, name, text, await service.verify(text))
    for value in (7, None, [honest.text]):
        answer = await service.verify(value)
        service.expect(f"a receipt that is {type(value).__name__}", _find_refusal_faults(answer), answer)


def _judge_verdict(
    service: Service, name: str, text: str, answer: Answer, keys: Mapping[str, str] | None = None
) -> None:
    judgement = judge_receipt(text, Question(service.keys if keys is None else keys, int(time.time())))
    expected = {
        key: value for key, value in expected_members(judgement).items() if key not in {"type", "issuer", "kid"}
    }
    stage = None if judgement.refusal is None else judgement.refusal.value
    expected |= {"stage": stage, "element": name.split()[1] if stage in {"point", "scalar"} else None}
    body = answer.read_object()
    faults = differing_members(body, expected) if answer.status == 200 else [f"status {answer.status}"]
    checks, decided = body.get("checks"), _CHECKS.get(judgement.reason, _UNDECIDED_CHECKS)
    faults += [f"checks: {one}" for one in differing_members(checks if isinstance(checks, dict) else {}, decided)]
    faults += [] if isinstance(body.get("notice"), str) and body["notice"] else ["notice"]
    service.expect(name, faults, answer)


async def _judge_issuing(service: Service, folder: Path, hub_token: str, passport: IssuedCredential) -> None:
    case = service.case
    health = await case.client.call("GET", service.addon.url + HEALTH)
    service.expect("notice of health", [] if health.read_object().get("notice") else ["notice"], health)
    keys_answer = await case.client.call("GET", service.addon.url + PQC_KEYS)
    key = read_published_key(keys_answer)
    service.expect("the published key", [] if key else ["the key document of 7.1 with one key"], keys_answer)
    for name, token in (("no token", None), ("another token", "A" * 43), ("the hub's token", hub_token)):
        answer = await service.issue(token)
        service.expect(f"issuing with {name}", [] if answer.status == 401 else [f"status {answer.status}"], answer)
    file = folder / _TOKEN_FILE
    if not file.is_file():
        case.mark_inconclusive(ROW, f"needs the file {_TOKEN_FILE} in the data directory that the suite gives it")
        return
    token = file.read_text("utf-8").strip()
    case.client.names.secret(token, "ISSUE_TOKEN")
    faults = [] if _TOKEN.fullmatch(token) else ["form of the token"]
    faults += [] if file.stat().st_mode & 0o777 == 0o600 else ["mode of the file"]
    service.expect("the file of the token", faults, keys_answer)
    texts = []
    for name, changes in (
        ("usual", {}),
        ("the same again", {}),
        ("a score at its threshold", {"score_milliunits": 700}),
        ("the lowest", {"score_milliunits": 0, "threshold_milliunits": 0}),
        ("the highest", {"score_milliunits": 1000, "threshold_milliunits": 1000}),
        ("a minute", {"ttl_seconds": 60, "amount_microusd": 0}),
        ("the longest", {"ttl_seconds": _LONGEST_SECONDS}),
    ):
        before = int(time.time())
        answer = await service.issue(token, **changes)
        text = str(answer.read_object().get("receipt"))
        faults = _find_receipt_faults(answer, {**_REQUEST, **changes}, key, before)
        service.expect(f"issuing {name}", faults, answer)
        if not faults:
            texts.append(text)
            keys = {**service.keys, "did:web:the-service-itself.example": str(key)}
            _judge_verdict(service, f"its receipt: {name}", text, await service.verify(text), keys)
    # Two proofs with the same random scalars give the score away (8.4).
    drawn = [part for text in texts for part in _random_parts(text)]
    repeated = len(drawn) - len(set(drawn))
    service.expect("random scalars", [] if not repeated else ["repeated commitments or points"], keys_answer)
    await _judge_refused_requests(service, token, passport)


async def _judge_refused_requests(service: Service, token: str, passport: IssuedCredential) -> None:
    expired = next(one.text for one in list_whole_faults() if "certificate/plain" in one.name)
    alone = {"bench_issuer": None, "score_milliunits": None}
    refused: dict[str, Mapping[str, Any]] = {
        "a score below its threshold": {"score_milliunits": 699},
        "a ttl of 0": {"ttl_seconds": 0},
        "a ttl beyond 30 days": {"ttl_seconds": _LONGEST_SECONDS + 1},
        "an unknown chain": {"chain": "no_such_network"},
        "a time that is a day": {"settled_at": "2026-01-01"},
        "a negative amount": {"amount_microusd": -1},
        "an amount that is a text": {"amount_microusd": "50000"},
        # Issuer and score are left out, so that only the certificate can be the reason.
        "a certificate that is over": {"atb_certificate": expired, **alone},
        "a passport as certificate": {"atb_certificate": passport.text, **alone},
        "a certificate that is a word": {"atb_certificate": "certificate"},
        **{f"no {name}": {name: None} for name in _REQUEST},
        **{
            f"{name} {value!r}": {name: value}
            for name in ("score_milliunits", "threshold_milliunits")
            for value in (-1, 1001, 0.5, True, "700")
        },
    }
    for name, changes in refused.items():
        answer = await service.issue(token, **changes)
        service.expect(f"issuing with {name}", _find_refusal_faults(answer), answer)
    # Who has no token learns nothing about the request.
    answer = await service.issue(None, score_milliunits=699)
    service.expect("a faulty request without a token", [] if answer.status == 401 else ["status"], answer)


def _find_refusal_faults(answer: Answer) -> list[str]:
    is_refused = answer.status == 422 and isinstance(answer.read_object().get("detail"), list)
    return [] if is_refused else [f"status {answer.status}"]


def _find_receipt_faults(answer: Answer, request: Mapping[str, Any], key: str | None, before: int) -> list[str]:
    """Return the names of what an issued receipt has differently from its request (8.4)."""
    body = answer.read_object()
    if answer.status != 201:
        return [f"status {answer.status}"]
    try:
        envelope = open_envelope(str(body.get("receipt")))
    except NoEnvelope:
        return ["receipt"]
    payload = envelope.payload
    asked = {name: request[name] for name in _REQUEST if name != "score_milliunits"}
    asked |= {"type": "zkp_receipt", "version": "1", "atb_cert_version": "2", "proof_system": NAME}
    faults = [f"payload: {name}" for name in differing_members(payload, asked)]
    faults += differing_members(body, {"payload": payload, "content_hash": envelope.content_hash, "kid": envelope.kid})
    faults += [] if isinstance(body.get("notice"), str) and body["notice"] else ["notice"]
    # Whatever else it holds, the score is not in it.
    allowed = {*MEMBERS[Kind.RECEIPT], "type", "proof_system"}
    score = request["score_milliunits"]
    faults += [f"payload: {name}" for name in payload.keys() - allowed if "score" in name or payload[name] == score]
    faults += ["score_milliunits"] if "score_milliunits" in body else []
    if key is None:
        return faults
    faults += [] if envelope.kid == kid_of(decode_base64(key) or b"") else ["kid"]
    question = Question({"did:web:the-service-itself.example": key}, int(time.time()))
    reason = judge_receipt(str(body["receipt"]), question).reason
    faults += [] if reason is None else [f"receipt: {reason}"]
    try:
        issued, ends = (unix_of(payload[name]) for name in ("issued_at", "expires_at"))
    except (KeyError, ValueError, TypeError):
        return [*faults, "times"]
    faults += [] if ends - issued == request.get("ttl_seconds", _LONGEST_SECONDS) else ["payload: expires_at"]
    # The clocks of two machines differ by a minute at most (P-CV-09).
    return faults + ([] if before - 60 <= issued <= time.time() + 60 else ["payload: issued_at"])


def _random_parts(text: str) -> list[bytes]:
    """Return what a receipt has of fresh random scalars: its commitment and the first points of its proof."""
    payload = open_envelope(text).payload
    proof = decode_base64(payload["proof_b64"]) or b""
    parts = [proof[32 * LAYOUT.index(name) :][:32] for name in ("A", "S", "T1", "T2")]
    return [decode_base64(payload["commitment_b64"]) or b"", *(parts if len(proof) == PROOF_BYTES else [])]


def _close(envelope: Mapping[str, Any]) -> str:
    return encode_base64url(json.dumps(envelope).encode())
